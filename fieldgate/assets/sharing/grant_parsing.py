"""Parse requests that assign or remove permissions; all errors are reported at once.

In a list, the names of invalid fields begin with the position of the entry: `{"0.user": ["…"]}`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TypeGuard
from urllib.parse import unquote, urlsplit

import msgspec
from msgspec import UNSET, UnsetType

from fieldgate.accounts.tables import TEAM_PREFIX
from fieldgate.assets.sharing.grants import FILTER_COST, Grant
from fieldgate.assets.sharing.schemas import AssignmentBody
from fieldgate.db import now
from fieldgate.errors import BadRequest, ValidationError
from fieldgate.http.request.validation import (
    NULL_CHARACTERS,
    expected_message,
    parse_struct,
    parse_timestamp,
)
from fieldgate.i18n.messages import Message
from fieldgate.permissions.catalogue import BY_CODENAME, PARTIAL
from fieldgate.permissions.effects import RuleViolation
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

ReferenceKind = Literal["users", "teams", "permissions", "assets"]

API_ROOT = "/api/v2/"
ASSETS_ALIAS = "/assets/"  # the path of old clients
MAX_REFERENCE_CHARS = 2000
MAX_QUOTED_CHARS = 50  # of input that an error message repeats

_INVALID_MESSAGES = {
    "users": Message("“{given}” is not a user: enter the address of one, or a username."),
    "teams": Message("“{given}” is not a team: enter the address of one, its name or uid."),
    "permissions": Message(
        "“{given}” is not a permission: enter the address of one, or a codename."
    ),
    "assets": Message("“{given}” is not an asset: enter the address of one, or a uid."),
}


def parse_reference(kind: ReferenceKind, text: str) -> str | None:
    """Return the name in a reference: a URL of any host, a path, or the bare name; None if it is to something else."""
    given = text.strip()
    if not given or "\0" in given or len(given) > MAX_REFERENCE_CHARS:
        return None
    if "://" not in given and not given.startswith("/"):
        return given
    try:
        path = urlsplit(given).path
    except ValueError:
        return None
    _, found, rest = path.partition(f"{API_ROOT}{kind}/")
    if kind == "assets" and not found:
        _, found, rest = path.partition(ASSETS_ALIAS)
    name = unquote(rest.removesuffix("/") if rest.endswith("/") else rest.removesuffix(".json"))
    if not found or not name or "\0" in name or (kind != "users" and "/" in name):
        return None
    return name


def quote_input(text: str) -> str:
    """Shorten input so that an error message can repeat it."""
    return text.replace("\0", "")[:MAX_QUOTED_CHARS]


def _invalid_reference_message(kind: ReferenceKind, text: str) -> Message:
    return Message(_INVALID_MESSAGES[kind].text, given=quote_input(text.strip()))


_is_date = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII).fullmatch

MAX_ERRORS = 100  # reported for one request
MAX_ITEMS = 20_000  # in one list or table

_FILTERS_REQUIRED = Message("This field is required with the permission partial_submissions.")
_FILTERS_NOT_ALLOWED = Message(
    "This field is only allowed with the permission partial_submissions."
)


class ErrorCollector:
    """Collects the errors of a request, to report all of them at once."""

    def __init__(self) -> None:
        self._fields: dict[str, list[Message]] = {}
        self._seen: set[tuple[str, str]] = set()

    def __bool__(self) -> bool:
        return bool(self._fields)

    def add(self, field: str, message: Message) -> None:
        key = field, str(message)
        if key not in self._seen and len(self._seen) < MAX_ERRORS:
            self._seen.add(key)
            self._fields.setdefault(field, []).append(message)

    def add_all(self, invalid: ValidationError, field_prefix: str = "") -> None:
        for field, messages in invalid.fields.items():
            for message in messages:
                self.add(field_prefix + field, message)

    def raise_if_any(self) -> None:
        """Raise `ValidationError` if there are errors."""
        if self._fields:
            raise ValidationError(self._fields)


def parse_assignments(items: Sequence[Any], errors: ErrorCollector) -> list[Grant]:
    """Parse a JSON array of assignments."""
    if len(items) > MAX_ITEMS:
        raise BadRequest(too_many_message(MAX_ITEMS))
    found = []
    for position, item in enumerate(items):
        field_prefix = f"{position}."
        if not isinstance(item, dict):
            errors.add(str(position), Message("Send an object."))
            continue
        try:
            fields = parse_struct(AssignmentBody, item)
        except ValidationError as invalid:
            errors.add_all(invalid, field_prefix)
            parsed = _parse_remaining(item, invalid, errors, field_prefix)
        else:
            parsed = parse_assignment(fields, errors, field_prefix)
        if parsed is not None:
            found.append(parsed)
    return found


def _parse_remaining(
    item: Mapping[str, Any], invalid: ValidationError, errors: ErrorCollector, field_prefix: str
) -> Grant | None:
    """Check the fields that are left of an assignment with invalid fields, to report their errors, too."""
    if "permission" not in invalid.fields:
        parse_permission(item["permission"], field_prefix + "permission", errors)
    named = {"user", "team"} - invalid.fields.keys()
    user, team = item.get("user", UNSET), item.get("team", "")
    name = _parse_grantee(user, team, field_prefix, errors) if len(named) == 2 else None
    return None if name is None else Grant(name, None, None, field_prefix, is_valid=False)


def parse_assignment(
    fields: AssignmentBody, errors: ErrorCollector, field_prefix: str = ""
) -> Grant | None:
    """Parse one assignment. Return None if its user is invalid."""
    username = _parse_grantee(fields.user, fields.team, field_prefix, errors)
    codename = parse_permission(fields.permission, field_prefix + "permission", errors)
    filters = parse_partial_permissions(
        [codename], fields.partial_permissions, field_prefix + "partial_permissions", errors
    )
    end = parse_end(fields.expires_at, field_prefix + "expires_at", errors)
    if username is None:
        return None
    is_valid = codename is not None and not lacks_filters(codename, filters)
    return Grant(
        username,
        codename,
        filters,
        field_prefix,
        is_valid,
        end,
        is_inherited=bool(fields.inherited),
    )


def _parse_grantee(
    user: str | UnsetType | None, team: str | None, field_prefix: str, errors: ErrorCollector
) -> str | None:
    """Parse who gets a permission: a user or a team."""
    if team and isinstance(user, str):
        errors.add(field_prefix + "team", Message("Name a user or a team, not both."))
        return None
    if isinstance(user, str):
        return parse_user(user, field_prefix + "user", errors)
    if not team:
        errors.add(field_prefix + "user", Message("This field is required."))
        return None
    uid = _parse_reference("teams", team, field_prefix + "team", errors)
    return None if uid is None else TEAM_PREFIX + uid


def parse_end(
    given: str | UnsetType | None, field: str, errors: ErrorCollector
) -> datetime | UnsetType | None:
    """Parse the time at which an assignment ends. A date is the end of that day, no text is never."""
    if given is UNSET or given is None or not given.strip():
        return UNSET if given is UNSET else None
    try:
        end = parse_timestamp(f"{given.strip()}T23:59:59Z" if _is_date(given.strip()) else given)
    except ValueError:
        errors.add(field, expected_message(datetime))
        return UNSET
    if end <= now():
        errors.add(field, end_in_the_past_message())
    return end


def end_in_the_past_message() -> Message:
    return Message("This time is in the past. Choose a later one.")


def estimate_parse_cost(items: Iterable[Any]) -> int:
    """Estimate the cost of parsing, in assignments without filters."""
    return sum(
        FILTER_COST if isinstance(each, dict) and each.get("partial_permissions") else 1
        for each in items
    )


def lacks_filters(codename: str | None, filters: Filters | None) -> bool:
    """Whether filters are required and missing or invalid. The error was reported already."""
    return codename == PARTIAL and filters is None


def parse_user(text: str, field: str, errors: ErrorCollector) -> str | None:
    """Parse a reference to a user, or to a team: its URL or path, or `team:` with its name or uid."""
    if f"{API_ROOT}teams/" not in text:
        return _parse_reference("users", text, field, errors)
    uid = _parse_reference("teams", text, field, errors)
    return None if uid is None else TEAM_PREFIX + uid


def parse_asset(text: str, field: str, errors: ErrorCollector) -> str | None:
    return _parse_reference("assets", text, field, errors)


def parse_permission(text: str, field: str, errors: ErrorCollector) -> str | None:
    codename = _parse_reference("permissions", text, field, errors)
    if codename is not None and codename not in BY_CODENAME:
        errors.add(
            field, Message("There is no permission {codename}.", codename=quote_input(codename))
        )
        return None
    return codename


def parse_partial_permissions(
    codenames: Sequence[str | None], given: Sequence[Any] | None, field: str, errors: ErrorCollector
) -> Filters | None:
    """Parse the filters of partial_submissions. Return None if it is not among the permissions."""
    if PARTIAL not in codenames:
        if given and None not in codenames:
            errors.add(field, _FILTERS_NOT_ALLOWED)
        return None
    if not given:
        errors.add(field, _FILTERS_REQUIRED)
        return None
    if len(given) > MAX_FILTERS:  # each entry has at least one filter
        errors.add(field, too_many_filters_message())
        return None
    found: dict[str, list[Filter]] = {}
    for position, entry in enumerate(given):
        fields = entry if isinstance(entry, dict) else {}
        codename = _parse_partial_permission(fields.get("url"), f"{field}.{position}.url", errors)
        filters = fields.get("filters")
        if (
            _validate_filters(filters, f"{field}.{position}.filters", errors)
            and codename is not None
        ):
            found.setdefault(codename, []).extend(filters)
    try:
        return (
            with_implied_filters({codename: tuple(filters) for codename, filters in found.items()})
            or None
        )
    except RuleViolation as violation:
        errors.add(field, violation.message)
        return None


def _parse_partial_permission(url: object, field: str, errors: ErrorCollector) -> str | None:
    codename = parse_reference("permissions", url) if isinstance(url, str) else None
    if codename not in PARTIALLY_GRANTABLE:
        choices = ", ".join(PARTIALLY_GRANTABLE)
        errors.add(
            field, Message("Enter one of these, or its address: {choices}.", choices=choices)
        )
        return None
    return codename


def _validate_filters(
    filters: object, field: str, errors: ErrorCollector
) -> TypeGuard[list[Filter]]:
    first = filters[:MAX_FILTERS] if isinstance(filters, list) else []
    if (
        not isinstance(filters, list)
        or not first
        or not all(isinstance(each, dict) for each in first)
    ):
        errors.add(field, Message("Send a list of at least one query, each an object."))
        return False
    # Check the number before iterating: the list may be as large as a body.
    if len(filters) > MAX_FILTERS:
        errors.add(field, too_many_filters_message())
        return False
    encoded = msgspec.json.encode(filters)
    if len(encoded) > MAX_FILTER_BYTES:
        errors.add(field, filters_too_large_message())
        return False
    if rb"\u0000" in encoded and _contains_null(
        filters
    ):  # the bytes may also be an escaped backslash and "u0000"
        errors.add(field, NULL_CHARACTERS)
        return False
    return True


def _contains_null(value: object) -> bool:
    """Whether there is a null character, which PostgreSQL cannot store. Parsing a body limits the nesting."""
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, Mapping):
        return any(_contains_null(name) or _contains_null(each) for name, each in value.items())
    return isinstance(value, list) and any(map(_contains_null, value))


def parse_field(field: str, kind: ReferenceKind, text: str) -> str:
    """Return the name in the only reference of a request."""
    name = parse_reference(kind, text)
    if name is None:
        raise ValidationError({field: [_invalid_reference_message(kind, text)]})
    return name


def parse_permission_field(field: str, text: str) -> str:
    """Return the codename in the only reference to a permission."""
    codename = parse_field(field, "permissions", text)
    if codename not in BY_CODENAME:
        raise ValidationError(
            {field: [Message("There is no permission {codename}.", codename=codename[:100])]}
        )
    return codename


def _parse_reference(
    kind: ReferenceKind, text: str, field: str, errors: ErrorCollector
) -> str | None:
    name = parse_reference(kind, text)
    if name is None:
        errors.add(field, _invalid_reference_message(kind, text))
    return name


def grantee_not_found_message(name: str) -> Message:
    """Teams that the caller may not know are not found either."""
    if not name.startswith(TEAM_PREFIX):
        return user_not_found_message(name)
    return Message(
        "You are not in a team {name}, or in two of this name: then enter its uid.",
        name=quote_input(name.removeprefix(TEAM_PREFIX)),
    )


def user_not_found_message(name: str) -> Message:
    return Message("There is no user {name}.", name=quote_input(name))


def too_many_message(limit: int) -> Message:
    return Message("Too many entries at once: the limit is {most}.", most=limit)
