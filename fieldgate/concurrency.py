"""Long computations: they run in a thread or take turns, so that the service can handle other requests meanwhile."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager
from typing import ParamSpec, TypeVar

Params = ParamSpec("Params")
Result = TypeVar("Result")


async def run_in_thread_if(
    is_large: bool, work: Callable[Params, Result], *args: Params.args, **kwargs: Params.kwargs
) -> Result:
    """Run a function in a thread if the input is large, otherwise at once.

    Small inputs take less time than the switch to a thread and back.
    """
    if is_large:
        return await asyncio.to_thread(work, *args, **kwargs)
    return work(*args, **kwargs)


class NoFreeSlot(Exception):
    """Too many computations are waiting, or it took too long until one could begin."""


class FairSlots:
    """A limited number of slots for computations. Users take turns.

    A user has one slot at most, and waits with one request at most for a slot that others have: the user's other
    requests wait behind it.
    """

    def __init__(self, slots: int, *, max_requests: int, max_per_user: int, wait_seconds: float) -> None:
        self._slots = asyncio.Semaphore(slots)
        self._max_requests = max_requests
        self._max_per_user = max_per_user
        self._wait_seconds = wait_seconds
        self._requests = Counter[Hashable]()  # running or waiting, by user
        self._turns: defaultdict[Hashable, asyncio.Lock] = defaultdict(asyncio.Lock)

    @asynccontextmanager
    async def slot(self, user: Hashable) -> AsyncIterator[None]:
        """Wait for a slot and hold it until the block ends. Raise `NoFreeSlot`."""
        if self._requests.total() >= self._max_requests or self._requests[user] >= self._max_per_user:
            raise NoFreeSlot
        self._requests[user] += 1
        try:
            await self._wait_for_turn(user)
            try:
                yield
            finally:
                self._slots.release()
                self._turns[user].release()
        finally:
            self._requests[user] -= 1
            if not self._requests[user]:
                del self._requests[user]
                self._turns.pop(user, None)

    async def _wait_for_turn(self, user: Hashable) -> None:
        try:
            async with asyncio.timeout(self._wait_seconds):
                await self._turns[user].acquire()
                try:
                    await self._slots.acquire()
                except BaseException:
                    self._turns[user].release()
                    raise
        except TimeoutError:
            raise NoFreeSlot from None
