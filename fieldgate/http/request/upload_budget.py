"""Limits for large request bodies of one process: bytes that are being received, and bytes that are in memory."""

import asyncio
import math
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from time import monotonic

from fieldgate.errors import ServiceUnavailable
from fieldgate.http.request.body_draining import CONNECTION_CLOSE
from fieldgate.i18n.messages import Message

RETRY_SECONDS = 5
# If there is no room for others, bodies that are slower than this give way, after some seconds.
FAIR_BYTES_PER_SECOND = 64 * 1024
FAIR_SECONDS = 10.0
MAX_SECONDS_TO_LOAD = 30.0

TOO_MANY_UPLOADS = Message("Too many uploads are in progress. Try again in a few seconds.")


class UploadRefused(ServiceUnavailable):
    """Sent before the body is read. The connection is closed, as the rest of the body is of no use."""

    def __init__(self) -> None:
        super().__init__(TOO_MANY_UPLOADS, RETRY_SECONDS)
        self.headers = (*self.headers, CONNECTION_CLOSE)


class UploadBudget:
    """Bytes of large bodies from their first byte to their response. One client can have half of them.

    The declared size of a body counts from the beginning. A client that declares much and sends little would keep
    others out for hours, so if there is no room, the slowest bodies give way.
    """

    def __init__(self, max_bytes: int, clock: Callable[[], float] = monotonic) -> None:
        self._max_bytes = max_bytes
        self._max_per_client = max(1, max_bytes // 2)
        self._clock = clock
        self.used = 0
        self._used_by = Counter[str]()
        self._reservations: set[Reservation] = set()

    def reserve(self, client: str, size: int) -> "Reservation":
        """Reserve bytes, or raise `UploadRefused`."""
        reservation = Reservation(self, client, self._clock())
        reservation.grow(size)
        self._reservations.add(reservation)
        return reservation

    def _take(self, client: str, held: int, size: int) -> int:
        """Add to the bytes that a request holds already. Return how many were added."""
        # A body counts for no more than a client can have: a larger one is on disk and would never fit otherwise.
        more = min(size, self._max_per_client) - held
        if more <= 0:
            return 0
        if self._used_by[client] + more > self._max_per_client:
            raise UploadRefused
        if self.used + more > self._max_bytes and not self._withdraw_slow(self.used + more - self._max_bytes):
            raise UploadRefused
        self.used += more
        self._used_by[client] += more
        return more

    def _withdraw_slow(self, needed: int) -> bool:
        """Withdraw the slowest reservations, if that makes enough room; return whether it did."""
        now = self._clock()
        slow = [each for each in self._reservations if each.rate(now) < FAIR_BYTES_PER_SECOND]
        if sum(each.size for each in slow) < needed:
            return False
        for each in sorted(slow, key=lambda reservation: reservation.rate(now)):
            needed -= each.size
            each.is_withdrawn = True
            each.release()
            if needed <= 0:
                break
        return True

    def _give_back(self, reservation: "Reservation", client: str) -> None:
        self._reservations.discard(reservation)
        self.used -= reservation.size
        self._used_by[client] -= reservation.size
        if not self._used_by[client]:
            del self._used_by[client]


class Reservation:
    __slots__ = ("_budget", "_client", "_since", "is_withdrawn", "received", "size")

    def __init__(self, budget: UploadBudget, client: str, now: float) -> None:
        self._budget = budget
        self._client = client
        self._since = now
        self.size = 0
        self.received: int | None = 0  # None: all of it
        self.is_withdrawn = False

    def grow(self, size: int) -> None:
        """Reserve this many bytes altogether, or raise `UploadRefused`."""
        if self.is_withdrawn:
            raise UploadRefused
        self.size += self._budget._take(self._client, self.size, size)

    def rate(self, now: float) -> float:
        """Bytes received in a second. At the beginning, and when all is received, it counts as fast."""
        seconds = now - self._since
        return math.inf if self.received is None or seconds < FAIR_SECONDS else self.received / seconds

    def release(self) -> None:
        self._budget._give_back(self, self._client)
        self.size = 0


class MemoryBudget:
    """Bodies that have to be in memory as a whole, such as JSON, are loaded one after the other."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._used = 0
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    @asynccontextmanager
    async def hold(self, size: int) -> AsyncIterator[None]:
        """Wait until there is memory for a body; one that is too large waits until it is alone."""
        if self._waiting or not self._fits(size):
            await self._wait(size)
        else:
            self._used += size
        try:
            yield
        finally:
            self._used -= size
            self._start_next()

    async def _wait(self, size: int) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((size, future))
        try:
            async with asyncio.timeout(MAX_SECONDS_TO_LOAD):
                await future
        except (asyncio.CancelledError, TimeoutError) as error:
            if future.done() and not future.cancelled():  # it may load the body already
                self._used -= size
            self._start_next()
            if isinstance(error, TimeoutError):
                raise ServiceUnavailable(TOO_MANY_UPLOADS, RETRY_SECONDS) from None
            raise

    def _fits(self, size: int) -> bool:
        return not self._used or self._used + size <= self._max_bytes

    def _start_next(self) -> None:
        while self._waiting:
            size, future = self._waiting[0]
            if not future.done():
                if not self._fits(size):
                    return
                self._used += size
                future.set_result(None)
            self._waiting.popleft()
