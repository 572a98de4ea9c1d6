"""Password checks wait for their turn. A check takes 64 MB and a tenth of a second, so only some run at a time.

Clients take turns, and those with fewest attempts come first: a flood of guesses does not delay the login of a person.
Known clients come before others, each account counts as one of them, and neither side can use up the places or the
turns of the other: cookies and addresses are easy to collect for an account of one's own.
"""

import asyncio
import time
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from enum import IntEnum

from fieldgate.cache import BoundedCache
from fieldgate.errors import ServiceUnavailable, TooManyRequests
from fieldgate.i18n.messages import Message

MAX_ATTEMPTS_PER_CLIENT = 16  # waiting or running, in one process
# Of all known clients, and of all others, in one process. The password is not checked yet, so a place takes little
# memory.
MAX_WAITING = 256
MAX_WAIT_SECONDS = 10.0
RETRY_SECONDS = 5
FAILURE_SECONDS = 60.0  # how long a known client that failed comes after those that did not
MAX_FAILURES = 4096  # known clients that failed, of which this is remembered

TOO_MANY_AT_ONCE = Message(
    "Too many attempts to log in at the same time from your address. Try again in a few seconds."
)


class Lane(IntEnum):
    """Lanes are served in this order."""

    KNOWN = 0  # a device or an address from which the user logged in before
    KNOWN_FAILED = 1  # such a device or address of the user failed in the last minute
    NEW = 2
    FAILED = 3  # the address failed before


_KNOWN_LANES = (Lane.KNOWN, Lane.KNOWN_FAILED)
_OTHER_LANES = (Lane.NEW, Lane.FAILED)
_LANE_AFTER_FAILURE = {Lane.KNOWN: Lane.KNOWN_FAILED, Lane.NEW: Lane.FAILED}

_Turn = asyncio.Future[Lane]  # its result is the lane from which the attempt was served
_Waiting = OrderedDict[str, deque[_Turn]]  # by client, the one to be served next first


def device_client(account: str) -> str:
    """All devices of an account are one client, however many cookies it has collected."""
    return f"devices of {account}"


def address_client(account: str) -> str:
    """So are its known addresses. Devices are another client: somebody else at a known address cannot delay them."""
    return f"addresses of {account}"


def network_client(network: str) -> str:
    return f"network {network}"


class LoginQueue:
    def __init__(self, max_running: int) -> None:
        self._free = max_running
        self._share = max(1, max_running - 1)  # of known clients while others wait, and of addresses that failed
        self._running = Counter[Lane]()
        self._attempts = Counter[str]()
        self._lanes: dict[Lane, _Waiting] = {lane: OrderedDict() for lane in Lane}
        self._failures = BoundedCache[str, float](MAX_FAILURES)  # when a known client failed

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
        if lane is Lane.KNOWN and self._failed_lately(client):
            lane = Lane.KNOWN_FAILED
        if self._may_start(lane):
            self._start(lane)
        else:
            lane = await self._wait(client, lane)
        try:
            yield
        finally:
            self._end(lane)

    def record_failure(self, client: str, lane: Lane) -> None:
        """Move the other attempts of the client behind those of clients that did not fail."""
        if lane in _KNOWN_LANES:
            self._failures.put(client, time.monotonic())
        for before, after in _LANE_AFTER_FAILURE.items():
            turns = self._lanes[before].pop(client, None)
            if turns is not None:
                self._lanes[after].setdefault(client, deque()).extend(turns)

    def _failed_lately(self, client: str) -> bool:
        failed_at = self._failures.get(client)
        return failed_at is not None and time.monotonic() < failed_at + FAILURE_SECONDS

    def _may_start(self, lane: Lane) -> bool:
        if not self._free:
            return False
        if lane in _KNOWN_LANES:
            running = sum(self._running[known] for known in _KNOWN_LANES)
            return running < self._share or not any(self._lanes[other] for other in _OTHER_LANES)
        return lane is Lane.NEW or self._running[lane] < self._share

    def _start(self, lane: Lane) -> None:
        self._free -= 1
        self._running[lane] += 1

    def _end(self, lane: Lane) -> None:
        self._free += 1
        self._running[lane] -= 1
        self._start_next()

    async def _wait(self, client: str, lane: Lane) -> Lane:
        """Return the lane from which the attempt was served, as it may have moved to another one."""
        if self._count_waiting(lane) >= MAX_WAITING and not self._drop_one_behind(client, lane):
            raise ServiceUnavailable
        turn: _Turn = asyncio.get_running_loop().create_future()
        self._lanes[lane].setdefault(client, deque()).append(turn)
        try:
            async with asyncio.timeout(MAX_WAIT_SECONDS):
                return await turn
        except (asyncio.CancelledError, TimeoutError) as error:
            if turn.done() and not turn.cancelled() and turn.exception() is None:  # it has its turn already
                self._end(turn.result())
            self._leave(client, turn)
            if isinstance(error, TimeoutError):
                raise ServiceUnavailable from None
            raise

    def _leave(self, client: str, turn: _Turn) -> None:
        """Free the place of an attempt that ended while it waited, or others would be refused because of it."""
        for waiting in self._lanes.values():  # it may have moved to another lane
            turns = waiting.get(client, deque())
            if turn in turns:
                turns.remove(turn)
                if not turns:
                    del waiting[client]
        self._start_next()  # known clients may use all turns if this was the last of the others

    def _start_next(self) -> None:
        """Give the turn to a client of the first lane: the one with fewest attempts, as a person has only one."""
        for lane, waiting in self._lanes.items():
            while waiting and self._may_start(lane):
                client = min(waiting, key=lambda each: len(waiting[each]))
                turns = waiting[client]
                turn = turns.popleft()
                if turns:
                    waiting.move_to_end(client)
                else:
                    del waiting[client]
                if not turn.done():
                    self._start(lane)
                    turn.set_result(lane)

    def _count_waiting(self, lane: Lane) -> int:
        """Return how many wait in the lanes that share their places with this one."""
        return sum(len(turns) for each in _lanes_with(lane) for turns in self._lanes[each].values())

    def _drop_one_behind(self, client: str, lane: Lane) -> bool:
        """Refuse the last attempt of the client with most of them, in a later lane, or in this one if it has more.

        Known clients are never refused for others, nor others for known ones.
        """
        for other in reversed(_lanes_with(lane)):
            waiting = self._lanes[other]
            if other < lane or not waiting:
                continue
            longest = max(waiting, key=lambda each: len(waiting[each]))
            if other == lane and len(waiting[longest]) <= len(waiting.get(client, ())) + 1:
                return False
            turn = waiting[longest].pop()
            if not waiting[longest]:
                del waiting[longest]
            if not turn.done():
                turn.set_exception(ServiceUnavailable())
            return True
        return False


def _lanes_with(lane: Lane) -> tuple[Lane, ...]:
    return _KNOWN_LANES if lane in _KNOWN_LANES else _OTHER_LANES
