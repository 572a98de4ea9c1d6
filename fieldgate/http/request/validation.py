"""Values people send, as query parameters or in a body, read into a struct.

A struct's fields are the names; their types and `Meta` limits say what is right: a `tuple` is a list separated
by commas, a `list` or `dict` may be JSON in a text, a `datetime` may lack its time or zone. What a type cannot say,
a function does: `Meta(extra={"check": …})` names one that raises `ValueError` with a message. In a query a blank is
nothing, unless `Meta(extra={"blank": …})` says what it stands for. Everything wrong is told at once, each field with
its message, in the caller's language.

    class Login(msgspec.Struct):
        username: Annotated[str, Meta(max_length=150)]
    login = read_fields(Login, {"username": "amina"})
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec

from fieldgate.errors import BadRequest, ValidationError
from fieldgate.http.request.body_parsing import UploadedFile, decode_json
from fieldgate.i18n.messages import Message, PluralMessage

NULL_CHARACTERS = Message("Null characters are not allowed.")

Fields = TypeVar("Fields", bound=msgspec.Struct)

# Without zeros in front, which no other spelling of the same list may have.
_is_integer_list = re.compile(r"(?:0|[1-9]\d{0,17})(?:,(?:0|[1-9]\d{0,17}))*", re.ASCII).fullmatch
# In a query a bare `+` is a space, and clients send `…T00:00:00+00:00` as it is.
_SPACE_FOR_PLUS = re.compile(r"(:\d\d(?:\.\d+)?) (\d\d:?\d\d)$", re.ASCII)


def parse_struct(kind: type[Fields], values: Mapping[str, Any], *, blank_is_absent: bool = False) -> Fields:
    """An instance of the struct, or `Invalid` with every field that is missing or cannot be taken."""
    fields, required, blanks = _struct_fields(kind)
    taken: dict[str, Any] = {}
    wrong: dict[str, list[Message]] = {}
    for name, value in values.items():
        if name not in fields or value is None:
            continue
        field, possible = fields[name]
        if blank_is_absent and value == "":
            if name in blanks:
                taken[field.name] = blanks[name]
            continue
        if isinstance(value, str) and "\0" in value:  # PostgreSQL cannot store it, and nobody means it
            wrong[name] = [NULL_CHARACTERS]
            continue
        if isinstance(value, UploadedFile) and UploadedFile in possible:
            taken[field.name] = value
            continue
        try:
            taken[field.name] = _convert(value, field.type, possible[0])
        except ValueError as error:
            said = error.args[0] if error.args else None
            wrong[name] = [said if isinstance(said, Message) else expected_message(field.type)]
    for field in required:
        if field.name not in taken and field.encode_name not in wrong:
            wrong[field.encode_name] = [Message("This field is required.")]
    if wrong:
        raise ValidationError(wrong)
    return kind(**taken)


def _convert(value: Any, kind: Any, choice: Any) -> Any:
    """The value as the type of its field, or `ValueError`, with a message where more can be said than the type says."""
    if isinstance(value, str) and get_origin(choice) is tuple:
        return _parse_list(value, get_args(choice)[0])
    if isinstance(value, str) and choice is datetime:
        return parse_timestamp(value)
    if isinstance(value, str) and get_origin(choice) in (list, dict):
        value = _parse_nested_json(value)
    taken = msgspec.convert(value, _without_none(kind), strict=False)
    if check := _meta_extra(kind, "check"):
        check(taken)
    return taken


def _meta_extra(kind: Any, name: str) -> Any:
    """What a type is marked with beyond its limits."""
    return next((each.extra[name] for each in getattr(kind, "__metadata__", ()) if name in (each.extra or ())), None)


def _parse_nested_json(text: str) -> Any:
    """A list or an object in a form, which can only hold it as JSON."""
    try:
        return decode_json(text)
    except BadRequest:
        raise ValueError(text) from None


def _without_none(kind: Any) -> Any:
    """The type of a value that was sent: who sends the word `null` does not mean that nothing was."""
    if get_origin(kind) is Annotated:
        return Annotated[_without_none(get_args(kind)[0]), *get_args(kind)[1:]]
    if get_origin(kind) in (Union, UnionType):
        return Union[tuple(choice for choice in get_args(kind) if choice is not NoneType)]  # noqa: UP007
    return kind


def _parse_list(text: str, kind: Any) -> tuple[Any, ...]:
    """A list separated by commas; blank members are dropped."""
    if kind is int and _is_integer_list(text):  # as programs write them
        return tuple(map(int, text.split(",")))
    members = [member for each in text.split(",") if (member := each.strip())]
    try:
        return tuple(msgspec.convert(members, list[kind], strict=False))
    except msgspec.ValidationError:  # which one, and why?
        return tuple([_parse_list_item(member, kind) for member in members])


def _parse_list_item(text: str, kind: Any) -> Any:
    try:
        return msgspec.convert(text, kind, strict=False)
    except msgspec.ValidationError:
        raise ValueError(
            Message("“{value}” cannot be taken. {expected}", value=text[:40], expected=expected_message(kind))
        ) from None


def parse_timestamp(text: str) -> datetime:
    """A moment in ISO 8601. Without a time it is midnight, without a zone UTC; a `+` that became a space is meant."""
    moment = datetime.fromisoformat(_SPACE_FOR_PLUS.sub(r"\1+\2", text.strip()))
    try:
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError:
        raise ValueError(text) from None


Field = msgspec.structs.FieldInfo


@cache
def _struct_fields(
    kind: type[msgspec.Struct],
) -> tuple[dict[str, tuple[Field, list[Any]]], list[Field], dict[str, Any]]:
    """The fields of a struct by the names that are sent, with the types each can have; those that must be sent; and
    what a blank stands for."""
    fields = msgspec.structs.fields(kind)
    by_name = {field.encode_name: (field, possible_types(field.type)) for field in fields}
    blanks = {field.encode_name: blank for field in fields if (blank := _meta_extra(field.type, "blank")) is not None}
    return by_name, [field for field in fields if field.required], blanks


@cache
def field_names(kind: type[msgspec.Struct]) -> frozenset[str]:
    """The names a struct takes."""
    return frozenset(field.encode_name for field in msgspec.structs.fields(kind))


def expected_message(kind: Any) -> Message:
    """What a field of this type takes, as a message."""
    length: int | None = None
    least: float | None = None
    most: float | None = None
    while get_origin(kind) in (Annotated, Union, UnionType):
        for limits in get_args(kind):
            if isinstance(limits, msgspec.Meta):
                length, least, most = limits.max_length or length, limits.ge, limits.le
        kind = next(choice for choice in get_args(kind) if choice is not NoneType)
    if get_origin(kind) is Literal:
        return Message("Choose one of: {choices}.", choices=", ".join(map(str, get_args(kind))))
    if kind is bool:
        return Message("Say true or false.")
    if kind is UploadedFile:
        return Message("Send a file.")
    if get_origin(kind) is tuple:
        return expected_message(get_args(kind)[0])
    if get_origin(kind) is dict:
        return Message("Send an object.")
    if get_origin(kind) is list:
        return Message("Send a list.")
    if kind is int and least is not None and most is not None:
        return Message("Enter a whole number from {low} to {high}.", low=least, high=most)
    if kind is int:
        return Message("Enter a whole number.")
    if kind is float:
        return Message("Enter a number.")
    if kind is datetime:
        return Message("Enter a date or a time such as 2026-11-15 or 2026-11-15T08:30:00Z.")
    if length is not None:
        return PluralMessage(
            "Enter text of at most {count} character.", "Enter text of at most {count} characters.", length
        )
    return Message("Enter text.")


def possible_types(kind: Any) -> list[Any]:
    """The types a field can have, without what only annotates them, and without None."""
    if get_origin(kind) is Annotated:
        return possible_types(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        return [bare for choice in get_args(kind) if choice is not NoneType for bare in possible_types(choice)]
    return [kind]
