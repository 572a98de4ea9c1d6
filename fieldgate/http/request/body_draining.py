"""Read and discard the part of a request body that was not needed, so that the client sees the response.

If a server closes a connection while the client is still sending, the client's system reports a broken connection and
the response is lost. A request can be refused before its body is read, so the rest is read and discarded first. That
costs time and bandwidth, so it has limits. Beyond them the response is sent with `Connection: close`, and the
connection stays open for a moment more: many clients read the response while they are sending.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from fieldgate.errors import Header, RequestTimeout
from fieldgate.http.request.active_requests import Client
from fieldgate.http.request.body_parsing import Receive, max_upload_body
from fieldgate.runtime.transfer_rate import TransferCredit

MAX_BYTES_OVER_LIMIT = 8 * 1024 * 1024  # beyond the largest body that would have been accepted
MAX_SECONDS = 15.0  # before and after the response together
MAX_SECONDS_BEFORE_RESPONSE = 10.0
MAX_IDLE_SECONDS_AFTER_RESPONSE = 2.0
# Slow clients keep a connection and little else. Bodies that arrive within this time are always read; of slower ones
# each process reads only so many at a time.
FAST_SECONDS = 1.0
MAX_SLOW_BODIES = 64
# After a response without `100 Continue`: reading earlier could still send one.
SECONDS_TO_START_RESPONSE = 0.05

CONNECTION_CLOSE: Header = (b"connection", b"close")


class BodyStream:
    """The body of a request as it arrives. Calling it is ASGI's `receive`.

    It raises `RequestTimeout` if the client sends too slowly.
    """

    __slots__ = (
        "_client", "_credit", "_receive", "_waiting", "bytes_read", "declared_bytes", "drain_deadline", "is_finished",
        "is_too_slow", "waits_for_continue",
    )  # fmt: skip

    def __init__(
        self,
        receive: Receive,
        headers: Mapping[bytes, bytes],
        credit: TransferCredit,
        client: Client,
        waiting: set[Client],
    ) -> None:
        """`waiting` are the clients that requests wait for."""
        self._receive = receive
        self._credit = credit
        self._client = client
        self._waiting = waiting
        declared = headers.get(b"content-length", b"")
        self.declared_bytes = int(declared) if declared.isdigit() else None  # None: chunked
        self.bytes_read = 0
        self.is_finished = self.declared_bytes == 0
        # The client sends the body only after `100 Continue`, which the server sends as soon as the body is read.
        self.waits_for_continue = headers.get(b"expect", b"").lower() == b"100-continue"
        self.drain_deadline = 0.0
        self.is_too_slow = False

    async def __call__(self) -> Any:
        self.waits_for_continue = False
        if self.is_finished:
            return await self._receive()  # waits until the client disconnects
        event = await self._receive_in_time()
        self.bytes_read += len(event.get("body", b""))
        if event["type"] == "http.disconnect" or not event.get("more_body"):
            self.is_finished = True
        return event

    async def _receive_in_time(self) -> Any:
        """Receive the next part. Only the time of waiting for the client counts."""
        if self.is_too_slow:
            raise RequestTimeout
        time = asyncio.get_running_loop().time
        started = time()
        self._waiting.add(self._client)
        try:
            async with asyncio.timeout(self._credit.seconds if self._credit.is_limited else None):
                event = await self._receive()
        except TimeoutError:
            self.is_too_slow = True
            raise RequestTimeout from None
        finally:
            self._waiting.discard(self._client)
        is_too_slow = self._credit.spend(time() - started, len(event.get("body", b"")))
        if is_too_slow and event.get("more_body"):
            self.is_too_slow = True
            raise RequestTimeout
        return event


class BodyDrainer:
    """Discards bodies within limits for size, time and number."""

    def __init__(self, max_upload: int) -> None:
        """`max_upload` is the largest file that can be uploaded."""
        self._max_bytes = max_upload_body(max_upload) + MAX_BYTES_OVER_LIMIT
        self.slow_bodies = 0

    async def drain(self, body: BodyStream) -> bool:
        """Discard the body before the response is sent; return False if the connection has to be closed instead."""
        now = asyncio.get_running_loop().time()
        body.drain_deadline = now + MAX_SECONDS
        is_too_large = body.declared_bytes is not None and body.declared_bytes - body.bytes_read > self._max_bytes
        if body.waits_for_continue or is_too_large or body.is_too_slow:
            return False
        return await self._discard(body, now + MAX_SECONDS_BEFORE_RESPONSE, MAX_SECONDS)

    async def linger(self, body: BodyStream) -> None:
        """Discard what still arrives after a response with `Connection: close`."""
        if body.is_too_slow:
            return
        if body.waits_for_continue:
            await asyncio.sleep(SECONDS_TO_START_RESPONSE)
        deadline = body.drain_deadline or asyncio.get_running_loop().time() + MAX_SECONDS
        await self._discard(body, deadline, MAX_IDLE_SECONDS_AFTER_RESPONSE)

    async def _discard(self, body: BodyStream, deadline: float, max_idle: float) -> bool:
        """Discard the body until a point in time, at most `max_bytes`; return whether it ended."""
        max_bytes = body.bytes_read + self._max_bytes
        fast_deadline = min(deadline, asyncio.get_running_loop().time() + FAST_SECONDS)
        if await _discard_until(body, max_bytes, fast_deadline, max_idle):
            return body.is_finished
        if self.slow_bodies >= MAX_SLOW_BODIES:
            return False
        self.slow_bodies += 1
        try:
            await _discard_until(body, max_bytes, deadline, max_idle)
        finally:
            self.slow_bodies -= 1
        return body.is_finished


async def _discard_until(body: BodyStream, max_bytes: int, deadline: float, max_idle: float) -> bool:
    """Discard the body; return whether it ended or reached the limit, rather than the time."""
    now = asyncio.get_running_loop().time
    try:
        async with asyncio.timeout_at(deadline) as timeout:
            while not body.is_finished and body.bytes_read <= max_bytes:
                timeout.reschedule(min(deadline, now() + max_idle))
                await body()
    except (TimeoutError, RequestTimeout):
        return False
    return True
