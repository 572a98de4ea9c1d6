"""The body of a response, with bounds on its size and on the time that it takes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING

from fieldgate_client.errors import UnexpectedResponse

if TYPE_CHECKING:
    import httpx

MAX_BODY_BYTES = (
    256 * 1024 * 1024
)  # decompressed; a page of a thousand large events of IFRC GO has about 40 MB
MIN_BYTES_PER_SECOND = 500  # on average, after the time of the timeout
GZIP = "gzip"
# A piece of the network, decompressed as a whole, has at most 64 MB with gzip. Others compress much more.
_ENCODINGS = frozenset({"", "identity", GZIP, "x-gzip"})

ByteProgress = Callable[[int, int | None], None]  # bytes so far, bytes in all if known


async def read_body(
    response: httpx.Response,
    timeout: float,
    on_progress: ByteProgress | None = None,
    *,
    body_timeout: float = inf,
) -> bytes:
    """Read the body to its end. Raises `UnexpectedResponse`, or an exception of httpx if it is damaged or too slow."""
    import httpx

    if response.is_stream_consumed:  # by a transport of the caller
        return response.content
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in _ENCODINGS:
        raise _unexpected(
            response,
            f"The response is compressed in a way that was not asked for: {encoding[:40]}.",
        )
    length = response.headers.get("content-length", "")
    total = int(length) if length.isdecimal() and not encoding else None
    loop = asyncio.get_running_loop()
    started, size = loop.time(), 0
    chunks: list[bytes] = []
    async for chunk in response.aiter_bytes():
        size += len(chunk)
        if size > MAX_BODY_BYTES:
            limit = MAX_BODY_BYTES // 1024**2
            raise _unexpected(
                response, f"The response is larger than {limit} MB. Ask for smaller pages."
            )
        chunks.append(chunk)
        elapsed = loop.time() - started
        if elapsed > body_timeout:
            raise _unexpected(
                response,
                f"The response takes longer than {body_timeout:g} s. Ask for smaller pages.",
            )
        if elapsed > timeout and response.num_bytes_downloaded < elapsed * MIN_BYTES_PER_SECOND:
            raise httpx.ReadTimeout("the answer comes too slowly", request=response.request)
        if on_progress and response.is_success:
            on_progress(size, total)
    return b"".join(chunks)


def _unexpected(response: httpx.Response, message: str) -> UnexpectedResponse:
    return UnexpectedResponse(
        message,
        status=response.status_code,
        request_id=response.headers.get("x-request-id", ""),
        url=str(response.url),
    )
