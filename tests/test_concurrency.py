"""Where work runs: on the event loop if it is small, in a thread if it is large. How users share slots for it."""

import asyncio
import threading
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fieldgate.assets.work_cost import THREAD_THRESHOLD, run_by_cost
from fieldgate.concurrency import (
    FairSlots,
    NoFreeSlot,
    OwnShareUsed,
    SharedCall,
    SharedSlots,
    SlotHolder,
    SlotShares,
    run_in_thread_if,
)


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

    def __init__(self, slots: FairSlots, name: str, log: list[str]) -> None:
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
    log: list[str] = []
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
    assert not slots._requests
    assert not slots._turns


async def test_requests_are_limited() -> None:
    log: list[str] = []
    slots, done = fair_slots(max_requests=3, max_per_user=2), asyncio.Event()
    tasks = [asyncio.create_task(SlotUser(slots, name, log).run(done)) for name in "aab"]
    await settle()
    for name in "ac":
        with pytest.raises(NoFreeSlot):
            await SlotUser(slots, name, log).run(done)
    done.set()
    await asyncio.gather(*tasks)
    await SlotUser(slots, "c", log).run(done)


async def test_waiting_is_limited() -> None:
    log: list[str] = []
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
    log: list[str] = []
    slots, done = fair_slots(1), asyncio.Event()
    tasks = [asyncio.create_task(SlotUser(slots, name, log).run(done)) for name in "aab"]
    await settle()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    done.set()
    await SlotUser(slots, "b", log).run(done)
    assert log == ["a", "b"]
    assert not slots._requests


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
