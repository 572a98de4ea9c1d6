"""The body of one request: read once, within limits. Uploads are written to disk while they arrive.

How many bytes are received, and loaded into memory, at the same time is limited by `Overload`. Temporary files have no
name: nothing is left of them when the process ends, however it ends.
"""

import asyncio
import logging
import re
import tempfile
from collections.abc import AsyncIterator, Callable, Hashable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager, suppress
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from typing import Any, NamedTuple, TypeVar
from urllib.parse import unquote

from multipart import MultipartError, MultipartSegment, PushMultipartParser, parse_options_header

from fieldgate.errors import BadRequest, Header, RequestTimeout, ServiceUnavailable
from fieldgate.http.disconnects import Receive as Receive
from fieldgate.http.request import body_parsing
from fieldgate.http.request.body_parsing import (
    DEFAULT_MAX_BODY_BYTES,
    MAX_FIELDS,
    MULTIPART_MEDIA_TYPE,
    BodyLimit,
    FormValues,
    JSONArray,
    JSONObject,
    UploadedFile,
    max_upload_body,
)
from fieldgate.i18n.messages import Message
from fieldgate.overload import NoProgress, Overload, run_in_thread_if

PARSE_IN_THREAD_THRESHOLD_BYTES = 1024 * 1024  # parsing takes milliseconds from here on
MAX_PART_HEADERS = 8
MAX_PART_HEADER_BYTES = (
    4096  # of each; a file name of 255 characters has 2,295 bytes in `filename*`
)
MAX_BYTES_IN_MEMORY = 64 * 1024  # more of a file is written to disk
RETRY_SECONDS = 60

INCOMPLETE_BODY = Message("The body ended before it was complete.")
NO_SPACE = Message("The server has no space for uploads at the moment. Try again later.")

Parsed = TypeVar("Parsed")

# A quote that is never closed goes on to the end: a search from each quote in it would take quadratic time.
_QUOTED = re.compile(r'"(?:\\.|[^"\\])*+"?', re.DOTALL)
_EXTENDED_FILENAME = re.compile(
    r";\s*filename\*\s*=\s*([\w.:+-]+)'[^';]*'([^\s;]+)", re.ASCII | re.IGNORECASE
)  # RFC 5987
_ENCODED_WORDS = re.compile(r"\s*=\?.+\?=\s*")  # RFC 2047, as mail programs encode non-ASCII text

log = logging.getLogger(__name__)


class SpooledBytes:
    """Bytes that arrive in pieces. They are in memory while they are few, otherwise in a temporary file."""

    def __init__(self, folder: str) -> None:
        """`folder` is for the temporary file; if empty, the system chooses."""
        self.file = tempfile.SpooledTemporaryFile(MAX_BYTES_IN_MEMORY, dir=folder or None)  # noqa: SIM115  (`close`)
        self.size = 0

    async def write(self, piece: bytes) -> None:
        """Add bytes. Raise `ServiceUnavailable` if they cannot be stored."""
        self.size += len(piece)
        await self._store(lambda: self.file.write(piece))

    async def finish(self) -> None:
        """Call it after the last piece."""
        await self._store(self.file.flush)

    async def _store(self, step: Callable[[], object]) -> None:
        try:
            await run_in_thread_if(self.size > MAX_BYTES_IN_MEMORY, step)
        except OSError as error:
            log.error("cannot store an upload in the spool folder: %s", error)
            raise ServiceUnavailable(NO_SPACE, RETRY_SECONDS) from None

    def read(self) -> bytes:
        """All bytes. Blocks."""
        self.file.seek(0)
        return self.file.read()

    def close(self) -> None:
        with suppress(OSError):  # what could not be written before still cannot
            self.file.close()


class Part(NamedTuple):
    """A part of a multipart body."""

    name: str
    filename: str | None  # None: a field, not a file
    content: SpooledBytes

    @property
    def value(self) -> str | UploadedFile:
        if self.filename is None:
            return self.content.read().decode()
        return UploadedFile(self.filename, self.content.file)


class IncomingBody:
    """Reads a body once. `close` frees what it holds; files that were uploaded cannot be read after that."""

    def __init__(
        self,
        receive: Receive,
        headers: Mapping[bytes, bytes],
        spool: str = "",
        overload: Overload | None = None,
        caller: Hashable = None,
    ) -> None:
        """Without `overload`, the body is in memory already: that of a page's call to the API."""
        self._receive = receive
        self._headers = headers
        self._spool = spool
        self._overload = overload
        self._caller = caller
        self._files: list[SpooledBytes] = []
        self._held = AsyncExitStack()  # slots and bytes of this process
        self.loaded_bytes = 0  # of the body that were parsed

    async def read_fields(
        self, limit: BodyLimit, encoded: frozenset[str] = frozenset()
    ) -> dict[str, Any]:
        """The fields of a body in any media type. The fields named in `encoded` become `EncodedJSON`."""
        if not self._is_multipart:
            return await self._parse(
                limit, lambda body: body_parsing.parse_fields(self._headers, body, encoded)
            )
        return body_parsing.keep_encoded(
            body_parsing.unique_fields(await self._read_parts(limit)), encoded
        )

    async def read_form(self, limit: BodyLimit) -> FormValues:
        """The fields of an HTML form."""
        if not self._is_multipart:
            return await self._parse(
                limit, lambda body: body_parsing.parse_form(self._headers, body)
            )
        return body_parsing.group_fields(await self._read_parts(limit))

    async def read_object(self, limit: BodyLimit) -> JSONObject:
        return await self._parse(limit, lambda body: body_parsing.parse_object(self._headers, body))

    async def read_array(self, limit: BodyLimit) -> JSONArray:
        return await self._parse(limit, lambda body: body_parsing.parse_array(self._headers, body))

    async def close(self) -> None:
        for file in self._files:
            file.close()
        await self._held.aclose()

    @property
    def _is_multipart(self) -> bool:
        return body_parsing.media_type_of(self._headers) == MULTIPART_MEDIA_TYPE

    async def _parse(self, limit: BodyLimit, parse: Callable[[bytes], Parsed]) -> Parsed:
        """Read the whole body into memory and parse it, a large one in a thread so that other requests do not wait."""
        spooled = self._new_file()
        async for chunk in self._chunks(limit):
            await spooled.write(chunk)
        await self._hold_memory(spooled.size)
        body = spooled.read()
        spooled.close()
        return await run_in_thread_if(len(body) > PARSE_IN_THREAD_THRESHOLD_BYTES, parse, body)

    async def _read_parts(self, limit: BodyLimit) -> list[tuple[str, str | UploadedFile]]:
        _, options = parse_options_header(self._headers.get(b"content-type", b"").decode("latin-1"))
        parts: list[Part] = []
        with _multipart_errors():
            parser = PushMultipartParser(
                options.get("boundary", ""),
                max_header_size=MAX_PART_HEADER_BYTES,
                max_header_count=MAX_PART_HEADERS,
                max_segment_count=MAX_FIELDS,
            )
            async for chunk in self._chunks(limit):
                for event in parser.parse(chunk):
                    if isinstance(event, MultipartSegment):
                        parts.append(Part(event.name, part_filename(event), self._new_file()))
                    elif event:
                        await parts[-1].content.write(bytes(event))
                    else:
                        await parts[-1].content.finish()
            parser.close()
        await self._hold_memory(sum(part.content.size for part in parts if part.filename is None))
        with _multipart_errors():
            return [(part.name, part.value) for part in parts]

    async def _chunks(self, limit: BodyLimit) -> AsyncIterator[bytes]:
        """Yield the body as it arrives, within the limits."""
        declared = self._headers.get(b"content-length", b"")
        expected = int(declared) if declared.isdigit() else limit.largest
        limit.check(expected)
        if self._overload is not None and expected > DEFAULT_MAX_BODY_BYTES:
            await self._held.enter_async_context(
                self._overload.uploads.slot(self._caller, expected)
            )
        received = 0
        while True:
            event = await self._receive()
            if event["type"] == "http.disconnect":
                raise BadRequest(INCOMPLETE_BODY)
            chunk = event.get("body", b"")
            received += len(chunk)
            limit.check(received)
            if chunk:
                yield chunk
            if not event.get("more_body"):
                return

    def _new_file(self) -> SpooledBytes:
        file = SpooledBytes(self._spool)
        self._files.append(file)
        return file

    async def _hold_memory(self, size: int) -> None:
        """Wait for a turn and for memory for more than a small body; both are held until the request ends."""
        self.loaded_bytes = size
        if self._overload is not None and size > DEFAULT_MAX_BODY_BYTES:
            await self._held.enter_async_context(self._overload.large_bodies.slot(self._caller))
            await self._held.enter_async_context(
                self._overload.loaded_bodies.slot(self._caller, size)
            )


@contextmanager
def _multipart_errors() -> Iterator[None]:
    """Turn errors of the parser, and text that is not UTF-8, into a response."""
    try:
        yield
    except (MultipartError, UnicodeDecodeError, ValueError):
        raise BadRequest(Message("The multipart body cannot be read.")) from None


def part_filename(head: MultipartSegment) -> str | None:
    """The file name in any encoding, without folders; None for a field. `filename*` (RFC 5987) wins over `filename`."""
    name = _sent_filename(head)
    return None if name is None else base_name(name)


def _sent_filename(head: MultipartSegment) -> str | None:
    disposition = head.header("Content-Disposition")
    is_extended = "filename*" in disposition.lower()
    extended = _EXTENDED_FILENAME.search(_QUOTED.sub('""', disposition)) if is_extended else None
    if extended is not None:
        with suppress(LookupError):
            return unquote(extended[2], encoding=extended[1])
        return unquote(extended[2])  # unknown charset
    name: str | None = head.filename
    if name is not None and _ENCODED_WORDS.fullmatch(name):
        with suppress(HeaderParseError, LookupError, ValueError):  # it only looked encoded
            return str(make_header(decode_header(name)))
    return name


def base_name(name: str) -> str:
    """A file name without its folders."""
    return name.replace("\\", "/").rsplit("/", 1)[-1].replace("\0", "").strip()


MAX_BYTES_OVER_LIMIT = 8 * 1024 * 1024  # beyond the largest body that would have been accepted
MAX_SECONDS_BEFORE_RESPONSE = 10.0
MAX_SECONDS_AFTER_RESPONSE = 5.0
# After a response without `100 Continue`: reading earlier could still send one.
SECONDS_TO_START_RESPONSE = 0.05

CONNECTION_CLOSE: Header = (b"connection", b"close")


class BodyStream:
    """The body of a request as it arrives. Calling it is ASGI's `receive`.

    It raises `RequestTimeout` if the client sends nothing for too long.
    """

    def __init__(
        self, receive: Receive, headers: Mapping[bytes, bytes], overload: Overload
    ) -> None:
        self._receive = receive
        self._overload = overload
        declared = headers.get(b"content-length", b"")
        self.declared_bytes = int(declared) if declared.isdigit() else None  # None: chunked
        self.bytes_read = 0
        self.is_finished = self.declared_bytes == 0
        # The client sends the body only after `100 Continue`, which the server sends as soon as the body is read.
        self.waits_for_continue = headers.get(b"expect", b"").lower() == b"100-continue"
        self.is_too_slow = False

    async def __call__(self) -> Any:
        self.waits_for_continue = False
        if self.is_finished:
            return await self._receive()  # waits until the client disconnects
        if self.is_too_slow:
            raise RequestTimeout
        try:
            event = await self._overload.wait_for_client(self._receive())
        except NoProgress:
            self.is_too_slow = True
            raise RequestTimeout from None
        self.bytes_read += len(event.get("body", b""))
        if event["type"] == "http.disconnect" or not event.get("more_body"):
            self.is_finished = True
        return event


class BodyDrainer:
    """Discards bodies within limits for size and time."""

    def __init__(self, max_upload: int) -> None:
        """`max_upload` is the largest file that can be uploaded."""
        self._max_bytes = max_upload_body(max_upload) + MAX_BYTES_OVER_LIMIT

    async def drain(self, body: BodyStream) -> bool:
        """Discard the body before the response is sent; return False if the connection has to be closed instead."""
        is_too_large = (
            body.declared_bytes is not None
            and body.declared_bytes - body.bytes_read > self._max_bytes
        )
        if body.waits_for_continue or is_too_large:
            return False
        return await self._discard(body, MAX_SECONDS_BEFORE_RESPONSE)

    async def linger(self, body: BodyStream) -> None:
        """Discard what still arrives after a response with `Connection: close`."""
        if body.waits_for_continue:
            await asyncio.sleep(SECONDS_TO_START_RESPONSE)
        await self._discard(body, MAX_SECONDS_AFTER_RESPONSE)

    async def _discard(self, body: BodyStream, seconds: float) -> bool:
        """Return whether the body ended."""
        max_bytes = body.bytes_read + self._max_bytes
        with suppress(TimeoutError, RequestTimeout):
            async with asyncio.timeout(seconds):
                while not body.is_finished and body.bytes_read <= max_bytes:
                    await body()
        return body.is_finished
