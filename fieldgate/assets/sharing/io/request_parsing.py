"""What a request wants assigned, read from what was sent; everything wrong is told at once.

Of a list the names of wrong fields begin with the place in it: `{"0.user": ["…"]}`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeGuard

import msgspec

from fieldgate.accounts.store import username_key
from fieldgate.assets.sharing.model.grants import Grantee
from fieldgate.assets.sharing.model.planning import ErrorCollector, GrantRequest
from fieldgate.assets.sharing.model.references import InvalidReference, ReferenceKind, parse_reference, quote_input
from fieldgate.assets.sharing.schemas import AssignmentBody
from fieldgate.concurrency import FILTER_COST
from fieldgate.errors import BadRequest, ValidationError
from fieldgate.http.request.validation import NULL_CHARACTERS, parse_struct
from fieldgate.i18n.messages import Message, PluralMessage
from fieldgate.permissions.catalogue import BY_CODENAME, PARTIAL
from fieldgate.permissions.submission_filters import (
    MAX_FILTER_BYTES,
    MAX_FILTERS,
    PARTIALLY_GRANTABLE,
    Filter,
    Filters,
    filters_too_large_message,
    too_many_filters_message,
    with_implied_filters,
)
from fieldgate.permissions.violations import RuleViolation

MAX_ITEMS = 20_000  # of a list

_NEEDS_PARTIALS = Message("This field is needed with the permission partial_submissions.")
_ONLY_PARTIALS = Message("This field goes with the permission partial_submissions only.")


class UnresolvedGrant(msgspec.Struct, frozen=True):
    """A permission for somebody who is known by name so far; None where something is wrong with it, and was told."""

    user: str
    permission: str | None
    filters: Filters | None = None
    field_prefix: str = ""


def parse_assignments(items: Sequence[Any], errors: ErrorCollector) -> list[UnresolvedGrant]:
    """What a JSON array of assignments wants."""
    if len(items) > MAX_ITEMS:
        raise BadRequest(too_many_message(MAX_ITEMS))
    found = []
    for place, item in enumerate(items):
        where = f"{place}."
        if not isinstance(item, dict):
            errors.add(str(place), Message("Send an object."))
            continue
        try:
            fields = parse_struct(AssignmentBody, item)
        except ValidationError as invalid:
            errors.add_all(invalid, where)
            named = _parse_remaining(item, invalid, errors, where)
        else:
            named = parse_assignment(fields, errors, where)
        if named is not None:
            found.append(named)
    return found


def _parse_remaining(
    item: Mapping[str, Any], invalid: ValidationError, errors: ErrorCollector, field_prefix: str
) -> UnresolvedGrant | None:
    """What can be read of an assignment with fields that cannot: there may be more wrong with it."""
    if "permission" not in invalid.fields:
        parse_permission(item["permission"], field_prefix + "permission", errors)
    user = None if "user" in invalid.fields else parse_user(item["user"], field_prefix + "user", errors)
    return None if user is None else UnresolvedGrant(user, None, None, field_prefix)


def parse_assignment(fields: AssignmentBody, errors: ErrorCollector, field_prefix: str = "") -> UnresolvedGrant | None:
    """One assignment; None where nobody is named."""
    username = parse_user(fields.user, field_prefix + "user", errors)
    codename = parse_permission(fields.permission, field_prefix + "permission", errors)
    filters = parse_partial_permissions(
        [codename], fields.partial_permissions, field_prefix + "partial_permissions", errors
    )
    if username is None:
        return None
    return UnresolvedGrant(username, None if lacks_filters(codename, filters) else codename, filters, field_prefix)


def estimate_parse_cost(items: Iterable[Any]) -> int:
    """Roughly, how many assignments without filters take as long to read as these."""
    return sum(FILTER_COST if isinstance(each, dict) and each.get("partial_permissions") else 1 for each in items)


def lacks_filters(codename: str | None, filters: Filters | None) -> bool:
    """Whether it is not known which submissions are meant: that was told already."""
    return codename == PARTIAL and filters is None


def parse_user(text: str, field: str, errors: ErrorCollector) -> str | None:
    return _parse_name("users", text, field, errors)


def parse_permission(text: str, field: str, errors: ErrorCollector) -> str | None:
    codename = _parse_name("permissions", text, field, errors)
    if codename is not None and codename not in BY_CODENAME:
        errors.add(field, Message("There is no permission {codename}.", codename=quote_input(codename)))
        return None
    return codename


def parse_partial_permissions(
    codenames: Sequence[str | None], given: Sequence[Any] | None, field: str, errors: ErrorCollector
) -> Filters | None:
    """The filters that go with partial_submissions, by permission; None where it is not among the permissions."""
    if PARTIAL not in codenames:
        if given and None not in codenames:
            errors.add(field, _ONLY_PARTIALS)
        return None
    if not given:
        errors.add(field, _NEEDS_PARTIALS)
        return None
    if len(given) > MAX_FILTERS:  # each has one at least
        errors.add(field, too_many_filters_message())
        return None
    found: dict[str, list[Filter]] = {}
    for place, entry in enumerate(given):
        named = entry if isinstance(entry, dict) else {}
        codename = _parse_partial_permission(named.get("url"), f"{field}.{place}.url", errors)
        filters = named.get("filters")
        if _validate_filters(filters, f"{field}.{place}.filters", errors) and codename is not None:
            found.setdefault(codename, []).extend(filters)
    try:
        return with_implied_filters({each: tuple(those) for each, those in found.items()}) or None
    except RuleViolation as refused:
        errors.add(field, refused.message)
        return None


def _parse_partial_permission(url: object, field: str, errors: ErrorCollector) -> str | None:
    try:
        codename = parse_reference("permissions", url) if isinstance(url, str) else None
    except InvalidReference:
        codename = None
    if codename not in PARTIALLY_GRANTABLE:
        choices = ", ".join(PARTIALLY_GRANTABLE)
        errors.add(field, Message("Enter one of these, or its address: {choices}.", choices=choices))
        return None
    return codename


def _validate_filters(filters: object, field: str, errors: ErrorCollector) -> TypeGuard[list[Filter]]:
    first = filters[:MAX_FILTERS] if isinstance(filters, list) else []
    if not isinstance(filters, list) or not first or not all(isinstance(each, dict) for each in first):
        errors.add(field, Message("Send a list of at least one query, each an object."))
        return False
    # Before anything walks through it: it may be as large as a body.
    if len(filters) > MAX_FILTERS:
        errors.add(field, too_many_filters_message())
        return False
    written = msgspec.json.encode(filters)
    if len(written) > MAX_FILTER_BYTES:
        errors.add(field, filters_too_large_message())
        return False
    if rb"\u0000" in written and _contains_null(filters):  # which may be a backslash and what comes after it
        errors.add(field, NULL_CHARACTERS)
        return False
    return True


def _contains_null(value: object) -> bool:
    """PostgreSQL cannot store it. Bodies are not nested so deeply that this could not come back."""
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, Mapping):
        return any(_contains_null(name) or _contains_null(each) for name, each in value.items())
    return isinstance(value, list) and any(map(_contains_null, value))


def _parse_name(kind: ReferenceKind, text: str, field: str, errors: ErrorCollector) -> str | None:
    try:
        return parse_reference(kind, text)
    except InvalidReference as misnamed:
        errors.add(field, misnamed.message)
        return None


def resolve_grantees(
    unresolved: Iterable[UnresolvedGrant], grantees: Mapping[str, Grantee], errors: ErrorCollector
) -> list[GrantRequest]:
    """The same with the users themselves. Who is disabled is nobody here."""
    found = []
    for each in unresolved:
        person = grantees.get(username_key(each.user))
        if person is None or not person.is_active:
            errors.add(f"{each.field_prefix}user", user_not_found_message(each.user))
        elif each.permission is not None:
            found.append(GrantRequest(person, each.permission, each.filters, each.field_prefix))
    return found


def user_not_found_message(name: str) -> Message:
    return Message("There is no user {name}.", name=quote_input(name))


def too_many_message(limit: int) -> Message:
    return PluralMessage(
        "This is too much at once; at most {count} is taken.",
        "This is too much at once; at most {count} are taken.",
        limit,
    )
