"""Password checks wait for their turn. A check takes 64 MB and a tenth of a second, so only some run at a time.

Clients take turns, known ones come first, and addresses that failed never take the last place: a flood of guesses does
not delay the login of a person.
"""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from enum import IntEnum

from fieldgate.errors import ServiceUnavailable, TooManyRequests
from fieldgate.i18n.messages import Message

MAX_ATTEMPTS_PER_CLIENT = 16  # waiting or running, in one process
MAX_WAITING = 256  # of all clients, in one process; the password is not checked yet, so a place takes little memory
MAX_WAIT_SECONDS = 10.0
RETRY_SECONDS = 5

TOO_MANY_AT_ONCE = Message(
    "Too many attempts to log in at the same time from your address. Try again in a few seconds."
)


class Lane(IntEnum):
    """Lanes are served in this order."""

    KNOWN = 0  # a device or an address from which the user logged in before
    NEW = 1
    FAILED = 2  # the address failed before


_Waiting = OrderedDict[str, deque[asyncio.Future[None]]]  # by client, the one to be served next first


class LoginQueue:
    def __init__(self, max_running: int) -> None:
        self._free = max_running
        self._reserved = 1 if max_running > 1 else 0  # not for addresses that failed
        self._attempts = Counter[str]()
        self._lanes: dict[Lane, _Waiting] = {lane: OrderedDict() for lane in Lane}
        self._waiting = 0

    @contextmanager
    def place(self, client: str) -> Iterator[None]:
        """Hold one of the client's places, or raise `TooManyRequests`. Needs no database."""
        if self._attempts[client] >= MAX_ATTEMPTS_PER_CLIENT:
            raise TooManyRequests(TOO_MANY_AT_ONCE, RETRY_SECONDS)
        self._attempts[client] += 1
        try:
            yield
        finally:
            self._attempts[client] -= 1
            if not self._attempts[client]:
                del self._attempts[client]

    @asynccontextmanager
    async def turn(self, client: str, lane: Lane) -> AsyncIterator[None]:
        """Wait for the client's turn and hold it until the block ends. Raise `ServiceUnavailable` if too many wait."""
        if self._may_start(lane):
            self._free -= 1
        else:
            await self._wait(client, lane)
        try:
            yield
        finally:
            self._free += 1
            self._start_next()

    def _may_start(self, lane: Lane) -> bool:
        return self._free > (self._reserved if lane is Lane.FAILED else 0)

    async def _wait(self, client: str, lane: Lane) -> None:
        if self._waiting >= MAX_WAITING and not self._drop_one_behind(client, lane):
            raise ServiceUnavailable
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._lanes[lane].setdefault(client, deque()).append(future)
        self._waiting += 1
        try:
            async with asyncio.timeout(MAX_WAIT_SECONDS):
                await future
        except (asyncio.CancelledError, TimeoutError) as error:
            if future.done() and not future.cancelled() and future.exception() is None:  # it has its turn already
                self._free += 1
                self._start_next()
            self._leave(client, future)
            if isinstance(error, TimeoutError):
                raise ServiceUnavailable from None
            raise

    def _leave(self, client: str, future: asyncio.Future[None]) -> None:
        """Free the place of an attempt that ended while it waited, or others would be refused because of it."""
        for waiting in self._lanes.values():  # it may have moved to another lane
            futures = waiting.get(client, deque())
            if future in futures:
                futures.remove(future)
                self._waiting -= 1
                if not futures:
                    del waiting[client]

    def _start_next(self) -> None:
        """Give the turn to a client of the first lane: the one with fewest attempts, as a person has only one."""
        for lane, waiting in self._lanes.items():
            while waiting and self._may_start(lane):
                client = min(waiting, key=lambda each: len(waiting[each]))
                futures = waiting[client]
                future = futures.popleft()
                self._waiting -= 1
                if futures:
                    waiting.move_to_end(client)
                else:
                    del waiting[client]
                if not future.done():
                    self._free -= 1
                    future.set_result(None)

    def record_failure(self, client: str) -> None:
        """Move the other attempts of a new client to the last lane."""
        futures = self._lanes[Lane.NEW].pop(client, None)
        if futures is not None:
            self._lanes[Lane.FAILED].setdefault(client, deque()).extend(futures)

    def _drop_one_behind(self, client: str, lane: Lane) -> bool:
        """Refuse the last attempt of the client with most of them, in a later lane, or in this one if it has more."""
        for other in reversed(Lane):
            waiting = self._lanes[other]
            if other < lane or not waiting:
                continue
            longest = max(waiting, key=lambda each: len(waiting[each]))
            if other == lane and len(waiting[longest]) <= len(waiting.get(client, ())) + 1:
                return False
            future = waiting[longest].pop()
            self._waiting -= 1
            if not waiting[longest]:
                del waiting[longest]
            if not future.done():
                future.set_exception(ServiceUnavailable())
            return True
        return False
