"""The body of a response, with bounds on its size and on the time that it takes.

httpx decompresses a piece of the body as a whole, and what it was not asked for as well: a few kilobytes could become
gigabytes in memory. Here the body is decompressed in small steps, and only gzip is accepted.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from fieldgate_client.errors import UnexpectedResponse

if TYPE_CHECKING:
    import httpx

MAX_BODY_BYTES = 256 * 1024 * 1024  # decompressed; a page of a thousand large events of IFRC GO has about 40 MB
STEP_BYTES = 1024 * 1024  # at most decompressed at once
MIN_BYTES_PER_SECOND = 500  # on average, after the time of the timeout
GZIP = "gzip"
_GZIP_WINDOW = 31  # of zlib: 32 KB, with the header of gzip

ByteProgress = Callable[[int, int | None], None]  # bytes so far, bytes in all if known


async def read_body(response: httpx.Response, timeout: float, on_progress: ByteProgress | None = None) -> bytes:
    """Read the body to its end. Raises `UnexpectedResponse`, or an exception of httpx if it is damaged or too slow."""
    import asyncio

    import httpx

    if response.is_stream_consumed:  # by a transport of the caller
        return response.content
    decoder = _decoder(response)
    length = response.headers.get("content-length", "")
    total = int(length) if length.isdecimal() and not isinstance(decoder, _GzipDecoder) else None
    loop = asyncio.get_running_loop()
    started, received, size = loop.time(), 0, 0
    chunks: list[bytes] = []
    try:
        async for raw in response.aiter_raw():
            received += len(raw)
            for chunk in decoder.decode(raw):
                size += len(chunk)
                if size > MAX_BODY_BYTES:
                    raise _unexpected(
                        response, f"The response is larger than {MAX_BODY_BYTES // 1024**2} MB. Ask for smaller pages."
                    )
                chunks.append(chunk)
            elapsed = loop.time() - started
            if elapsed > timeout and received < elapsed * MIN_BYTES_PER_SECOND:
                raise httpx.ReadTimeout("the answer comes too slowly", request=response.request)
            if on_progress and response.is_success:
                on_progress(size, total)
        decoder.finish()
    except zlib.error as error:
        raise httpx.DecodingError(f"the answer cannot be decompressed: {error}", request=response.request) from None
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


class _PlainDecoder:
    def decode(self, raw: bytes) -> Iterator[bytes]:
        yield raw

    def finish(self) -> None:
        pass


class _GzipDecoder:
    """Also of several gzip files one after the other."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(_GZIP_WINDOW)

    def decode(self, raw: bytes) -> Iterator[bytes]:
        has_more = False  # inside, though all of the input was taken
        while raw or has_more:
            if self._inner.eof:
                self._inner = zlib.decompressobj(_GZIP_WINDOW)
            chunk = self._inner.decompress(raw, STEP_BYTES)
            raw = self._inner.unconsumed_tail or self._inner.unused_data
            has_more = len(chunk) == STEP_BYTES and not self._inner.eof
            yield chunk

    def finish(self) -> None:
        if not self._inner.eof:
            raise zlib.error("it ends too early")


def _decoder(response: httpx.Response) -> _PlainDecoder | _GzipDecoder:
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding in ("", "identity"):
        return _PlainDecoder()
    if encoding in (GZIP, "x-gzip"):
        return _GzipDecoder()
    raise _unexpected(response, f"The response is compressed in a way that was not asked for: {encoding[:40]}.")


def _unexpected(response: httpx.Response, message: str) -> UnexpectedResponse:
    return UnexpectedResponse(
        message,
        status=response.status_code,
        request_id=response.headers.get("x-request-id", ""),
        url=str(response.url),
    )
