"""Read a request body within a limit, and parse it as JSON, a form or multipart fields."""

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from functools import cache
from itertools import chain
from typing import Any, NewType
from urllib.parse import parse_qsl, unquote

import msgspec
from multipart import MultipartError, MultipartSegment, PushMultipartParser, parse_options_header

from fieldgate.concurrency import run_in_thread_if
from fieldgate.errors import BadRequest, PayloadTooLarge, UnsupportedMediaType, ValidationError
from fieldgate.i18n.messages import Message, PluralMessage

Receive = Callable[[], Awaitable[Any]]

DEFAULT_MAX_BODY_BYTES = 64 * 1024  # enough for any body without a file
PARSE_IN_THREAD_THRESHOLD_BYTES = 1024 * 1024  # parsing takes milliseconds from here on
MAX_FIELDS = 100
MAX_JSON_DEPTH = 50  # levels of nested objects and arrays; recursive code must be able to process them
JSON_MEDIA_TYPE = "application/json"
BODY_MEDIA_TYPES = (JSON_MEDIA_TYPE, "application/x-www-form-urlencoded", "multipart/form-data")

# Types of a handler's `body` that is not parsed into a struct: the JSON itself.
JSONObject = dict[str, Any]
JSONArray = list[Any]
# The fields of a body in any media type; the handler validates them after it has checked permissions.
RawFields = NewType("RawFields", dict[str, Any])

_QUOTED = re.compile(r'"(?:\\.|[^"\\])*"')
_EXTENDED_FILENAME = re.compile(
    r";\s*filename\*\s*=\s*([\w.:+-]+)'[^';]*'([^\s;]+)", re.ASCII | re.IGNORECASE
)  # RFC 5987
_ENCODED_WORDS = re.compile(r"\s*=\?.+\?=\s*")  # RFC 2047, as mail programs encode non-ASCII text


class UploadedFile:
    """An uploaded file: its name, without folders, and its bytes."""

    __slots__ = ("data", "name")

    def __init__(self, name: str, data: bytes) -> None:
        self.name = name
        self.data = data


FormValues = dict[str, list[str | UploadedFile]]  # the fields of an HTML form


class EncodedJSON:
    """A JSON value of a body as it was sent. Decoding it would take many times its size in memory.

    A struct has a field of this type for a structure that another process decodes and checks.
    """

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        self.data = data


def max_upload_body(file_limit: int) -> int:
    """The largest body with a file: base64 makes it a third larger, and a form escapes `+` and `/` on top of that."""
    return file_limit * 3 // 2 + DEFAULT_MAX_BODY_BYTES


async def read_body(
    receive: Receive, headers: Mapping[bytes, bytes], file_limit: int | None, max_bytes: int = DEFAULT_MAX_BODY_BYTES
) -> bytes:
    """Read the whole body; raise `PayloadTooLarge` as soon as it exceeds the limit."""
    limit = max_bytes if file_limit is None else max_upload_body(file_limit)
    declared = headers.get(b"content-length", b"0")
    if declared.isdigit() and int(declared) > limit:
        raise _too_large(limit) if file_limit is None else file_too_large(file_limit)
    chunks: list[bytes] = []
    size = 0
    while True:
        event = await receive()
        if event["type"] == "http.disconnect":
            raise BadRequest(Message("The body ended before it was complete."))
        chunk = event.get("body", b"")
        size += len(chunk)
        if size > limit:
            raise _too_large(limit) if file_limit is None else file_too_large(file_limit)
        chunks.append(chunk)
        if not event.get("more_body"):
            return b"".join(chunks)


async def parse_fields(
    headers: Mapping[bytes, bytes], body: bytes, encoded: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """Parse the fields of a body, a large one in a thread so that other requests do not wait.

    The fields named in `encoded` become `EncodedJSON`.
    """
    is_large = len(body) > PARSE_IN_THREAD_THRESHOLD_BYTES
    return await run_in_thread_if(is_large, parse_fields_sync, headers, body, encoded)


async def parse_object(headers: Mapping[bytes, bytes], body: bytes) -> JSONObject:
    """Parse a body that is a JSON object, a large one in a thread."""
    return await run_in_thread_if(len(body) > PARSE_IN_THREAD_THRESHOLD_BYTES, parse_object_sync, headers, body)


async def parse_array(headers: Mapping[bytes, bytes], body: bytes) -> JSONArray:
    """Parse a body that is a JSON array, a large one in a thread."""
    return await run_in_thread_if(len(body) > PARSE_IN_THREAD_THRESHOLD_BYTES, parse_array_sync, headers, body)


def parse_fields_sync(
    headers: Mapping[bytes, bytes], body: bytes, encoded: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """Parse the fields of a body in any of the three media types."""
    media_type, options = parse_options_header(headers.get(b"content-type", b"").decode("latin-1"))
    if media_type == "application/x-www-form-urlencoded":
        return _keep_encoded(dict(_parse_urlencoded(body)), encoded)
    if media_type == "multipart/form-data":
        return _keep_encoded(_parse_multipart(body, options.get("boundary", "")), encoded)
    if media_type == JSON_MEDIA_TYPE or (not media_type and not body.strip()):
        return _parse_partly(body, encoded) if encoded and body.strip() else _parse_json_object(body)
    raise _unsupported_media_type(BODY_MEDIA_TYPES)


async def parse_form(headers: Mapping[bytes, bytes], body: bytes) -> FormValues:
    """Parse the form of an HTML page. A name can have several values: checkboxes, or a choice of several files."""
    return await run_in_thread_if(len(body) > PARSE_IN_THREAD_THRESHOLD_BYTES, _parse_form_sync, headers, body)


def _parse_form_sync(headers: Mapping[bytes, bytes], body: bytes) -> FormValues:
    media_type, options = parse_options_header(headers.get(b"content-type", b"").decode("latin-1"))
    pairs: Iterable[tuple[str, str | UploadedFile]]
    if not media_type and not body:  # a form without fields
        return {}
    if media_type == "application/x-www-form-urlencoded":
        pairs = _parse_urlencoded(body)
    elif media_type == "multipart/form-data":
        pairs = _multipart_parts(body, options.get("boundary", ""))
    else:
        raise _unsupported_media_type(BODY_MEDIA_TYPES[1:])
    values: FormValues = {}
    for name, value in pairs:
        values.setdefault(name, []).append(value)
    return values


def parse_object_sync(headers: Mapping[bytes, bytes], body: bytes) -> JSONObject:
    _require_json(headers, body)
    return _parse_json_object(body)


def parse_array_sync(headers: Mapping[bytes, bytes], body: bytes) -> JSONArray:
    """Parse a JSON array. A missing body is an error, as an empty array may mean to remove everything."""
    _require_json(headers, body)
    values = decode_json(body) if body.strip() else None
    if not isinstance(values, list):
        raise BadRequest(Message("The body must be a JSON array, a list of objects."))
    return values


def _require_json(headers: Mapping[bytes, bytes], body: bytes) -> None:
    media_type, _ = parse_options_header(headers.get(b"content-type", b"").decode("latin-1"))
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
    if len(body) - sum(len(bytes(getattr(skipped, name))) for name in encoded) > DEFAULT_MAX_BODY_BYTES:
        raise _too_large(DEFAULT_MAX_BODY_BYTES)
    values: dict[str, Any] = {}
    for name, raw in _decode_raw(body, dict[str, msgspec.Raw]).items():
        text = bytes(raw)
        is_encoded = name in encoded and text.startswith((b"{", b"["))
        values[name] = EncodedJSON(text) if is_encoded else _decode_raw(text, Any)
    if _is_too_deep(values):
        raise _too_deep()
    return _keep_encoded(values, encoded)


def _decode_raw(body: bytes, kind: Any) -> Any:
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError:
        raise BadRequest(Message("The body must be a JSON object, with names and values.")) from None
    except ValueError:
        raise BadRequest(Message("The body is not valid JSON.")) from None
    except RecursionError:
        raise _too_deep() from None


@cache
def _struct_of_raw(names: frozenset[str]) -> type[msgspec.Struct]:
    return msgspec.defstruct("_Skipped", [(name, msgspec.Raw, msgspec.Raw()) for name in sorted(names)])


def _keep_encoded(values: dict[str, Any], encoded: Set[str]) -> dict[str, Any]:
    """Mark the text of some fields as JSON that is not decoded. A blank text is no value."""
    if encoded and sum(_text_size(value) for name, value in values.items() if name not in encoded) > (
        DEFAULT_MAX_BODY_BYTES
    ):
        raise _too_large(DEFAULT_MAX_BODY_BYTES)
    for name in encoded & values.keys():
        if isinstance(text := values[name], str):
            values[name] = EncodedJSON(text.encode("utf-8", "surrogatepass")) if text.strip() else None
    return values


def _text_size(value: Any) -> int:
    return len(value.data) if isinstance(value, UploadedFile) else len(value) if isinstance(value, str) else 0


def decode_json(text: bytes | str) -> Any:
    """Decode JSON that a client sent; nesting that is too deep is an error."""
    try:
        value = msgspec.json.decode(text)
    except ValueError:  # msgspec's own errors are ValueErrors
        raise BadRequest(Message("The body is not valid JSON.")) from None
    except RecursionError:
        raise _too_deep() from None
    if _is_too_deep(value):
        raise _too_deep()
    return value


def _is_too_deep(value: Any) -> bool:
    """Whether the nesting exceeds the limit. Not recursive, as the depth may be anything."""
    level = [value]
    for _ in range(MAX_JSON_DEPTH + 1):
        holders = [each.values() if isinstance(each, dict) else each for each in level if isinstance(each, dict | list)]
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
        raise BadRequest(Message("The form cannot be read: it must be percent-encoded UTF-8.")) from None


def _parse_multipart(body: bytes, boundary: str) -> dict[str, Any]:
    """Fields as text, files as `UploadedFile`. The last field of a name wins; two files of one name are an error."""
    values: dict[str, str | UploadedFile] = {}
    for name, value in _multipart_parts(body, boundary):
        if isinstance(values.get(name), UploadedFile):
            raise ValidationError({name: [Message("Send one file at a time.")]})
        values[name] = value
    return values


def _multipart_parts(body: bytes, boundary: str) -> Iterator[tuple[str, str | UploadedFile]]:
    head: MultipartSegment  # the first part is a segment, and each segment ends with None
    chunks: list[bytes] = []
    try:
        with PushMultipartParser(boundary, max_segment_count=MAX_FIELDS) as parser:
            for part in (*parser.parse(body), *parser.parse(b"")):
                if isinstance(part, MultipartSegment):
                    head, chunks = part, []
                elif part:
                    chunks.append(bytes(part))
                else:
                    data = b"".join(chunks)
                    filename = _filename(head)
                    yield head.name, data.decode() if filename is None else UploadedFile(base_name(filename), data)
    except (MultipartError, UnicodeDecodeError, ValueError):
        raise BadRequest(Message("The multipart body cannot be read.")) from None


def _filename(head: MultipartSegment) -> str | None:
    """The file name in any encoding; None for a field. `filename*` (RFC 5987) wins over `filename`."""
    extended = _EXTENDED_FILENAME.search(_QUOTED.sub('""', head.header("Content-Disposition")))
    if extended is not None:
        with suppress(LookupError):
            return unquote(extended[2], encoding=extended[1])
        return unquote(extended[2])  # unknown charset
    name: str | None = head.filename
    if name is not None and _ENCODED_WORDS.fullmatch(name):
        with suppress(HeaderParseError, LookupError, ValueError):  # it only looked encoded
            return str(make_header(decode_header(name)))
    return name


def _unsupported_media_type(supported: Sequence[str]) -> UnsupportedMediaType:
    return UnsupportedMediaType(
        Message("This media type is not supported here; send one of: {known}.", known=", ".join(supported))
    )


def base_name(name: str) -> str:
    """A file name without its folders."""
    return name.replace("\\", "/").rsplit("/", 1)[-1].replace("\0", "").strip()


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


def _too_large(limit: int) -> PayloadTooLarge:
    return PayloadTooLarge(
        PluralMessage(
            "The body is too large; at most {count} byte is allowed here.",
            "The body is too large; at most {count} bytes are allowed here.",
            limit,
        )
    )
