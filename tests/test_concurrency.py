"""Where work runs: on the event loop if it is small, in a thread if it is large. How users share slots for it."""

import asyncio
import threading
from typing import Any

import pytest

from fieldgate.assets.work_cost import THREAD_THRESHOLD, run_by_cost
from fieldgate.concurrency import FairSlots, NoFreeSlot, run_in_thread_if


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
