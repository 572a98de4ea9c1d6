"""Bounds on work, so that nobody can use up the service.

A slot belongs to its caller until the work has ended. Who has to wait for too long is answered with 503.
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager

from fieldgate.errors import ServiceUnavailable

WAIT_SECONDS = 5.0
MAX_WAITING_PER_CALLER = 50  # a browser that opens many tabs, or an office without accounts


class Slots:
    """A number of slots for work in all, and for each caller. Callers who wait take turns."""

    def __init__(
        self,
        total: int,
        per_caller: int,
        *,
        max_waiting_per_caller: int = MAX_WAITING_PER_CALLER,
        wait_seconds: float = WAIT_SECONDS,
    ) -> None:
        self._total = total
        self._per_caller = per_caller
        self._max_waiting = max_waiting_per_caller
        self._wait_seconds = wait_seconds
        self._held = Counter[Hashable]()
        self._waiting: dict[Hashable, deque[asyncio.Future[None]]] = {}  # callers in the order of their turns

    @asynccontextmanager
    async def slot(self, caller: Hashable) -> AsyncIterator[None]:
        """Hold a slot until the block ends. Raise `ServiceUnavailable` if it takes too long to get one."""
        if caller not in self._waiting and self._fits(caller):
            self._held[caller] += 1
        else:
            await self._wait(caller)
        try:
            yield
        finally:
            self._release(caller)

    def _fits(self, caller: Hashable) -> bool:
        return self._held[caller] < self._per_caller and self._held.total() < self._total

    async def _wait(self, caller: Hashable) -> None:
        if len(self._waiting.get(caller, ())) >= self._max_waiting:
            raise ServiceUnavailable
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(caller, deque()).append(turn)
        try:
            await asyncio.wait([turn], timeout=self._wait_seconds)
        except BaseException:
            self._give_up(caller, turn)
            raise
        if not turn.done():
            self._give_up(caller, turn)
            raise ServiceUnavailable

    def _give_up(self, caller: Hashable, turn: asyncio.Future[None]) -> None:
        if turn.done():  # the slot came at the same moment
            self._release(caller)
            return
        self._waiting[caller].remove(turn)
        if not self._waiting[caller]:
            del self._waiting[caller]

    def _release(self, caller: Hashable) -> None:
        self._held[caller] -= 1
        if not self._held[caller]:
            del self._held[caller]
        while next_caller := next((each for each in self._waiting if self._fits(each)), None):
            turns = self._waiting.pop(next_caller)
            turns.popleft().set_result(None)
            self._held[next_caller] += 1
            if turns:
                self._waiting[next_caller] = turns  # after all others
