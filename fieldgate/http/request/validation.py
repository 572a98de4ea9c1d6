"""Validate query parameters and body fields as a struct.

The types of the fields and their `Meta` limits decide what is valid: a `tuple` is a comma-separated list, a `list` or
`dict` may be JSON in a text, a `datetime` may lack its time or zone. `Meta(extra={"check": …})` names a function for
further checks, which raises `ValueError` with a `Message`. A blank query parameter counts as absent, unless
`Meta(extra={"blank": …})` gives its value. Null counts as absent, unless the type has `UnsetType` for that. All errors
are reported together, by field, in the caller's language.

    class Login(msgspec.Struct):
        username: Annotated[str, Meta(max_length=150)]
    login = parse_struct(Login, {"username": "amina"})
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

import msgspec

from fieldgate.errors import BadRequest, ValidationError
from fieldgate.http.request.body_parsing import EncodedJSON, UploadedFile, decode_json
from fieldgate.i18n.messages import Message, PluralMessage

NULL_CHARACTERS = Message("Null characters are not allowed.")

Fields = TypeVar("Fields", bound=msgspec.Struct)

# In a query an unescaped `+` is a space, and clients send `…T00:00:00+00:00` unescaped.
_SPACE_FOR_PLUS = re.compile(r"(:\d\d(?:\.\d+)?) (\d\d:?\d\d)$", re.ASCII)


class _Field(NamedTuple):
    """A field of a struct, with what is known about it before there is a value."""

    name: str
    type: Any
    possible: list[Any]  # its types, without annotations and None
    target: Any  # its type, without None
    item: Any  # of a tuple, else None
    is_nested: bool  # a list or a dict
    is_plain_text: bool  # any text is valid
    words: frozenset[str]  # of a literal type
    check: Any


def parse_struct(
    kind: type[Fields], values: Mapping[str, Any], *, blank_is_absent: bool = False
) -> Fields:
    """Return an instance of the struct, or raise `ValidationError` with all missing and invalid fields."""
    fields, required, blanks = _struct_fields(kind)
    parsed: dict[str, Any] = {}
    errors: dict[str, list[Message]] = {}
    for name, value in values.items():
        field = fields.get(name)
        if field is None or value is None:
            if field is not None and msgspec.UnsetType in field.possible:
                parsed[field.name] = None
            continue
        if blank_is_absent and value == "":
            if name in blanks:
                parsed[field.name] = blanks[name]
            continue
        if isinstance(value, str):
            if "\0" in value:  # PostgreSQL cannot store it
                errors[name] = [NULL_CHARACTERS]
                continue
            if field.is_plain_text or value in field.words:
                parsed[field.name] = value
                continue
        elif isinstance(value, UploadedFile | EncodedJSON) and type(value) in field.possible:
            parsed[field.name] = value
            continue
        try:
            parsed[field.name] = _convert(value, field)
        except ValueError as error:
            reason = error.args[0] if error.args else None
            errors[name] = [reason if isinstance(reason, Message) else expected_message(field.type)]
    for own_name, name in required:
        if own_name not in parsed and name not in errors:
            errors[name] = [Message("This field is required.")]
    if errors:
        raise ValidationError(errors)
    return kind(**parsed)


def _convert(value: Any, field: _Field) -> Any:
    """Convert a value to the type of its field; `ValueError` may hold a more specific `Message`."""
    if isinstance(value, str):
        if field.item is not None:
            return _parse_list(value, field.item)
        if field.possible[0] is datetime:
            return parse_timestamp(value)
        if field.is_nested:
            value = _parse_nested_json(value)
    if isinstance(value, list) and any(isinstance(each, str) and "\0" in each for each in value):
        raise ValueError(NULL_CHARACTERS)
    converted = msgspec.convert(value, field.target, strict=False)
    if field.check:
        field.check(converted)
    return converted


def _meta_extra(kind: Any, name: str) -> Any:
    """An entry of `Meta(extra=…)` of a type, or None."""
    return next(
        (
            each.extra[name]
            for each in getattr(kind, "__metadata__", ())
            if name in (each.extra or ())
        ),
        None,
    )


def _parse_nested_json(text: str) -> Any:
    """Decode a list or object in a form field, where it is sent as JSON."""
    try:
        return decode_json(text)
    except BadRequest:
        raise ValueError(text) from None


def _without_none(kind: Any) -> Any:
    """The type without None: the text `null` is not accepted as a missing value."""
    if get_origin(kind) is Annotated:
        return Annotated[_without_none(get_args(kind)[0]), *get_args(kind)[1:]]
    if get_origin(kind) in (Union, UnionType):
        return Union[tuple(choice for choice in get_args(kind) if choice is not NoneType)]  # noqa: UP007
    return kind


def _parse_list(text: str, kind: Any) -> tuple[Any, ...]:
    """Parse a comma-separated list; blank members are skipped."""
    members = [member for each in text.split(",") if (member := each.strip())]
    if kind is str:
        return tuple(members)
    try:
        return tuple(msgspec.convert(members, list[kind], strict=False))
    except msgspec.ValidationError:  # find the member to report
        return tuple([_parse_list_item(member, kind) for member in members])


def _parse_list_item(text: str, kind: Any) -> Any:
    try:
        return msgspec.convert(text, kind, strict=False)
    except msgspec.ValidationError:
        raise ValueError(
            Message(
                "“{value}” is not valid. {expected}",
                value=text[:40],
                expected=expected_message(kind),
            )
        ) from None


def parse_timestamp(text: str) -> datetime:
    """Parse an ISO 8601 timestamp. The default time is midnight, the default zone UTC; `+` may have become a space."""
    timestamp = datetime.fromisoformat(_SPACE_FOR_PLUS.sub(r"\1+\2", text.strip()))
    try:
        return (
            timestamp.replace(tzinfo=UTC) if timestamp.tzinfo is None else timestamp.astimezone(UTC)
        )
    except OverflowError:
        raise ValueError(text) from None


@cache
def _struct_fields(
    kind: type[msgspec.Struct],
) -> tuple[dict[str, _Field], list[tuple[str, str]], dict[str, Any]]:
    """The fields of a struct by name; both names of the required fields, ours first; and values of blanks."""
    fields = msgspec.structs.fields(kind)
    blanks = {
        field.encode_name: blank
        for field in fields
        if (blank := _meta_extra(field.type, "blank")) is not None
    }
    required = [(field.name, field.encode_name) for field in fields if field.required]
    return (
        {field.encode_name: _describe_field(field.name, field.type) for field in fields},
        required,
        blanks,
    )


def _describe_field(name: str, kind: Any) -> _Field:
    possible, check = possible_types(kind), _meta_extra(kind, "check")
    choice = possible[0]
    return _Field(
        name=name,
        type=kind,
        possible=possible,
        target=_without_none(kind),
        item=get_args(choice)[0] if get_origin(choice) is tuple else None,
        is_nested=get_origin(choice) in (list, dict),
        is_plain_text=possible == [str]
        and check is None
        and not any(
            getattr(meta, name, None) is not None
            for meta in _metas(kind)
            for name in ("pattern", "min_length", "max_length")
        ),
        words=frozenset(get_args(choice))
        if get_origin(choice) is Literal and check is None
        else frozenset(),
        check=check,
    )


def _metas(kind: Any) -> list[Any]:
    """All annotations of a type and of its choices."""
    own = list(getattr(kind, "__metadata__", ()))
    inner = get_args(kind)[:1] if get_origin(kind) is Annotated else get_args(kind)
    return own + [meta for each in inner for meta in _metas(each)]


@cache
def encoded_fields(kind: type[msgspec.Struct]) -> frozenset[str]:
    """The names of the fields whose JSON is not decoded."""
    return frozenset(
        field.encode_name
        for field in msgspec.structs.fields(kind)
        if EncodedJSON in possible_types(field.type)
    )


@cache
def field_names(kind: type[msgspec.Struct]) -> frozenset[str]:
    """The names of the fields of structs, as clients send them."""
    return frozenset(field.encode_name for field in msgspec.structs.fields(kind))


def expected_message(kind: Any) -> Message:
    """A message that says what a field of this type expects."""
    shortest: int | None = None
    length: int | None = None
    least: float | None = None
    most: float | None = None
    while get_origin(kind) in (Annotated, Union, UnionType):
        for limits in get_args(kind):
            if isinstance(limits, msgspec.Meta):
                shortest, length = limits.min_length or shortest, limits.max_length or length
                least, most = limits.ge, limits.le
        kind = next(choice for choice in get_args(kind) if choice is not NoneType)
    if get_origin(kind) is Literal:
        return Message("Choose one of: {choices}.", choices=", ".join(map(str, get_args(kind))))
    if kind is bool:
        return Message("Enter true or false.")
    if kind is UploadedFile:
        return Message("Send a file.")
    if get_origin(kind) is tuple:
        return expected_message(get_args(kind)[0])
    if get_origin(kind) is dict or kind is EncodedJSON:
        return Message("Send an object.")
    if get_origin(kind) is list:
        return Message("Send a list.") if length is None else list_limit_message(length, shortest)
    if kind is int and least is not None and most is not None:
        return Message("Enter a whole number from {low} to {high}.", low=least, high=most)
    if kind is int:
        return Message("Enter a whole number.")
    if kind is float:
        return Message("Enter a number.")
    if kind is datetime:
        return Message("Enter a date or a time such as 2026-11-15 or 2026-11-15T08:30:00Z.")
    if length is not None:
        return text_limit_message(length)
    return Message("Enter text.")


def list_limit_message(length: int, shortest: int | None = None) -> Message:
    if shortest:
        return Message("Send a list of {low} to {high} entries.", low=shortest, high=length)
    return PluralMessage(
        "Send a list of at most {count} entry.", "Send a list of at most {count} entries.", length
    )


def text_limit_message(length: int) -> Message:
    return PluralMessage(
        "Enter text of at most {count} character.",
        "Enter text of at most {count} characters.",
        length,
    )


def possible_types(kind: Any) -> list[Any]:
    """The types of a field, without annotations and None."""
    if get_origin(kind) is Annotated:
        return possible_types(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        return [
            bare
            for choice in get_args(kind)
            if choice is not NoneType
            for bare in possible_types(choice)
        ]
    return [kind]
