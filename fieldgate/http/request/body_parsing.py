"""The body of a write: read within a limit, then as JSON, a form, or multipart fields."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from itertools import chain
from typing import Any, NewType
from urllib.parse import parse_qsl, unquote

import msgspec
from multipart import MultipartError, MultipartSegment, PushMultipartParser, parse_options_header

from fieldgate.errors import BadRequest, Invalid, TooLarge, UnsupportedMediaType
from fieldgate.i18n.messages import Message

Receive = Callable[[], Awaitable[Any]]

SMALL = 64 * 1024  # bytes; enough for any body that is not a file
LARGE = 1024 * 1024  # bytes; what takes milliseconds to take apart
MOST_FIELDS = 100
DEEPEST = (
    50  # levels of objects and lists in each other; nobody means more, and whoever walks through them must get back
)
JSON = "application/json"
READABLE = (JSON, "application/x-www-form-urlencoded", "multipart/form-data")

# A body that a handler takes as the JSON object or array it is, rather than as a few fields.
WholeObject = dict[str, Any]
WholeList = list[Any]
# The values of a body, however it was written, that a handler reads into fields once it knows that the caller may.
Values = NewType("Values", dict[str, Any])

_QUOTED = re.compile(r'"(?:\\.|[^"\\])*"')
_EXTENDED_NAME = re.compile(r";\s*filename\*\s*=\s*([\w.:+-]+)'[^';]*'([^\s;]+)", re.ASCII | re.IGNORECASE)  # RFC 5987
_ENCODED_WORDS = re.compile(r"\s*=\?.+\?=\s*")  # RFC 2047, as mail programs write what is not ASCII


class UploadedFile:
    """A file somebody sent: the name it had there, without folders, and its bytes."""

    __slots__ = ("data", "name")

    def __init__(self, name: str, data: bytes) -> None:
        self.name = name
        self.data = data


async def read_body(
    receive: Receive, headers: Mapping[bytes, bytes], file_limit: int | None, most: int = SMALL
) -> bytes:
    """The whole body, refused as soon as it is known to hold more than a few fields, and a file where one is taken."""
    # A file in base64 takes a third more than the file, in a form some more for `+` and `/`.
    limit = most if file_limit is None else file_limit * 3 // 2 + SMALL
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


async def values_of(headers: Mapping[bytes, bytes], body: bytes) -> dict[str, Any]:
    """The values of a body by name. A large one is taken apart beside the event loop: nobody else waits for it."""
    if len(body) > LARGE:
        return await asyncio.to_thread(read_values, headers, body)
    return read_values(headers, body)


async def object_of(headers: Mapping[bytes, bytes], body: bytes) -> WholeObject:
    """The same for a body that is one JSON object."""
    if len(body) > LARGE:
        return await asyncio.to_thread(read_object, headers, body)
    return read_object(headers, body)


async def list_of(headers: Mapping[bytes, bytes], body: bytes) -> WholeList:
    """The same for a body that is one JSON array."""
    if len(body) > LARGE:
        return await asyncio.to_thread(read_list, headers, body)
    return read_list(headers, body)


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
    _refuse_other_than_json(headers, body)
    return _json(body)


def read_list(headers: Mapping[bytes, bytes], body: bytes) -> WholeList:
    """The JSON array a body is. No body is not an empty one: an empty list can mean a lot."""
    _refuse_other_than_json(headers, body)
    values = decoded(body) if body.strip() else None
    if not isinstance(values, list):
        raise BadRequest(Message("The body must be a JSON array, a list of objects."))
    return values


def _refuse_other_than_json(headers: Mapping[bytes, bytes], body: bytes) -> None:
    media_type, _ = parse_options_header(headers.get(b"content-type", b"").decode("latin-1"))
    if media_type != JSON and (media_type or body.strip()):
        raise _unreadable((JSON,))


def _json(body: bytes) -> dict[str, Any]:
    if not body.strip():
        return {}
    values = decoded(body)
    if not isinstance(values, dict):
        raise BadRequest(Message("The body must be a JSON object, with names and values."))
    return values


def decoded(text: bytes | str) -> Any:
    """What somebody sent as JSON, of a depth that can be walked through."""
    try:
        value = msgspec.json.decode(text)
    except ValueError:  # msgspec's own errors are ValueErrors
        raise BadRequest(Message("The body is not valid JSON.")) from None
    except RecursionError:
        raise _too_deep() from None
    if _is_deep(value):
        raise _too_deep()
    return value


def _is_deep(value: Any) -> bool:
    """Whether there are more levels than we take: looked at level by level, as it may be any number of them."""
    level = [value]
    for _ in range(DEEPEST + 1):
        holders = [each.values() if isinstance(each, dict) else each for each in level if isinstance(each, dict | list)]
        if not holders:
            return False
        level = list(chain.from_iterable(holders))
    return True


def _urlencoded(body: bytes) -> dict[str, Any]:
    if body.count(b"&") >= MOST_FIELDS:
        raise BadRequest(Message("There are too many fields; at most {most} are taken.", most=MOST_FIELDS))
    try:
        return dict(parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict"))
    except ValueError:
        raise BadRequest(Message("The form cannot be read: it must be percent-encoded UTF-8.")) from None


def _multipart(body: bytes, boundary: str) -> dict[str, Any]:
    """Fields as text, files as `UploadedFile`; of a repeated name the last one counts, unless a file would be lost."""
    values: dict[str, str | UploadedFile] = {}
    head: MultipartSegment  # the first part is one, and each ends with a None
    chunks: list[bytes] = []
    try:
        with PushMultipartParser(boundary, max_segment_count=MOST_FIELDS) as parser:
            for part in (*parser.parse(body), *parser.parse(b"")):
                if isinstance(part, MultipartSegment):
                    head, chunks = part, []
                elif part:
                    chunks.append(bytes(part))
                else:
                    data = b"".join(chunks)
                    filename = _filename(head)
                    if isinstance(values.get(head.name), UploadedFile):
                        raise Invalid({head.name: [Message("Send one file at a time.")]})
                    values[head.name] = data.decode() if filename is None else UploadedFile(base_name(filename), data)
        return values
    except (MultipartError, UnicodeDecodeError, ValueError):
        raise BadRequest(Message("The multipart body cannot be read.")) from None


def _filename(head: MultipartSegment) -> str | None:
    """The name of a file however it was written; None for a field. `filename*` (RFC 5987) wins over `filename`."""
    extended = _EXTENDED_NAME.search(_QUOTED.sub('""', head.header("Content-Disposition")))
    if extended is not None:
        with suppress(LookupError):
            return unquote(extended[2], encoding=extended[1])
        return unquote(extended[2])  # the charset is one nobody knows
    name: str | None = head.filename
    if name is not None and _ENCODED_WORDS.fullmatch(name):
        with suppress(HeaderParseError, LookupError, ValueError):  # it only looked encoded
            return str(make_header(decode_header(name)))
    return name


def _unreadable(known: Sequence[str]) -> UnsupportedMediaType:
    return UnsupportedMediaType(
        Message("The body has a type that cannot be read here; send one of: {known}.", known=", ".join(known))
    )


def base_name(name: str) -> str:
    """A file's name without the folders it was in."""
    return name.replace("\\", "/").rsplit("/", 1)[-1].replace("\0", "").strip()


def _too_deep() -> BadRequest:
    return BadRequest(Message("The body is nested too deeply; at most {most} levels are taken.", most=DEEPEST))


def file_too_large(limit: int) -> TooLarge:
    return TooLarge(Message("The file is too large; at most {limit} bytes are taken.", limit=limit))


def _too_large(limit: int) -> TooLarge:
    return TooLarge(Message("The body is too large; at most {limit} bytes are taken here.", limit=limit))
