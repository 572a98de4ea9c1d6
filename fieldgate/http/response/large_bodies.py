"""Large bodies are sent in parts. How many bytes wait for clients that read slowly is limited."""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any

from fieldgate.http.request.active_requests import Client
from fieldgate.http.response.responses import Send

# The HTTP server copies what it gets and keeps it until the client has read it. Of a larger body it gets one part after
# the other, and keeps some of them.
MAX_WHOLE_BYTES = 256 * 1024
SLICE_BYTES = 64 * 1024
MAX_UNREAD_BYTES = 128 * 1024 * 1024  # of large bodies that are being sent, in one process

log = logging.getLogger(__name__)


class BrokenOff(Exception):
    """The response was broken off by this service, as others need what it holds."""


class LargeBodies:
    """All large bodies that are being sent. Beyond the limit, the slowest client is disconnected."""

    def __init__(self, max_bytes: int = MAX_UNREAD_BYTES, clock: Callable[[], float] = time.monotonic) -> None:
        self._max_bytes = max_bytes
        self._clock = clock
        self._sending: set[LargeBody] = set()
        self.size = 0  # of all of them

    async def send(self, send: Send, body: bytes, has_more: bool) -> None:
        """Send a body in parts. Raise `BrokenOff` if others need the memory."""
        large = LargeBody(body, self._clock)
        self._sending.add(large)
        self.size += len(body)
        try:
            self._limit(large)
            await large.send(send, has_more=has_more)
        finally:
            self._forget(large)

    def _limit(self, newest: "LargeBody") -> None:
        while self.size > self._max_bytes and len(self._sending) > 1:
            slowest = min(self._sending - {newest}, key=lambda each: each.rate)
            log.warning(
                "A response was broken off: its client reads %d bytes a second, and %d bytes wait for all clients",
                slowest.rate, self.size,
            )  # fmt: skip
            self._forget(slowest)
            slowest.break_off()

    def _forget(self, large: "LargeBody") -> None:
        if large in self._sending:
            self._sending.remove(large)
            self.size -= len(large.body)


class LargeBody:
    """A body that is sent in parts."""

    def __init__(self, body: bytes, clock: Callable[[], float]) -> None:
        self.body = body
        self._clock = clock
        self._started = clock()
        self._sent = 0
        self._is_broken_off = False
        self._deadline: asyncio.Timeout | None = None

    @property
    def rate(self) -> float:
        """Bytes in a second that the client took since the beginning."""
        return self._sent / max(self._clock() - self._started, 0.001)

    async def send(self, send: Send, *, has_more: bool) -> None:
        size = len(self.body)
        try:
            async with asyncio.timeout(None) as self._deadline:
                for start in range(0, size, SLICE_BYTES):
                    end = start + SLICE_BYTES
                    part = {
                        "type": "http.response.body",
                        "body": self.body[start:end],
                        "more_body": has_more or end < size,
                    }
                    await send(part)
                    self._sent = end
        except TimeoutError:
            if self._is_broken_off:
                raise BrokenOff from None
            raise

    def break_off(self) -> None:
        self._is_broken_off = True
        if self._deadline is not None:
            self._deadline.reschedule(asyncio.get_running_loop().time())


class SlicedSend:
    """ASGI's `send` for a large body: a client that reads slowly does not cost as much memory as the body has bytes."""

    def __init__(self, send: Send, bodies: LargeBodies, client: Client, waiting: set[Client]) -> None:
        """`waiting` are the clients that requests wait for."""
        self._send = send
        self._bodies = bodies
        self._client = client
        self._waiting = waiting

    async def __call__(self, event: Any) -> None:
        body = event.get("body", b"")
        if len(body) <= MAX_WHOLE_BYTES:
            await self._send(event)
            return
        self._waiting.add(self._client)
        try:
            await self._bodies.send(self._send, body, event.get("more_body", False))
        finally:
            self._waiting.discard(self._client)
