"""Where work runs: on the event loop if it is small, in a thread if it is large. How users share slots for it."""

import asyncio
import threading
from collections.abc import Hashable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fieldgate.assets.work_cost import THREAD_THRESHOLD, run_by_cost
from fieldgate.concurrency import (
    GIVEN_WAY_SECONDS,
    FairSlots,
    NoFreeSlot,
    OwnShareUsed,
    SharedCall,
    SharedSlots,
    SlotHolder,
    SlotShares,
    run_in_thread_if,
)
from fieldgate.runtime.outgoing_transfer import SLOW_BYTES_PER_SECOND, WINDOW_SECONDS, OutgoingTransfer


def _thread_and_arguments(*args: int, **kwargs: int) -> tuple[bool, tuple[int, ...], dict[str, int]]:
    return threading.current_thread() is threading.main_thread(), args, kwargs


async def test_small_work_runs_on_the_event_loop() -> None:
    assert await run_in_thread_if(False, _thread_and_arguments, 1, b=2) == (True, (1,), {"b": 2})


async def test_large_work_runs_in_a_thread() -> None:
    assert await run_in_thread_if(True, _thread_and_arguments, 1, b=2) == (False, (1,), {"b": 2})


@pytest.mark.parametrize("is_large", [False, True])
async def test_errors_reach_the_caller(is_large: bool) -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        await run_in_thread_if(is_large, int, "x")


async def test_callers_at_the_same_time_share_one_call() -> None:
    calls, done = 0, asyncio.Event()

    async def count() -> int:
        nonlocal calls
        calls += 1
        number = calls
        await done.wait()
        return number

    shared = SharedCall(count)
    waiting = [asyncio.create_task(shared()) for _ in range(5)]
    await settle()
    waiting[0].cancel()
    await settle()
    done.set()
    assert await asyncio.gather(*waiting[1:]) == [1, 1, 1, 1]
    assert waiting[0].cancelled()
    assert await shared() == 2


async def test_an_error_reaches_all_who_share_a_call() -> None:
    async def fail() -> None:
        raise ValueError

    shared = SharedCall(fail)
    found = await asyncio.gather(shared(), shared(), return_exceptions=True)
    assert [type(each) for each in found] == [ValueError, ValueError]


@pytest.mark.parametrize(("cost", "on_loop"), [(THREAD_THRESHOLD, True), (THREAD_THRESHOLD + 1, False)])
async def test_cost_of_assignments_decides(cost: int, on_loop: bool) -> None:
    assert (await run_by_cost(cost, _thread_and_arguments))[0] == on_loop


class SlotUser:
    """Takes slots, and can be told when to give each back."""

    def __init__(self, slots: FairSlots, name: Hashable, log: list[Hashable]) -> None:
        self._slots = slots
        self._name = name
        self._log = log

    async def run(self, done: asyncio.Event) -> None:
        async with self._slots.slot(self._name):
            self._log.append(self._name)
            await done.wait()


def fair_slots(slots: int = 2, **limits: float) -> FairSlots:
    chosen: dict[str, Any] = {"max_requests": 10, "max_per_user": 4, "wait_seconds": 60, **limits}
    return FairSlots(slots, **chosen)


async def settle() -> None:
    """Let all tasks run until they wait."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_users_take_turns() -> None:
    log: list[Hashable] = []
    slots, done = fair_slots(), [asyncio.Event() for _ in range(6)]
    tasks = []
    for name, event in zip("aaaabc", done, strict=True):
        tasks.append(asyncio.create_task(SlotUser(slots, name, log).run(event)))
        await settle()
    assert log == ["a", "b"], "a user has one slot only"
    done[4].set()
    await settle()
    assert log == ["a", "b", "c"], "who waits for others comes before the other requests of a user"
    for event in done:
        event.set()
    await asyncio.gather(*tasks)
    assert log == ["a", "b", "c", "a", "a", "a"]
    assert not slots._running
    assert not slots._waiting


@pytest.mark.parametrize(
    ("limits", "running", "refused"), [({"max_requests": 3}, "abd", "ac"), ({"max_per_user": 2}, "aab", "a")]
)
async def test_requests_are_limited(limits: dict[str, float], running: str, refused: str) -> None:
    log: list[Hashable] = []
    slots, done = fair_slots(2, **limits), asyncio.Event()
    tasks = [asyncio.create_task(SlotUser(slots, name, log).run(done)) for name in running]
    await settle()
    for name in refused:
        with pytest.raises(NoFreeSlot):
            await SlotUser(slots, name, log).run(done)
    done.set()
    await asyncio.gather(*tasks)
    await SlotUser(slots, "c", log).run(done)


async def test_waiting_is_limited() -> None:
    log: list[Hashable] = []
    slots, done = fair_slots(1, wait_seconds=0.01), asyncio.Event()
    task = asyncio.create_task(SlotUser(slots, "a", log).run(done))
    await settle()
    for name in "ab":
        with pytest.raises(NoFreeSlot):
            await SlotUser(slots, name, log).run(done)
    done.set()
    await task
    await SlotUser(slots, "b", log).run(done)
    assert log == ["a", "b"]


async def test_cancelled_request_leaves_no_trace() -> None:
    log: list[Hashable] = []
    slots, done = fair_slots(1), asyncio.Event()
    tasks = [asyncio.create_task(SlotUser(slots, name, log).run(done)) for name in "aab"]
    await settle()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    done.set()
    await SlotUser(slots, "b", log).run(done)
    assert log == ["a", "b"]
    assert not slots._running
    assert not slots._waiting


async def test_addresses_have_half_of_the_requests() -> None:
    slots = FairSlots(2, max_requests=4, max_per_user=2, wait_seconds=60)
    async with AsyncExitStack() as held:
        for number in range(2):
            await held.enter_async_context(slots.slot(SlotHolder(f"192.0.2.{number}", is_user=False)))
        with pytest.raises(NoFreeSlot):
            await held.enter_async_context(slots.slot(SlotHolder("192.0.2.9", is_user=False)))
        waiting = asyncio.create_task(held.enter_async_context(slots.slot(SlotHolder(1, is_user=True))))
        await asyncio.sleep(0)
        assert not waiting.done(), "a user can wait for a slot"
        waiting.cancel()


async def test_callers_with_many_requests_give_way_to_others() -> None:
    log: list[Hashable] = []
    slots, done = fair_slots(max_requests=8), asyncio.Event()
    many = [asyncio.create_task(SlotUser(slots, name, log).run(done)) for name in "aaaabbbb"]
    await settle()
    few = [asyncio.create_task(SlotUser(slots, name, log).run(done)) for name in "cdec"]
    await settle()
    refused = [number for number, task in enumerate(many) if task.done()]
    assert refused == [2, 3, 6, 7], "the last requests of those with most, in turn"
    assert all(isinstance(many[number].exception(), NoFreeSlot) for number in refused)
    for name in "abcd":
        result = await asyncio.gather(SlotUser(slots, name, log).run(done), return_exceptions=True)
        assert isinstance(result[0], NoFreeSlot), "nobody has two more than the user of the new request"
    done.set()
    await asyncio.gather(*(many[number] for number in (0, 1, 4, 5)), *few)
    assert log == list("abcdeabc")


async def test_a_replaced_request_that_is_cancelled_at_the_same_moment() -> None:
    log: list[Hashable] = []
    slots, done = fair_slots(1, max_requests=2), asyncio.Event()
    first, second = (asyncio.create_task(SlotUser(slots, "a", log).run(done)) for _ in range(2))
    await settle()
    other = asyncio.create_task(SlotUser(slots, "b", log).run(done))
    await asyncio.sleep(0)
    second.cancel()
    done.set()
    await asyncio.gather(first, other)
    assert second.cancelled()
    assert log == ["a", "b"]
    assert not slots._running
    assert not slots._waiting


async def test_requests_of_users_do_not_give_way_to_addresses() -> None:
    log: list[Hashable] = []
    slots, done = fair_slots(1, max_requests=5), asyncio.Event()
    holders = [USERS[0]] * 4 + [ADDRESSES[0]]
    tasks = [asyncio.create_task(SlotUser(slots, holder, log).run(done)) for holder in holders]
    await settle()
    with pytest.raises(NoFreeSlot):
        await SlotUser(slots, ADDRESSES[1], log).run(done)
    tasks.append(asyncio.create_task(SlotUser(slots, USERS[1], log).run(done)))
    await settle()
    assert [task.done() for task in tasks] == [False, False, False, True, False, False]
    done.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert log == [USERS[0], ADDRESSES[0], USERS[1], USERS[0], USERS[0]]


# Slots with shares

SHARES = SlotShares(total=4, per_user=2, per_address=2, reserved_for_users=1, wait_seconds=0, max_waiting=16)
ADDRESSES = [SlotHolder(f"192.0.2.{number}", is_user=False) for number in range(4)]
USERS = [SlotHolder(number, is_user=True) for number in range(4)]


@given(st.lists(st.tuples(st.sampled_from([*ADDRESSES, *USERS]), st.booleans()), max_size=60))
async def test_nobody_has_more_than_a_share(steps: list[tuple[SlotHolder, bool]]) -> None:
    """A request gets a slot exactly if its share, the slots for addresses, and all slots allow it."""
    slots = SharedSlots(SHARES)
    held: list[tuple[SlotHolder, AbstractAsyncContextManager[None]]] = []
    for holder, gives_back in steps:
        if gives_back and held:
            await held.pop(0)[1].__aexit__(None, None, None)
            continue
        own = sum(other == holder for other, _ in held)
        by_addresses = sum(not other.is_user for other, _ in held)
        may_have = len(held) < 4 and own < 2 and (holder.is_user or by_addresses < 3)
        slot = slots.slot(holder)
        if may_have:
            await slot.__aenter__()
            held.append((holder, slot))
        else:
            with pytest.raises(OwnShareUsed if own == 2 else NoFreeSlot):
                await slot.__aenter__()
    for _, last in held:
        await last.__aexit__(None, None, None)


async def test_a_request_waits_for_a_slot() -> None:
    slots = SharedSlots(replace(SHARES, wait_seconds=60))
    async with AsyncExitStack() as first:
        for _ in range(2):
            await first.enter_async_context(slots.slot(ADDRESSES[0]))
        log: list[str] = []

        async def take(holder: SlotHolder, name: str) -> None:
            async with slots.slot(holder):
                log.append(name)

        waiting = asyncio.create_task(take(ADDRESSES[0], "same address"))
        await asyncio.sleep(0)
        await take(USERS[0], "a user")
        await take(ADDRESSES[1], "another address")
        assert log == ["a user", "another address"]
    await waiting
    assert log[-1] == "same address"


async def test_a_cancelled_wait_leaves_nothing_behind() -> None:
    slots = SharedSlots(replace(SHARES, wait_seconds=60, total=1, reserved_for_users=0))

    async def take() -> None:
        async with slots.slot(USERS[1]):
            await asyncio.Event().wait()

    async with slots.slot(USERS[0]):
        waiting = asyncio.create_task(take())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])
    granted_late = asyncio.create_task(take())
    async with asyncio.timeout(60):
        while not slots._held[USERS[1]]:
            await asyncio.sleep(0)
    granted_late.cancel()
    await asyncio.wait([granted_late])
    async with slots.slot(USERS[2]):
        pass


async def test_few_requests_wait() -> None:
    slots = SharedSlots(replace(SHARES, wait_seconds=60, total=1, reserved_for_users=0, max_waiting=1))
    async with slots.slot(USERS[0]):
        waiting = asyncio.create_task(slots.slot(USERS[1]).__aenter__())
        await asyncio.sleep(0)
        with pytest.raises(NoFreeSlot):
            await slots.slot(USERS[2]).__aenter__()
        waiting.cancel()
        await asyncio.wait([waiting])


# Slow transfers give way


class SlotTable:
    """Slots with transfers, and a clock that is set by hand."""

    def __init__(self, **shares: float) -> None:
        self.now = 1000.0
        self.gave_way: list[SlotHolder] = []
        self.slots = SharedSlots(
            replace(SHARES, **{"wait_seconds": 60, **shares}),
            lambda holder, _: self.gave_way.append(holder),
            self.clock,
        )
        self.tasks: dict[SlotHolder, list[asyncio.Task[None]]] = {}

    def clock(self) -> float:
        return self.now

    async def start(self, holder: SlotHolder, rate: float = 0.0) -> asyncio.Task[None]:
        """Ask for a slot, and read at a rate for as long as it takes to be found slow, once it is there."""
        task = asyncio.create_task(self._hold(holder, rate))
        await settle()
        return task

    async def _hold(self, holder: SlotHolder, rate: float) -> None:
        transfer = OutgoingTransfer(self.clock)
        async with self.slots.slot(holder, transfer):
            transfer.begin_part(int(rate * WINDOW_SECONDS))
            while not transfer.is_broken_off:
                await asyncio.sleep(0)
        raise ConnectionAbortedError

    async def leave_after(self, holder: SlotHolder, rate: float, seconds: int) -> None:
        """Buffers take a large part at once. Then the client reads at a rate, and resets the connection."""
        transfer = OutgoingTransfer(self.clock)
        async with self.slots.slot(holder, transfer):
            transfer.begin_part(4 * 1024 * 1024)
            for _ in range(seconds):
                self.now += 1
                if rate:
                    transfer.end_part()
                    transfer.begin_part(int(rate))
            raise ConnectionResetError

    def has_slot(self, holder: SlotHolder) -> bool:
        return self.slots._held[holder] > 0

    async def end(self, *tasks: asyncio.Task[None]) -> None:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await settle()
        assert not self.slots._held
        assert not self.slots._slots
        assert not self.slots._waiting


async def test_the_slowest_gives_way_to_a_new_holder() -> None:
    table = SlotTable()
    tasks = [await table.start(ADDRESSES[number], rate) for number, rate in enumerate((900, 100, 500))]
    table.now += WINDOW_SECONDS
    tasks.append(await table.start(ADDRESSES[3]))
    assert table.gave_way == [ADDRESSES[1]]
    assert isinstance(tasks[1].exception(), ConnectionAbortedError)
    assert [table.has_slot(each) for each in ADDRESSES] == [True, False, True, True]
    await table.end(*tasks)


async def test_nobody_gives_way_at_first_or_with_a_usual_rate() -> None:
    table = SlotTable(wait_seconds=0)
    tasks = [await table.start(each, 2 * SLOW_BYTES_PER_SECOND) for each in ADDRESSES[:2]]
    table.now += WINDOW_SECONDS
    tasks.append(await table.start(ADDRESSES[2]))
    refused = await table.start(ADDRESSES[3])
    assert isinstance(refused.exception(), NoFreeSlot)
    assert not table.gave_way
    await table.end(*tasks)


async def test_nobody_gives_way_to_somebody_with_a_slot() -> None:
    table = SlotTable()
    tasks = [await table.start(each) for each in ADDRESSES[:3]]
    table.now += WINDOW_SECONDS
    tasks.append(await table.start(ADDRESSES[0]))
    assert not table.gave_way
    await table.end(*tasks)


async def test_an_address_does_not_get_the_slot_that_is_left_for_users() -> None:
    table = SlotTable()
    tasks = [await table.start(USERS[0])]
    tasks += [await table.start(each, 2 * SLOW_BYTES_PER_SECOND) for each in ADDRESSES[:3]]
    table.now += WINDOW_SECONDS
    tasks.append(await table.start(ADDRESSES[3]))
    assert not table.gave_way, "that would not help"
    tasks.append(await table.start(USERS[1]))
    assert table.gave_way == [USERS[0]]
    await table.end(*tasks)


async def test_slow_users_give_way_to_addresses() -> None:
    table = SlotTable()
    tasks = [await table.start(user) for user in (USERS[0], USERS[0], USERS[1], USERS[1])]
    table.now += WINDOW_SECONDS
    tasks.append(await table.start(ADDRESSES[0]))
    assert len(table.gave_way) == 1
    assert table.has_slot(ADDRESSES[0])
    await table.end(*tasks)


async def test_one_gives_way_for_each_that_waits() -> None:
    table = SlotTable(per_address=1)
    tasks = [await table.start(each) for each in ADDRESSES[:3]]
    table.now += WINDOW_SECONDS
    others = [SlotHolder(f"198.51.100.{number}", is_user=False) for number in range(2)]
    tasks += await asyncio.gather(*(table.start(each) for each in others))
    assert len(table.gave_way) == 2
    assert all(map(table.has_slot, others))
    await table.end(*tasks)


async def test_those_that_gave_way_come_last() -> None:
    table = SlotTable(total=1, reserved_for_users=0)
    tasks = [await table.start(ADDRESSES[0])]
    table.now += WINDOW_SECONDS
    tasks.append(await table.start(ADDRESSES[1], 2 * SLOW_BYTES_PER_SECOND))
    assert table.gave_way == [ADDRESSES[0]]
    again, new = await table.start(ADDRESSES[0]), await table.start(ADDRESSES[2])
    tasks[1].cancel()
    await settle()
    assert table.has_slot(ADDRESSES[2])
    table.now += WINDOW_SECONDS
    await settle()
    assert table.gave_way == [ADDRESSES[0]], "nobody gives way to them"
    table.now += GIVEN_WAY_SECONDS
    tasks.append(await table.start(ADDRESSES[3]))
    assert table.gave_way == [ADDRESSES[0], ADDRESSES[2]]
    assert table.has_slot(ADDRESSES[0]), "after some minutes they are like others: the first that waits"
    await table.end(*tasks, again, new)


async def test_those_that_gave_way_leave_their_place_to_others() -> None:
    table = SlotTable(total=1, reserved_for_users=0, max_waiting=2)
    tasks = [await table.start(ADDRESSES[0])]
    table.now += WINDOW_SECONDS
    tasks.append(await table.start(ADDRESSES[1], 2 * SLOW_BYTES_PER_SECOND))
    again = await table.start(ADDRESSES[0])
    waiting = await table.start(ADDRESSES[2])
    assert isinstance(again.exception(), NoFreeSlot)
    assert isinstance((await table.start(ADDRESSES[3])).exception(), NoFreeSlot), "addresses have half of the places"
    user = await table.start(USERS[0])
    assert not user.done(), "a user can still wait"
    await table.end(*tasks, waiting, user)


@pytest.mark.parametrize(("rate", "comes_last"), [(0.0, True), (2.0 * SLOW_BYTES_PER_SECOND, False)])
async def test_those_that_leave_early_and_read_nothing_come_last(rate: float, comes_last: bool) -> None:
    table = SlotTable(total=1, reserved_for_users=0)
    left = asyncio.create_task(table.leave_after(ADDRESSES[0], rate, seconds=WINDOW_SECONDS - 2))
    await asyncio.gather(left, return_exceptions=True)
    assert isinstance(left.exception(), ConnectionResetError)
    running = await table.start(ADDRESSES[1], 2 * SLOW_BYTES_PER_SECOND)
    again, new = await table.start(ADDRESSES[0]), await table.start(ADDRESSES[2])
    running.cancel()
    await settle()
    assert table.has_slot(ADDRESSES[2]) == comes_last
    await table.end(running, again, new)
