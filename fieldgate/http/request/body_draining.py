"""Read and discard the part of a request body that was not needed, so that the client sees the response.

If a server closes a connection while the client is still sending, the client's system reports a broken connection and
the response is lost. A request can be refused before its body is read, so the rest is read and discarded first. That
costs time and bandwidth, so it has limits. Beyond them the response is sent with `Connection: close`, and the
connection stays open for a moment more: many clients read the response while they are sending.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from fieldgate.errors import Header, RequestTimeout
from fieldgate.http.request.body_parsing import max_upload_body
from fieldgate.http.request.request_body import Receive
from fieldgate.overload import NoProgress, Overload

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

    __slots__ = (
        "_overload", "_receive", "bytes_read", "declared_bytes", "is_finished", "is_too_slow", "waits_for_continue",
    )  # fmt: skip

    def __init__(self, receive: Receive, headers: Mapping[bytes, bytes], overload: Overload) -> None:
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
        is_too_large = body.declared_bytes is not None and body.declared_bytes - body.bytes_read > self._max_bytes
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
