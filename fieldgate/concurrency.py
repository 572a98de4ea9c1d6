"""Long computations: they run in a thread or take turns, so that the service can handle other requests meanwhile."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Hashable
from contextlib import asynccontextmanager
from time import monotonic
from typing import Any, Generic, NamedTuple, ParamSpec, Protocol, TypeVar

import msgspec

from fieldgate.cache import BoundedCache

LOOK_INTERVAL_SECONDS = 1.0  # how often those that wait look for a slow one
GIVEN_WAY_SECONDS = 10 * 60  # how long others come before a holder that gave way
MAX_GIVEN_WAY = 4096  # holders that are remembered

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
    the requests at most. When no more can wait, the last request of the user with most gives way to those with fewer.
    """

    def __init__(self, slots: int, *, max_requests: int, max_per_user: int, wait_seconds: float) -> None:
        self._slots = slots
        self._max_requests = max_requests
        self._max_per_user = max_per_user
        self._wait_seconds = wait_seconds
        self._running: set[Hashable] = set()  # users
        self._waiting: dict[Hashable, list[asyncio.Future[None]]] = {}  # users in the order of their turns

    @asynccontextmanager
    async def slot(self, user: Hashable) -> AsyncIterator[None]:
        """Wait for a slot and hold it until the block ends. Raise `NoFreeSlot`."""
        self._take_place(user)
        await self._wait_for_turn(user)
        try:
            yield
        finally:
            self._release(user)

    def _take_place(self, user: Hashable) -> None:
        """Make sure that the user can wait, or raise `NoFreeSlot`. Requests of users never give way to addresses."""
        requests = Counter({each: len(futures) for each, futures in self._waiting.items()})
        requests.update(self._running)
        if requests[user] >= self._max_per_user:
            raise NoFreeSlot
        is_full, rivals = requests.total() >= self._max_requests, requests
        if _is_anonymous(user):
            rivals = Counter({each: count for each, count in requests.items() if _is_anonymous(each)})
            is_full = is_full or rivals.total() >= self._max_requests // 2
        if not is_full:
            return
        for largest, count in rivals.most_common(1):
            if requests[user] + 1 < count:  # otherwise the two would replace each other's requests
                self._pop_waiting(largest, -1).set_exception(NoFreeSlot())
                return
        raise NoFreeSlot

    async def _wait_for_turn(self, user: Hashable) -> None:
        if user not in self._running and len(self._running) < self._slots:
            self._running.add(user)
            return
        future = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(user, []).append(future)
        try:
            await asyncio.wait([future], timeout=self._wait_seconds)
        except BaseException:
            self._stop_waiting(user, future)
            raise
        if not future.done():
            self._stop_waiting(user, future)
            raise NoFreeSlot
        future.result()

    def _stop_waiting(self, user: Hashable, future: asyncio.Future[None]) -> None:
        if not future.done():
            self._pop_waiting(user, self._waiting[user].index(future))
        elif future.exception() is None:  # the slot came at the same moment
            self._release(user)

    def _pop_waiting(self, user: Hashable, index: int) -> asyncio.Future[None]:
        future = self._waiting[user].pop(index)
        if not self._waiting[user]:
            del self._waiting[user]
        return future

    def _release(self, user: Hashable) -> None:
        self._running.remove(user)
        if user in self._waiting:
            self._waiting[user] = self._waiting.pop(user)  # after all others
        free = self._slots - len(self._running)
        for next_user in [each for each in self._waiting if each not in self._running][:free]:
            self._running.add(next_user)
            self._pop_waiting(next_user, 0).set_result(None)


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


class MeasuredTransfer(Protocol):
    """What a client reads while a slot is held for it."""

    @property
    def is_slow(self) -> bool: ...

    @property
    def was_left_slow(self) -> bool: ...

    @property
    def rate(self) -> float: ...

    def break_off(self) -> None: ...


class _Slot(msgspec.Struct, eq=False):
    holder: SlotHolder
    transfer: MeasuredTransfer | None
    gives_way: bool = False


class _Waiter(NamedTuple):
    holder: SlotHolder
    future: asyncio.Future[None]


class SharedSlots:
    """A limited number of slots for long work, with shares, so that nobody can have all of them.

    A request waits a short time for a slot. If its holder has none, the slowest transfer gives way, if there is a slow
    one. Those without a slot are served first, and those that gave way lately last. Who left unfinished and was slow
    counts as one that gave way.
    """

    def __init__(
        self,
        shares: SlotShares,
        on_give_way: Callable[[SlotHolder, MeasuredTransfer], None] = lambda _, __: None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._shares = shares
        self._on_give_way = on_give_way
        self._clock = clock
        self._held = Counter[SlotHolder]()
        self._slots: set[_Slot] = set()
        self._waiting: list[_Waiter] = []
        self._given_way = BoundedCache[SlotHolder, float](MAX_GIVEN_WAY)

    @asynccontextmanager
    async def slot(self, holder: SlotHolder, transfer: MeasuredTransfer | None = None) -> AsyncIterator[None]:
        """Hold a slot until the block ends. Raise `NoFreeSlot`. Without a transfer it never gives way."""
        await self._acquire(holder)
        slot = _Slot(holder, transfer)
        self._slots.add(slot)
        try:
            yield
        except BaseException:
            if transfer is not None and transfer.was_left_slow:
                self._given_way.put(holder, self._clock())
            raise
        finally:
            self._slots.discard(slot)
            self._release(holder)

    def _fits(self, holder: SlotHolder) -> bool:
        return (
            not self._uses_own_share(holder)
            and self._held.total() < self._shares.total
            and (holder.is_user or not self._addresses_have_all())
        )

    def _uses_own_share(self, holder: SlotHolder) -> bool:
        return self._held[holder] >= (self._shares.per_user if holder.is_user else self._shares.per_address)

    def _addresses_have_all(self) -> bool:
        held = sum(count for holder, count in self._held.items() if not holder.is_user)
        return held >= self._shares.total - self._shares.reserved_for_users

    async def _acquire(self, holder: SlotHolder) -> None:
        if self._fits(holder):
            self._held[holder] += 1
            return
        if not self._shares.total:
            raise NoFreeSlot
        # A holder waits with one request at most for each slot of its share.
        if sum(other.holder == holder for other in self._waiting) >= max(1, self._held[holder]):
            raise self._refusal(holder)
        self._take_place(holder)
        waiter = _Waiter(holder, asyncio.get_running_loop().create_future())
        self._waiting.append(waiter)
        try:
            async with asyncio.timeout(self._shares.wait_seconds):
                while not waiter.future.done():
                    self._make_room(holder)
                    await asyncio.wait([waiter.future], timeout=LOOK_INTERVAL_SECONDS)
        except BaseException as error:
            if waiter in self._waiting:
                self._waiting.remove(waiter)
            elif waiter.future.exception() is None:  # the slot came at the same moment
                self._release(holder)
            if isinstance(error, TimeoutError):
                raise self._refusal(holder) from None
            raise
        waiter.future.result()

    def _refusal(self, holder: SlotHolder) -> NoFreeSlot:
        return OwnShareUsed(self._held[holder]) if self._uses_own_share(holder) else NoFreeSlot()

    def _take_place(self, holder: SlotHolder) -> None:
        """Make sure that the holder can wait, or raise `NoFreeSlot`. Addresses have half of the places."""
        rivals = self._waiting
        places = self._shares.max_waiting
        if not holder.is_user:
            rivals = [waiter for waiter in rivals if not waiter.holder.is_user]
            places = max(1, places // 2)
        if len(rivals) < places:
            return
        last = max(rivals, key=lambda waiter: self._rank(waiter.holder))
        if self._rank(last.holder) <= self._rank(holder):
            raise self._refusal(holder)
        self._waiting.remove(last)
        last.future.set_exception(NoFreeSlot())

    def _rank(self, holder: SlotHolder) -> tuple[bool, int]:
        """Lower ranks are served first."""
        return self._gave_way_lately(holder), self._held[holder]

    def _gave_way_lately(self, holder: SlotHolder) -> bool:
        given_way_at = self._given_way.get(holder)
        return given_way_at is not None and self._clock() < given_way_at + GIVEN_WAY_SECONDS

    def _make_room(self, holder: SlotHolder) -> None:
        """Break off the slowest transfer, if that helps somebody who has no slot and did not give way lately."""
        if any(self._rank(holder)):
            return
        leaving = sum(slot.gives_way for slot in self._slots)
        if leaving >= sum(not any(self._rank(waiter.holder)) for waiter in self._waiting):
            return
        only_addresses = not holder.is_user and self._addresses_have_all()
        slow = [
            (slot.transfer.rate, number, slot, slot.transfer)
            for number, slot in enumerate(self._slots)
            if slot.transfer is not None
            and not slot.gives_way
            and not (only_addresses and slot.holder.is_user)
            and slot.transfer.is_slow
        ]
        if slow:
            _, _, slot, transfer = min(slow)
            slot.gives_way = True
            self._given_way.put(slot.holder, self._clock())
            self._on_give_way(slot.holder, transfer)
            transfer.break_off()

    def _release(self, holder: SlotHolder) -> None:
        self._held[holder] -= 1
        if not self._held[holder]:
            del self._held[holder]
        while fitting := [waiter for waiter in self._waiting if self._fits(waiter.holder)]:
            first = min(fitting, key=lambda waiter: self._rank(waiter.holder))
            self._waiting.remove(first)
            self._held[first.holder] += 1
            first.future.set_result(None)
