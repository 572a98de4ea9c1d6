"""What a request wants assigned, read from what was sent; everything wrong is told at once.

Of a list the names of wrong fields begin with the place in it: `{"0.user": ["…"]}`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeGuard

import msgspec

from fieldgate.accounts.store import username_key
from fieldgate.assets.sharing.model.grants import Person
from fieldgate.assets.sharing.model.planning import Mistakes, Wish
from fieldgate.assets.sharing.model.references import Kind, Misnamed, read_name, shown
from fieldgate.assets.sharing.schemas import AssignmentBody
from fieldgate.concurrency import WITH_FILTERS
from fieldgate.errors import BadRequest, ValidationError
from fieldgate.http.request.validation import NULL_CHARACTERS, parse_struct
from fieldgate.i18n.messages import Message
from fieldgate.permissions.catalogue import BY_CODENAME
from fieldgate.permissions.rules import (
    MAX_FILTER_BYTES,
    MAX_FILTERS,
    PARTIAL,
    PARTIALLY_GRANTABLE,
    Filter,
    Filters,
    RuleViolation,
    filters_too_large_message,
    too_many_filters_message,
    with_implied_filters,
)

MOST_ITEMS = 20_000  # of a list

_NEEDS_PARTIALS = Message("This field is needed with the permission partial_submissions.")
_ONLY_PARTIALS = Message("This field goes with the permission partial_submissions only.")


class Named(msgspec.Struct, frozen=True):
    """A permission for somebody who is known by name so far; None where something is wrong with it, and was told."""

    user: str
    permission: str | None
    filters: Filters | None = None
    where: str = ""


def read_list(items: Sequence[Any], mistakes: Mistakes) -> list[Named]:
    """What a JSON array of assignments wants."""
    if len(items) > MOST_ITEMS:
        raise BadRequest(too_many(MOST_ITEMS))
    found = []
    for place, item in enumerate(items):
        where = f"{place}."
        if not isinstance(item, dict):
            mistakes.note(str(place), Message("Send an object."))
            continue
        try:
            fields = parse_struct(AssignmentBody, item)
        except ValidationError as invalid:
            mistakes.note_all(invalid, where)
            named = _rest(item, invalid, mistakes, where)
        else:
            named = read_assignment(fields, mistakes, where)
        if named is not None:
            found.append(named)
    return found


def _rest(item: Mapping[str, Any], invalid: ValidationError, mistakes: Mistakes, where: str) -> Named | None:
    """What can be read of an assignment with fields that cannot: there may be more wrong with it."""
    if "permission" not in invalid.fields:
        read_permission(item["permission"], where + "permission", mistakes)
    user = None if "user" in invalid.fields else read_user(item["user"], where + "user", mistakes)
    return None if user is None else Named(user, None, None, where)


def read_assignment(fields: AssignmentBody, mistakes: Mistakes, where: str = "") -> Named | None:
    """One assignment; None where nobody is named."""
    username = read_user(fields.user, where + "user", mistakes)
    codename = read_permission(fields.permission, where + "permission", mistakes)
    filters = read_partials([codename], fields.partial_permissions, where + "partial_permissions", mistakes)
    if username is None:
        return None
    return Named(username, None if is_unsaid(codename, filters) else codename, filters, where)


def work_of(items: Iterable[Any]) -> int:
    """Roughly, how many assignments without filters take as long to read as these."""
    return sum(WITH_FILTERS if isinstance(each, dict) and each.get("partial_permissions") else 1 for each in items)


def is_unsaid(codename: str | None, filters: Filters | None) -> bool:
    """Whether it is not known which submissions are meant: that was told already."""
    return codename == PARTIAL and filters is None


def read_user(text: str, field: str, mistakes: Mistakes) -> str | None:
    return _name("users", text, field, mistakes)


def read_permission(text: str, field: str, mistakes: Mistakes) -> str | None:
    codename = _name("permissions", text, field, mistakes)
    if codename is not None and codename not in BY_CODENAME:
        mistakes.note(field, Message("There is no permission {codename}.", codename=shown(codename)))
        return None
    return codename


def read_partials(
    codenames: Sequence[str | None], given: Sequence[Any] | None, field: str, mistakes: Mistakes
) -> Filters | None:
    """The filters that go with partial_submissions, by permission; None where it is not among the permissions."""
    if PARTIAL not in codenames:
        if given and None not in codenames:
            mistakes.note(field, _ONLY_PARTIALS)
        return None
    if not given:
        mistakes.note(field, _NEEDS_PARTIALS)
        return None
    if len(given) > MAX_FILTERS:  # each has one at least
        mistakes.note(field, too_many_filters_message())
        return None
    found: dict[str, list[Filter]] = {}
    for place, entry in enumerate(given):
        named = entry if isinstance(entry, dict) else {}
        codename = _partial_permission(named.get("url"), f"{field}.{place}.url", mistakes)
        filters = named.get("filters")
        if _are_filters(filters, f"{field}.{place}.filters", mistakes) and codename is not None:
            found.setdefault(codename, []).extend(filters)
    try:
        return with_implied_filters({each: tuple(those) for each, those in found.items()}) or None
    except RuleViolation as refused:
        mistakes.note(field, refused.message)
        return None


def _partial_permission(url: object, field: str, mistakes: Mistakes) -> str | None:
    try:
        codename = read_name("permissions", url) if isinstance(url, str) else None
    except Misnamed:
        codename = None
    if codename not in PARTIALLY_GRANTABLE:
        choices = ", ".join(PARTIALLY_GRANTABLE)
        mistakes.note(field, Message("Enter one of these, or its address: {choices}.", choices=choices))
        return None
    return codename


def _are_filters(filters: object, field: str, mistakes: Mistakes) -> TypeGuard[list[Filter]]:
    first = filters[:MAX_FILTERS] if isinstance(filters, list) else []
    if not isinstance(filters, list) or not first or not all(isinstance(each, dict) for each in first):
        mistakes.note(field, Message("Send a list of at least one query, each an object."))
        return False
    # Before anything walks through it: it may be as large as a body.
    if len(filters) > MAX_FILTERS:
        mistakes.note(field, too_many_filters_message())
        return False
    written = msgspec.json.encode(filters)
    if len(written) > MAX_FILTER_BYTES:
        mistakes.note(field, filters_too_large_message())
        return False
    if rb"\u0000" in written and _holds_null(filters):  # which may be a backslash and what comes after it
        mistakes.note(field, NULL_CHARACTERS)
        return False
    return True


def _holds_null(value: object) -> bool:
    """PostgreSQL cannot store it. Bodies are not nested so deeply that this could not come back."""
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, Mapping):
        return any(_holds_null(name) or _holds_null(each) for name, each in value.items())
    return isinstance(value, list) and any(map(_holds_null, value))


def _name(kind: Kind, text: str, field: str, mistakes: Mistakes) -> str | None:
    try:
        return read_name(kind, text)
    except Misnamed as misnamed:
        mistakes.note(field, misnamed.message)
        return None


def wishes(named: Iterable[Named], people: Mapping[str, Person], mistakes: Mistakes) -> list[Wish]:
    """The same with the users themselves. Who is disabled is nobody here."""
    found = []
    for each in named:
        person = people.get(username_key(each.user))
        if person is None or not person.is_active:
            mistakes.note(f"{each.where}user", no_user(each.user))
        elif each.permission is not None:
            found.append(Wish(person, each.permission, each.filters, each.where))
    return found


def no_user(name: str) -> Message:
    return Message("There is no user {name}.", name=shown(name))


def too_many(most: int) -> Message:
    return Message("This is too much at once; at most {most} are taken.", most=most)
