"""Parse a request body as JSON or as a form; limits of bodies. `request_body` reads it, and parses multipart."""

import hashlib
import io
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import cache
from itertools import chain
from typing import Any, NewType
from urllib.parse import parse_qsl

import msgspec
from multipart import parse_options_header

from fieldgate.errors import BadRequest, PayloadTooLarge, UnsupportedMediaType, ValidationError
from fieldgate.i18n.messages import Message, PluralMessage

DEFAULT_MAX_BODY_BYTES = 64 * 1024  # enough for any body without a file
MAX_FIELDS = 100
MAX_JSON_DEPTH = (
    50  # levels of nested objects and arrays; recursive code must be able to process them
)
JSON_MEDIA_TYPE = "application/json"
FORM_MEDIA_TYPE = "application/x-www-form-urlencoded"
MULTIPART_MEDIA_TYPE = "multipart/form-data"
BODY_MEDIA_TYPES = (JSON_MEDIA_TYPE, FORM_MEDIA_TYPE, MULTIPART_MEDIA_TYPE)

# Types of a handler's `body` that is not parsed into a struct: the JSON itself.
JSONObject = dict[str, Any]
JSONArray = list[Any]
# The fields of a body in any media type; the handler validates them after it has checked permissions.
RawFields = NewType("RawFields", dict[str, Any])


class UploadedFile:
    """An uploaded file: its name, without folders, and its bytes, in memory or on disk until the request ends."""

    def __init__(self, name: str, content: bytes | Any) -> None:
        """`content` is bytes, or an open file."""
        self.name = name
        self._file = io.BytesIO(content) if isinstance(content, bytes) else content

    @property
    def data(self) -> bytes:
        """All bytes. Blocks while they are read from disk."""
        return self.read_start(-1)

    @property
    def size(self) -> int:
        return int(self._file.seek(0, io.SEEK_END))

    def read_start(self, size: int) -> bytes:
        self._file.seek(0)
        found: bytes = self._file.read(size)
        return found

    def sha256(self) -> bytes:
        """The digest of all bytes. Blocks."""
        self._file.seek(0)
        return hashlib.file_digest(self._file, "sha256").digest()


FormValues = dict[str, list[str | UploadedFile]]  # the fields of an HTML form


class EncodedJSON:
    """A JSON value of a body as it was sent. Decoding it would take many times its size in memory.

    A struct has a field of this type for a structure that another process decodes and checks.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data


def max_upload_body(file_limit: int) -> int:
    """The largest body with a file: base64 makes it a third larger, and a form escapes `+` and `/` on top of that."""
    return file_limit * 3 // 2 + DEFAULT_MAX_BODY_BYTES


class BodyLimit(msgspec.Struct, frozen=True):
    """The largest body. With `file_limit`, the largest file in it: a body can be larger than that."""

    file_limit: int | None = None
    max_bytes: int = DEFAULT_MAX_BODY_BYTES

    @property
    def largest(self) -> int:
        return self.max_bytes if self.file_limit is None else max_upload_body(self.file_limit)

    def check(self, size: int) -> None:
        """Raise `PayloadTooLarge` if a body of this size exceeds the limit."""
        if size > self.largest:
            raise (
                body_too_large(self.largest)
                if self.file_limit is None
                else file_too_large(self.file_limit)
            )


def parse_fields(
    headers: Mapping[bytes, bytes], body: bytes, encoded: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """Parse the fields of a body that is JSON or a form. The fields named in `encoded` become `EncodedJSON`."""
    media_type = media_type_of(headers)
    if media_type == FORM_MEDIA_TYPE:
        return keep_encoded(dict(_parse_urlencoded(body)), encoded)
    if media_type == JSON_MEDIA_TYPE or (not media_type and not body.strip()):
        return (
            _parse_partly(body, encoded) if encoded and body.strip() else _parse_json_object(body)
        )
    raise _unsupported_media_type(BODY_MEDIA_TYPES)


def parse_form(headers: Mapping[bytes, bytes], body: bytes) -> FormValues:
    """Parse the form of an HTML page. A name can have several values: checkboxes, or a choice of several files."""
    media_type = media_type_of(headers)
    if not media_type and not body:  # a form without fields
        return {}
    if media_type != FORM_MEDIA_TYPE:
        raise _unsupported_media_type(BODY_MEDIA_TYPES[1:])
    return group_fields(_parse_urlencoded(body))


def media_type_of(headers: Mapping[bytes, bytes]) -> str:
    media_type: str = parse_options_header(headers.get(b"content-type", b"").decode("latin-1"))[0]
    return media_type


def group_fields(pairs: Iterable[tuple[str, str | UploadedFile]]) -> FormValues:
    """Fields of an HTML form by name."""
    values: FormValues = {}
    for name, value in pairs:
        values.setdefault(name, []).append(value)
    return values


def parse_object(headers: Mapping[bytes, bytes], body: bytes) -> JSONObject:
    """Parse a JSON object."""
    _require_json(headers, body)
    return _parse_json_object(body)


def parse_array(headers: Mapping[bytes, bytes], body: bytes) -> JSONArray:
    """Parse a JSON array. A missing body is an error, as an empty array may mean to remove everything."""
    _require_json(headers, body)
    values = decode_json(body) if body.strip() else None
    if not isinstance(values, list):
        raise BadRequest(Message("The body must be a JSON array, a list of objects."))
    return values


def _require_json(headers: Mapping[bytes, bytes], body: bytes) -> None:
    media_type = media_type_of(headers)
    if media_type != JSON_MEDIA_TYPE and (media_type or body.strip()):
        raise _unsupported_media_type((JSON_MEDIA_TYPE,))


def _parse_json_object(body: bytes) -> dict[str, Any]:
    if not body.strip():
        return {}
    values = decode_json(body)
    if not isinstance(values, dict):
        raise BadRequest(Message("The body must be a JSON object, with names and values."))
    return values


def _parse_partly(body: bytes, encoded: frozenset[str]) -> dict[str, Any]:
    """Parse a JSON object without decoding some of its fields. A text in such a field is JSON itself."""
    skipped = _decode_raw(body, _struct_of_raw(encoded))
    # Only the fields that are skipped may be large.
    if (
        len(body) - sum(len(bytes(getattr(skipped, name))) for name in encoded)
        > DEFAULT_MAX_BODY_BYTES
    ):
        raise body_too_large(DEFAULT_MAX_BODY_BYTES)
    values: dict[str, Any] = {}
    for name, raw in _decode_raw(body, dict[str, msgspec.Raw]).items():
        text = bytes(raw)
        is_encoded = name in encoded and text.startswith((b"{", b"["))
        values[name] = EncodedJSON(text) if is_encoded else _decode_raw(text, Any)
    if is_too_deep(values):
        raise _too_deep()
    return keep_encoded(values, encoded)


def _decode_raw(body: bytes | str, kind: Any) -> Any:
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError:
        raise BadRequest(
            Message("The body must be a JSON object, with names and values.")
        ) from None
    except ValueError:  # msgspec's own errors are ValueErrors
        raise BadRequest(Message("The body is not valid JSON.")) from None
    except RecursionError:
        raise _too_deep() from None


@cache
def _struct_of_raw(names: frozenset[str]) -> type[msgspec.Struct]:
    return msgspec.defstruct(
        "_Skipped", [(name, msgspec.Raw, msgspec.Raw()) for name in sorted(names)]
    )


def keep_encoded(values: dict[str, Any], encoded: Set[str]) -> dict[str, Any]:
    """Mark the text of some fields as JSON that is not decoded. A blank text is no value."""
    # Files have their own limit, and are not in memory.
    others = (
        value for name, value in values.items() if name not in encoded and isinstance(value, str)
    )
    if encoded and sum(map(len, others)) > DEFAULT_MAX_BODY_BYTES:
        raise body_too_large(DEFAULT_MAX_BODY_BYTES)
    for name in encoded & values.keys():
        if isinstance(text := values[name], str):
            values[name] = (
                EncodedJSON(text.encode("utf-8", "surrogatepass")) if text.strip() else None
            )
    return values


def decode_json(text: bytes | str) -> Any:
    """Decode JSON that a client sent; nesting that is too deep is an error."""
    value = _decode_raw(text, Any)
    if is_too_deep(value):
        raise _too_deep()
    return value


def is_too_deep(value: Any) -> bool:
    """Whether the nesting exceeds the limit. Not recursive, as the depth may be anything."""
    level = [value]
    for _ in range(MAX_JSON_DEPTH + 1):
        holders = [
            each.values() if isinstance(each, dict) else each
            for each in level
            if isinstance(each, dict | list)
        ]
        if not holders:
            return False
        level = list(chain.from_iterable(holders))
    return True


def _parse_urlencoded(body: bytes) -> list[tuple[str, str]]:
    if body.count(b"&") >= MAX_FIELDS:
        raise BadRequest(
            PluralMessage(
                "There are too many fields; at most {count} is allowed.",
                "There are too many fields; at most {count} are allowed.",
                MAX_FIELDS,
            )
        )
    try:
        return parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict")
    except ValueError:
        raise BadRequest(
            Message("The form cannot be read: it must be percent-encoded UTF-8.")
        ) from None


def unique_fields(parts: Iterable[tuple[str, str | UploadedFile]]) -> dict[str, Any]:
    """Fields as text, files as `UploadedFile`. The last field of a name wins; two files of one name are an error."""
    values: dict[str, str | UploadedFile] = {}
    for name, value in parts:
        if isinstance(values.get(name), UploadedFile):
            raise ValidationError({name: [Message("Send one file at a time.")]})
        values[name] = value
    return values


def _unsupported_media_type(supported: Sequence[str]) -> UnsupportedMediaType:
    return UnsupportedMediaType(
        Message(
            "This media type is not supported here; send one of: {known}.",
            known=", ".join(supported),
        )
    )


def _too_deep() -> BadRequest:
    return BadRequest(
        PluralMessage(
            "The body is nested too deeply; at most {count} level is allowed.",
            "The body is nested too deeply; at most {count} levels are allowed.",
            MAX_JSON_DEPTH,
        )
    )


def file_too_large(limit: int) -> PayloadTooLarge:
    return PayloadTooLarge(
        PluralMessage(
            "The file is too large; at most {count} byte is allowed.",
            "The file is too large; at most {count} bytes are allowed.",
            limit,
        )
    )


def body_too_large(limit: int) -> PayloadTooLarge:
    return PayloadTooLarge(
        PluralMessage(
            "The body is too large; at most {count} byte is allowed here.",
            "The body is too large; at most {count} bytes are allowed here.",
            limit,
        )
    )
