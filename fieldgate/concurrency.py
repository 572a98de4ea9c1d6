"""Long computations: they run in a thread or take turns, so that the service can handle other requests meanwhile."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Coroutine, Hashable
from contextlib import asynccontextmanager
from typing import Any, Generic, NamedTuple, ParamSpec, TypeVar

import msgspec

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


class SharedCall(Generic[Result]):
    """A function without arguments. Callers that wait at the same time share one call of it."""

    def __init__(self, function: Callable[[], Coroutine[Any, Any, Result]]) -> None:
        self._function = function
        self._running: asyncio.Task[Result] | None = None

    async def __call__(self) -> Result:
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._function())
        # A caller that is cancelled does not take the result from the others.
        return await asyncio.shield(self._running)


class NoFreeSlot(Exception):
    """Too many computations are waiting, or it took too long until one could begin."""


class SlotHolder(NamedTuple):
    """Who asks for a slot: a user, or an address without credentials."""

    key: Hashable
    is_user: bool


def _is_anonymous(user: Hashable) -> bool:
    return isinstance(user, SlotHolder) and not user.is_user


class FairSlots:
    """A limited number of slots for computations. Users take turns.

    A user has one slot at most, and waits with one request at most for a slot that others have: the user's other
    requests wait behind it. An address without credentials counts as a user. All such addresses together have half of
    the requests at most.
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
        if _is_anonymous(user) and self._anonymous_requests() >= self._max_requests // 2:
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

    def _anonymous_requests(self) -> int:
        return sum(count for user, count in self._requests.items() if _is_anonymous(user))

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


class SlotShares(msgspec.Struct, frozen=True, kw_only=True):
    """How many slots there are, and how many each holder can have."""

    total: int
    per_user: int
    per_address: int
    reserved_for_users: int
    wait_seconds: float
    max_waiting: int


class OwnShareUsed(NoFreeSlot):
    """The holder has all the slots that it can have. `count` is their number."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count


class SharedSlots:
    """A limited number of slots for long work, with shares, so that nobody can have all of them.

    A request waits a short time for a slot. Those that came first are served first, unless their share is used up.
    """

    def __init__(self, shares: SlotShares) -> None:
        self._shares = shares
        self._held = Counter[SlotHolder]()
        self._waiting: list[tuple[SlotHolder, asyncio.Future[None]]] = []

    @asynccontextmanager
    async def slot(self, holder: SlotHolder) -> AsyncIterator[None]:
        """Hold a slot until the block ends. Raise `NoFreeSlot`."""
        await self._acquire(holder)
        try:
            yield
        finally:
            self._release(holder)

    def _fits(self, holder: SlotHolder) -> bool:
        return (
            not self._uses_own_share(holder)
            and self._held.total() < self._shares.total
            and (holder.is_user or self._held_by_addresses() < self._shares.total - self._shares.reserved_for_users)
        )

    def _uses_own_share(self, holder: SlotHolder) -> bool:
        return self._held[holder] >= (self._shares.per_user if holder.is_user else self._shares.per_address)

    def _held_by_addresses(self) -> int:
        return sum(count for holder, count in self._held.items() if not holder.is_user)

    async def _acquire(self, holder: SlotHolder) -> None:
        if self._fits(holder):
            self._held[holder] += 1
            return
        if not self._shares.total or len(self._waiting) >= self._shares.max_waiting:
            raise NoFreeSlot
        # A holder waits with one request at most for each slot of its share.
        if sum(other == holder for other, _ in self._waiting) >= max(1, self._held[holder]):
            raise self._refusal(holder)
        waiter = (holder, asyncio.get_running_loop().create_future())
        self._waiting.append(waiter)
        try:
            async with asyncio.timeout(self._shares.wait_seconds):
                await waiter[1]
        except BaseException as error:
            if waiter in self._waiting:
                self._waiting.remove(waiter)
            else:  # the slot came at the same moment
                self._release(holder)
            if isinstance(error, TimeoutError):
                raise self._refusal(holder) from None
            raise

    def _refusal(self, holder: SlotHolder) -> NoFreeSlot:
        return OwnShareUsed(self._held[holder]) if self._uses_own_share(holder) else NoFreeSlot()

    def _release(self, holder: SlotHolder) -> None:
        self._held[holder] -= 1
        if not self._held[holder]:
            del self._held[holder]
        for waiter in list(self._waiting):
            other, future = waiter
            if self._fits(other):
                self._waiting.remove(waiter)
                self._held[other] += 1
                future.set_result(None)
