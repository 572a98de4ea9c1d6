"""The body of one request. A small one is read into memory, a large one is parsed while it arrives and kept on disk.

How many bytes are received, and loaded into memory, at the same time is limited by `Overload`.
"""

from collections.abc import AsyncIterator, Hashable, Mapping
from contextlib import AsyncExitStack
from typing import Any

from multipart import parse_options_header

from fieldgate.errors import BadRequest
from fieldgate.http.request import body_parsing
from fieldgate.http.request.body_parsing import DEFAULT_MAX_BODY_BYTES, BodyLimit, FormValues, Receive, UploadedFile
from fieldgate.http.request.multipart_parsing import MultipartReader, Part
from fieldgate.http.request.spooled_body import SpooledBytes
from fieldgate.overload import Overload
from fieldgate.settings import Settings


class BodyReader:
    def __init__(self, settings: Settings, overload: Overload) -> None:
        self.overload = overload
        self.spool = settings.spool

    def open(self, receive: Receive, headers: Mapping[bytes, bytes], caller: Hashable) -> "IncomingBody":
        return IncomingBody(self, receive, headers, caller)


class IncomingBody:
    """Reads a body once. `close` frees what it holds; files that were uploaded cannot be read after that."""

    __slots__ = ("_caller", "_files", "_headers", "_held", "_reader", "_receive")

    def __init__(
        self, reader: BodyReader | None, receive: Receive, headers: Mapping[bytes, bytes], caller: Hashable = None
    ) -> None:
        """Without a reader, the body is in memory already: that of a page's call to the API."""
        self._receive = receive
        self._headers = headers
        self._caller = caller
        self._reader = reader
        self._files: list[SpooledBytes] = []
        self._held = AsyncExitStack()  # bytes of this process

    async def read(self, limit: BodyLimit) -> bytes:
        """The whole body in memory."""
        if self._is_small():
            return await body_parsing.read_body(self._receive, self._headers, limit)
        spooled = self._new_file()
        async for chunk in self._chunks(limit):
            await spooled.write(chunk)
        await spooled.finish()
        if spooled.is_on_disk:
            await self._hold_memory(spooled.size)
        data = spooled.read()
        spooled.close()
        return data

    async def read_fields(self, limit: BodyLimit, encoded: frozenset[str] = frozenset()) -> dict[str, Any]:
        """The fields of a body in any media type. The fields named in `encoded` become `EncodedJSON`."""
        if self._is_small() or (boundary := self._boundary()) is None:
            return await body_parsing.parse_fields(self._headers, await self.read(limit), encoded)
        return body_parsing.keep_encoded(body_parsing.unique_fields(await self._read_parts(boundary, limit)), encoded)

    async def read_form(self, limit: BodyLimit) -> FormValues:
        """The fields of an HTML form."""
        if self._is_small() or (boundary := self._boundary()) is None:
            return await body_parsing.parse_form(self._headers, await self.read(limit))
        return body_parsing.group_fields(await self._read_parts(boundary, limit))

    async def close(self) -> None:
        for file in self._files:
            file.close()
        await self._held.aclose()

    @property
    def _limits(self) -> BodyReader:
        if self._reader is None:
            raise RuntimeError("a body that is in memory counts as small")
        return self._reader

    def _is_small(self) -> bool:
        declared = self._headers.get(b"content-length", b"")
        return self._reader is None or (declared.isdigit() and int(declared) <= DEFAULT_MAX_BODY_BYTES)

    def _boundary(self) -> str | None:
        """The boundary of a multipart body, None for other media types."""
        media_type, options = parse_options_header(self._headers.get(b"content-type", b"").decode("latin-1"))
        return options.get("boundary", "") if media_type == "multipart/form-data" else None

    async def _chunks(self, limit: BodyLimit) -> AsyncIterator[bytes]:
        """Yield the body as it arrives, within the limits."""
        declared = self._headers.get(b"content-length", b"")
        expected = int(declared) if declared.isdigit() else limit.largest
        limit.check(expected)
        await self._held.enter_async_context(self._limits.overload.uploads.slot(self._caller, expected))
        received = 0
        while True:
            event = await self._receive()
            if event["type"] == "http.disconnect":
                raise BadRequest(body_parsing.INCOMPLETE_BODY)
            chunk = event.get("body", b"")
            received += len(chunk)
            limit.check(received)
            if chunk:
                yield chunk
            if not event.get("more_body"):
                return

    async def _read_parts(self, boundary: str, limit: BodyLimit) -> list[tuple[str, str | UploadedFile]]:
        with body_parsing.multipart_errors():
            reader = MultipartReader(boundary, self._new_file)
            async for chunk in self._chunks(limit):
                await reader.feed(chunk)
            parts = reader.finish()
        texts = sum(part.content.size for part in parts if part.filename is None)
        if texts > DEFAULT_MAX_BODY_BYTES:
            await self._hold_memory(texts)
        with body_parsing.multipart_errors():
            return [(part.name, _part_value(part)) for part in parts]

    def _new_file(self) -> SpooledBytes:
        file = SpooledBytes(self._limits.spool)
        self._files.append(file)
        return file

    async def _hold_memory(self, size: int) -> None:
        """Wait for memory; it is held until the request ends."""
        await self._held.enter_async_context(self._limits.overload.loaded_bodies.slot(self._caller, size))


def _part_value(part: Part) -> str | UploadedFile:
    if part.filename is None:
        return part.content.read().decode()
    return UploadedFile(part.filename, part.content)
