"""How fast a client reads a response that is generated while it is sent, and a way to break it off.

transfer = OutgoingTransfer()
send = transfer.measure(send)  # ASGI's `send`
transfer.is_slow  # False at the beginning, and while the client is fast enough
transfer.break_off()  # `send` raises `BrokenOff`: the client sees that the file is not complete
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

Send = Callable[[Any], Awaitable[None]]

# A client is slow if it took less than this in the last seconds in which the service waited for it,
SLOW_BYTES_PER_SECOND = 64 * 1024
WINDOW_SECONDS = 10
# or less than this on average, once the service has waited for so long.
LONG_BYTES_PER_SECOND = 256 * 1024
LONG_SECONDS = 120
# In the first second, buffers of the network take what the client may never read.
BUFFERING_SECONDS = 1


class BrokenOff(Exception):
    """The response was broken off by this service, as others need what it holds."""


class OutgoingTransfer:
    """Counts only the time in which the service waits for the client: slow work of the service is not held against it.

    What was passed on counts as taken, the last part too. So a client never seems slower than it is.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._total = 0  # bytes
        self._after_buffering = 0  # bytes
        self._began_at: float | None = None
        self._waited = 0.0  # seconds, without the current wait
        self._waiting_since: float | None = None
        self._recent: deque[tuple[int, int]] = deque()  # second of waiting, bytes
        self._deadline: asyncio.Timeout | None = None
        self.is_broken_off = False

    def measure(self, send: Send) -> Send:
        """Return a `send` that is measured and can be broken off."""

        async def measured_send(event: Any) -> None:
            if self.is_broken_off:
                raise BrokenOff
            self.begin_part(len(event.get("body", b"")))
            try:
                async with asyncio.timeout(None) as self._deadline:
                    await send(event)
            except TimeoutError:
                if self.is_broken_off:
                    raise BrokenOff from None
                raise
            finally:
                self._deadline = None
                self.end_part()

        return measured_send

    def begin_part(self, size: int) -> None:
        self._waiting_since = now = self._clock()
        self._began_at = now if self._began_at is None else self._began_at
        self._total += size
        if now >= self._began_at + BUFFERING_SECONDS:
            self._after_buffering += size
        second = int(self._waited)
        if self._recent and self._recent[-1][0] == second:
            size += self._recent.pop()[1]
        self._recent.append((second, size))
        self._forget_old(self._waited)

    def end_part(self) -> None:
        self._waited = self.seconds_waited
        self._waiting_since = None

    def break_off(self) -> None:
        self.is_broken_off = True
        if self._deadline is not None:
            self._deadline.reschedule(asyncio.get_running_loop().time())

    @property
    def seconds_waited(self) -> float:
        """For how long the service has waited for the client in all."""
        return self._waited + (0.0 if self._waiting_since is None else self._clock() - self._waiting_since)

    @property
    def rate(self) -> float:
        """Bytes in a second that the client took lately."""
        waited = self.seconds_waited
        self._forget_old(waited)
        return sum(size for _, size in self._recent) / max(1.0, min(waited, WINDOW_SECONDS))

    @property
    def is_slow(self) -> bool:
        waited = self.seconds_waited
        if waited < WINDOW_SECONDS:
            return False
        is_long = waited >= LONG_SECONDS
        return self.rate < SLOW_BYTES_PER_SECOND or (is_long and self._total / waited < LONG_BYTES_PER_SECOND)

    @property
    def was_left_slow(self) -> bool:
        """Whether a client that leaves now was slow, even if it was too short to be broken off."""
        return self._after_buffering < SLOW_BYTES_PER_SECOND * self.seconds_waited

    def _forget_old(self, waited: float) -> None:
        while self._recent and self._recent[0][0] + WINDOW_SECONDS <= waited - 1:
            self._recent.popleft()
