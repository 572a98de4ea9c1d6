"""The body of a write: read within a limit, then as JSON, a form, or multipart fields."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from multipart import MultipartError, MultipartSegment, PushMultipartParser, parse_options_header

from fieldgate.http.errors import BadRequest, TooLarge, UnsupportedMediaType
from fieldgate.http.language import Message

Receive = Callable[[], Awaitable[Any]]

SMALL = 64 * 1024  # bytes; enough for any body that is not a file
MOST_FIELDS = 100
JSON = "application/json"
READABLE = (JSON, "application/x-www-form-urlencoded", "multipart/form-data")


# A body that a handler takes as the JSON object it is, rather than as a few fields.
WholeObject = dict[str, Any]


class UploadedFile:
    """A file somebody sent: the name it had there, without folders, and its bytes."""

    __slots__ = ("data", "name")

    def __init__(self, name: str, data: bytes) -> None:
        self.name = name
        self.data = data


async def read_body(receive: Receive, headers: Mapping[bytes, bytes], limit: int) -> bytes:
    """The whole body, refused as soon as it is known to be longer than the limit."""
    declared = headers.get(b"content-length", b"0")
    if declared.isdigit() and int(declared) > limit:
        raise _too_large(limit)
    chunks: list[bytes] = []
    size = 0
    while True:
        event = await receive()
        if event["type"] == "http.disconnect":
            raise BadRequest(Message("The body ended before it was complete."))
        chunk = event.get("body", b"")
        size += len(chunk)
        if size > limit:
            raise _too_large(limit)
        chunks.append(chunk)
        if not event.get("more_body"):
            return b"".join(chunks)


def read_values(headers: Mapping[bytes, bytes], body: bytes) -> dict[str, Any]:
    """The values of a body by name, whichever of the three ways it was written."""
    media_type, options = parse_options_header(headers.get(b"content-type", b"").decode("latin-1"))
    if media_type == "application/x-www-form-urlencoded":
        return _urlencoded(body)
    if media_type == "multipart/form-data":
        return _multipart(body, options.get("boundary", ""))
    if media_type == JSON or (not media_type and not body.strip()):
        return _json(body)
    raise _unreadable(READABLE)


def read_object(headers: Mapping[bytes, bytes], body: bytes) -> WholeObject:
    """The JSON object a body is."""
    media_type, _ = parse_options_header(headers.get(b"content-type", b"").decode("latin-1"))
    if media_type != JSON and (media_type or body.strip()):
        raise _unreadable((JSON,))
    return _json(body)


def _json(body: bytes) -> dict[str, Any]:
    if not body.strip():
        return {}
    try:
        values = msgspec.json.decode(body)
    except (ValueError, RecursionError):  # msgspec's own errors are ValueErrors
        raise BadRequest(Message("The body is not valid JSON.")) from None
    if not isinstance(values, dict):
        raise BadRequest(Message("The body must be a JSON object, with names and values."))
    return values


def _urlencoded(body: bytes) -> dict[str, Any]:
    if body.count(b"&") >= MOST_FIELDS:
        raise BadRequest(Message("There are too many fields; at most {most} are taken.", most=MOST_FIELDS))
    try:
        return dict(parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict"))
    except ValueError:
        raise BadRequest(Message("The form cannot be read: it must be percent-encoded UTF-8.")) from None


def _multipart(body: bytes, boundary: str) -> dict[str, Any]:
    """Fields as text, files as `UploadedFile`; of a repeated name the last one counts."""
    values: dict[str, str | UploadedFile] = {}
    head: MultipartSegment | None = None
    chunks: list[bytes] = []
    try:
        with PushMultipartParser(boundary, max_segment_count=MOST_FIELDS) as parser:
            for part in (*parser.parse(body), *parser.parse(b"")):
                if isinstance(part, MultipartSegment):
                    head, chunks = part, []
                elif part:
                    chunks.append(bytes(part))
                elif head is not None:
                    data = b"".join(chunks)
                    is_file = head.filename is not None
                    values[head.name] = UploadedFile(_base_name(head.filename), data) if is_file else data.decode()
                    head = None
        return values
    except (MultipartError, UnicodeDecodeError, ValueError):
        raise BadRequest(Message("The multipart body cannot be read.")) from None


def _base_name(name: str | None) -> str:
    return (name or "").replace("\\", "/").rsplit("/", 1)[-1].replace("\0", "").strip()


def _unreadable(known: Sequence[str]) -> UnsupportedMediaType:
    return UnsupportedMediaType(
        Message("The body has a type that cannot be read here; send one of: {known}.", known=", ".join(known))
    )


def _too_large(limit: int) -> TooLarge:
    return TooLarge(Message("The body is too large; at most {limit} bytes are taken here.", limit=limit))
