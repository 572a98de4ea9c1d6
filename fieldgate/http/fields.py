"""Values people send, as query parameters or in a body, read into a struct.

A struct's fields are the names; their types and `Meta` limits say what is right. Everything wrong is told at
once, each field with its message, in the caller's language.

    class Login(msgspec.Struct):
        username: Annotated[str, Meta(max_length=150)]
    login = read_fields(Login, {"username": "amina"})
"""

from collections.abc import Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec

from fieldgate.http.bodies import UploadedFile
from fieldgate.http.errors import Invalid
from fieldgate.http.language import Message

NO_NULLS = Message("Null characters are not allowed.")

Fields = TypeVar("Fields", bound=msgspec.Struct)


def read_fields(kind: type[Fields], values: Mapping[str, Any], *, blank_is_absent: bool = False) -> Fields:
    """An instance of the struct, or `Invalid` with every field that is missing or cannot be taken."""
    taken: dict[str, Any] = {}
    wrong: dict[str, list[Message]] = {}
    for field in _fields(kind):
        value = values.get(field.encode_name)
        if value is None or (blank_is_absent and value == ""):
            if field.required:
                wrong[field.encode_name] = [Message("This field is required.")]
            continue
        if isinstance(value, str) and "\0" in value:  # PostgreSQL cannot store it, and nobody means it
            wrong[field.encode_name] = [NO_NULLS]
            continue
        if isinstance(value, UploadedFile) and UploadedFile in _choices(field.type):
            taken[field.name] = value
            continue
        try:
            taken[field.name] = msgspec.convert(value, field.type, strict=False)
        except msgspec.ValidationError:
            wrong[field.encode_name] = [_expectation(field.type)]
    if wrong:
        raise Invalid(wrong)
    return kind(**taken)


@cache
def _fields(kind: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(kind)


@cache
def names(kind: type[msgspec.Struct]) -> frozenset[str]:
    """The names a struct takes."""
    return frozenset(field.encode_name for field in msgspec.structs.fields(kind))


def _expectation(kind: Any) -> Message:
    """What a field of this type takes, as a message."""
    length: int | None = None
    while get_origin(kind) in (Annotated, Union, UnionType):
        length = next((extra.max_length for extra in get_args(kind) if isinstance(extra, msgspec.Meta)), None) or length
        kind = _choices(kind)[0]
    if get_origin(kind) is Literal:
        return Message("Choose one of: {choices}.", choices=", ".join(map(str, get_args(kind))))
    if kind is bool:
        return Message("Say true or false.")
    if kind is UploadedFile:
        return Message("Send a file.")
    if get_origin(kind) is dict:
        return Message("Send an object.")
    if get_origin(kind) is list:
        return Message("Send a list.")
    if kind is int:
        return Message("Enter a whole number.")
    if length is not None:
        return Message("Enter text of at most {length} characters.", length=length)
    return Message("Enter text.")


def _choices(kind: Any) -> list[Any]:
    """The types a field can have, without what only annotates them, and without None."""
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    if get_origin(kind) in (Union, UnionType):
        return [choice for choice in get_args(kind) if choice is not NoneType]
    return [kind]
