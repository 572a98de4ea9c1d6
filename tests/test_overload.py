"""Slots: how many there are in all and for each caller, turns, and refusals."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from fieldgate.errors import ServiceUnavailable
from fieldgate.overload import Slots


async def wait_for_slot(slots: Slots, caller: str, order: list[str]) -> None:
    async with slots.slot(caller):
        order.append(caller)


async def waiting(slots: Slots, count: int) -> None:
    while sum(map(len, slots._waiting.values())) < count:
        await asyncio.sleep(0)


async def test_callers_take_turns() -> None:
    slots = Slots(1, 1)
    order: list[str] = []
    async with asyncio.TaskGroup() as tasks, slots.slot("first"):
        for caller in ("many", "many", "many", "few", "other"):
            tasks.create_task(wait_for_slot(slots, caller, order))
        await waiting(slots, 5)
    assert order == ["many", "few", "other", "many", "many"]


async def test_a_caller_has_a_share_of_the_slots() -> None:
    slots = Slots(3, 2)
    order: list[str] = []
    async with asyncio.TaskGroup() as tasks, slots.slot("many"), slots.slot("many"):
        third = tasks.create_task(wait_for_slot(slots, "many", order))
        await waiting(slots, 1)
        await wait_for_slot(slots, "other", order)
        assert not third.done()
    assert order == ["other", "many"]


async def test_refusals() -> None:
    slots = Slots(1, 1, max_waiting_per_caller=1, wait_seconds=0)
    async with slots.slot("first"):
        with pytest.raises(ServiceUnavailable):
            await wait_for_slot(slots, "late", [])
    slots = Slots(1, 1, max_waiting_per_caller=1)
    async with asyncio.TaskGroup() as tasks, slots.slot("first"):
        patient = tasks.create_task(wait_for_slot(slots, "many", []))
        await waiting(slots, 1)
        with pytest.raises(ServiceUnavailable):
            await wait_for_slot(slots, "many", [])
        patient.cancel()


@pytest.mark.parametrize("is_granted", [False, True])
async def test_a_cancelled_caller_leaves_no_trace(is_granted: bool) -> None:
    slots = Slots(1, 1)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(slots.slot("first"))
        cancelled = asyncio.create_task(wait_for_slot(slots, "second", []))
        await waiting(slots, 1)
        if is_granted:
            await stack.aclose()
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
    assert (slots._waiting, slots._held) == ({}, {})
    async with slots.slot("third"):
        pass


async def test_an_error_frees_the_slot() -> None:
    slots = Slots(1, 1, wait_seconds=0)
    with pytest.raises(ZeroDivisionError):
        async with slots.slot("first"):
            raise ZeroDivisionError
    async with slots.slot("second"):
        pass
