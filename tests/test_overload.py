"""Bounds on work: slots and their turns, bytes, requests in work, and clients that do not go on."""

import asyncio
import threading
from contextlib import AsyncExitStack
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldgate.errors import ServiceUnavailable
from fieldgate.http.operations import Routes
from fieldgate.i18n.messages import Message
from fieldgate.identity import Scope
from fieldgate.overload import (
    MAX_WHOLE_BYTES,
    PART_BYTES,
    NoProgress,
    Overload,
    Slots,
    run_in_thread,
)
from tests.conftest import StartService


async def wait_for_slot(slots: Slots, caller: str, order: list[str]) -> None:
    async with slots.slot(caller):
        order.append(caller)


async def waiting(slots: Slots, count: int) -> None:
    while sum(map(len, slots._waiting.values())) < count:
        await asyncio.sleep(0)


async def test_callers_take_turns_and_those_with_fewest_requests_come_first() -> None:
    slots = Slots(1, 1)
    order: list[str] = []
    async with asyncio.TaskGroup() as tasks, slots.slot("first"):
        for caller in ("many", "many", "many", "pair", "pair", "few", "other"):
            tasks.create_task(wait_for_slot(slots, caller, order))
        await waiting(slots, 7)
    assert order == ["few", "other", "pair", "pair", "many", "many", "many"]


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


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 120), st.booleans()), max_size=40))
async def test_bytes_never_exceed_their_limits(steps: list[tuple[str, int, bool]]) -> None:
    slots = Slots(100, 50, wait_seconds=0)
    held: list[tuple[str, int]] = []
    for caller, size, is_released in steps:
        try:
            held.append((caller, await slots.acquire(caller, size)))
        except ServiceUnavailable:
            assert held
        if is_released and held:
            slots.release(*held.pop(0))
        assert slots._used == sum(size for _, size in held) <= 100
        assert all(used <= 50 for used in slots._held.values())
    for each in held:
        slots.release(*each)
    assert (slots._used, slots._waiting) == (0, {})


async def test_refusals_have_a_message() -> None:
    slots = Slots(
        0,
        1,
        wait_seconds=0,
        refusal=Message("Too many uploads are in progress. Try again in a few seconds."),
    )
    with pytest.raises(ServiceUnavailable, match="uploads"):
        await slots.acquire("a", 1)


# Threads


async def test_a_cancelled_caller_keeps_its_slot_until_its_thread_has_ended() -> None:
    slots = Slots(1, 1)
    has_started, may_end = threading.Event(), threading.Event()

    def work() -> None:
        has_started.set()
        may_end.wait()

    async def run() -> None:
        async with slots.slot("a"):
            await run_in_thread(work)

    task = asyncio.create_task(run())
    await asyncio.to_thread(has_started.wait)
    task.cancel()
    await asyncio.wait([task], timeout=0.01)
    assert slots._held["a"] == 1
    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not slots._held


# Requests and clients


async def test_too_many_requests_in_work(start: StartService) -> None:
    entered, finish = asyncio.Event(), asyncio.Event()

    @Routes(tag="x", scope=Scope.NONE).get(
        "/slow/", response=dict[str, str], title=Message("Slow"), description=Message("Slow.")
    )
    async def slow() -> dict[str, str]:
        entered.set()
        await finish.wait()
        return {}

    async with start(slow, max_requests_in_flight=1) as service:
        first = asyncio.create_task(service.get("/slow/"))
        await entered.wait()
        refused = await service.get("/api/v2/permissions/")
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "5")
        assert (await service.get("/healthz")).status_code == 200
        assert (await service.get("/readyz")).status_code == 200
        finish.set()
        assert (await first).status_code == 200
        assert (await service.get("/api/v2/permissions/")).status_code == 200
        assert service.app.app_context.overload.requests == 0


async def test_requests_that_wait_for_their_client_do_not_count() -> None:
    overload = Overload(1, 1)
    overload.requests = 2
    arrived = asyncio.Event()
    waiting = asyncio.create_task(overload.wait_for_client(arrived.wait()))
    while overload.requests > 1:
        await asyncio.sleep(0)
    overload.check_requests()
    arrived.set()
    await waiting
    with pytest.raises(ServiceUnavailable):
        overload.check_requests()


async def test_a_client_without_progress_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fieldgate.overload.NO_PROGRESS_SECONDS", 0)
    overload = Overload(1, 1)
    with pytest.raises(NoProgress):
        await overload.wait_for_client(asyncio.Event().wait())
    assert overload.requests == 0


@pytest.mark.parametrize("has_more", [False, True])
@pytest.mark.parametrize("size", [MAX_WHOLE_BYTES, MAX_WHOLE_BYTES + 1, 5 * PART_BYTES])
async def test_large_bodies_are_sent_in_parts(size: int, has_more: bool) -> None:
    sent: list[Any] = []

    async def send(event: Any) -> None:
        sent.append(event)

    body = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    event = {"type": "http.response.body", "body": body, "more_body": has_more}
    await Overload(1, 1).in_parts(send)(event)
    assert b"".join(part["body"] for part in sent) == body
    assert [part["more_body"] for part in sent] == [True] * (len(sent) - 1) + [has_more]
    assert (
        len(sent) == 1
        if size <= MAX_WHOLE_BYTES
        else max(len(part["body"]) for part in sent) == PART_BYTES
    )


async def test_large_responses_that_are_not_read_have_a_limit(
    start: StartService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fieldgate.overload.WAIT_SECONDS", 0)

    @Routes(tag="x", scope=Scope.NONE).get(
        "/large/", response=dict[str, str], title=Message("Large"), description=Message("Large.")
    )
    async def large() -> dict[str, str]:
        return {"text": "x" * (MAX_WHOLE_BYTES + 1)}

    async with start(large) as service:
        overload = service.app.app_context.overload
        overload.responses = Slots(MAX_WHOLE_BYTES, MAX_WHOLE_BYTES)
        async with overload.responses.slot("another", 1):
            assert (
                await service.get("/large/", headers={"Accept-Encoding": "identity"})
            ).status_code == 503
        assert (
            await service.get("/large/", headers={"Accept-Encoding": "identity"})
        ).status_code == 200
        assert not overload.responses._held
