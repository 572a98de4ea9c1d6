"""The queue of password checks: clients take turns, known ones first, and a flood is refused before it is checked."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldgate.accounts import login_queue
from fieldgate.accounts.login_queue import MAX_ATTEMPTS_PER_CLIENT, Lane, LoginQueue
from fieldgate.errors import ServiceUnavailable, TooManyRequests


async def serve(queue: LoginQueue, arrivals: Sequence[tuple[str, Lane]]) -> list[str]:
    """Let clients arrive while all turns are taken; return them in the order in which they were served."""
    served: list[str] = []

    async def attempt(client: str, lane: Lane) -> None:
        async with queue.turn(client, lane):
            served.append(client)

    async with asyncio.TaskGroup() as tasks, AsyncExitStack() as turns:
        while queue._free:
            await turns.enter_async_context(queue.turn("first", Lane.NEW))
        for client, lane in arrivals:
            tasks.create_task(attempt(client, lane))
        while count_waiting(queue) < len(arrivals):
            await asyncio.sleep(0)
    return served


def count_waiting(queue: LoginQueue) -> int:
    return queue._count_waiting(Lane.KNOWN) + queue._count_waiting(Lane.NEW)


def assert_idle(queue: LoginQueue, max_running: int = 1) -> None:
    assert (queue._free, queue._running.total(), count_waiting(queue)) == (max_running, 0, 0)


async def test_clients_take_turns() -> None:
    flood = [("guesser", Lane.NEW)] * 5
    served = await serve(LoginQueue(1), [*flood, ("amina", Lane.NEW), ("zahra", Lane.NEW)])
    assert served == ["amina", "zahra", *["guesser"] * 5], "those with fewest attempts first"
    served = await serve(LoginQueue(1), [("a", Lane.NEW), ("a", Lane.NEW), ("b", Lane.NEW), ("b", Lane.NEW)])
    assert served == ["a", "a", "b", "b"]


async def test_failure_moves_the_other_attempts_to_the_last_lane() -> None:
    queue = LoginQueue(1)
    served: list[str] = []

    async def attempt(client: str) -> None:
        async with queue.turn(client, Lane.NEW):
            served.append(client)

    async with asyncio.TaskGroup() as tasks, queue.turn("guesser", Lane.NEW):
        for client in ("guesser", "amina"):
            tasks.create_task(attempt(client))
        await asyncio.sleep(0)
        queue.record_failure("guesser", Lane.NEW)
        queue.record_failure("nobody", Lane.NEW)
    assert served == ["amina", "guesser"]
    assert_idle(queue)


async def test_known_clients_come_first_and_those_that_failed_last() -> None:
    arrivals = [("failed", Lane.FAILED), ("failed", Lane.FAILED), ("new", Lane.NEW), ("known", Lane.KNOWN)]
    assert await serve(LoginQueue(1), arrivals) == ["known", "new", "failed", "failed"]


@given(st.integers(1, 3), st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(Lane)), max_size=30))
def test_everybody_is_served_once(max_running: int, arrivals: list[tuple[str, Lane]]) -> None:
    queue = LoginQueue(max_running)
    served = asyncio.run(serve(queue, arrivals))
    assert sorted(served) == sorted(client for client, _ in arrivals)
    assert_idle(queue, max_running)


async def test_known_client_that_failed_comes_after_other_known_ones_for_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    queue = LoginQueue(1)
    queue.record_failure("guesser", Lane.KNOWN)
    arrivals = [("new", Lane.NEW), ("guesser", Lane.KNOWN), ("amina", Lane.KNOWN)]
    assert await serve(queue, arrivals) == ["amina", "guesser", "new"]
    monkeypatch.setattr(login_queue, "FAILURE_SECONDS", 0.0)
    assert await serve(queue, arrivals) == ["guesser", "amina", "new"]


async def test_failure_moves_the_other_attempts_of_a_known_client() -> None:
    queue = LoginQueue(1)
    served: list[str] = []

    async def attempt(client: str) -> None:
        async with queue.turn(client, Lane.KNOWN):
            served.append(client)

    async with asyncio.TaskGroup() as tasks, queue.turn("guesser", Lane.KNOWN):
        for client in ("guesser", "amina"):
            tasks.create_task(attempt(client))
        await asyncio.sleep(0)
        queue.record_failure("guesser", Lane.KNOWN)
    assert served == ["amina", "guesser"]
    assert_idle(queue)


@pytest.mark.parametrize("other", [Lane.NEW, Lane.FAILED])
@pytest.mark.parametrize("known", [Lane.KNOWN, Lane.KNOWN_FAILED])
async def test_known_clients_leave_one_turn_to_others_that_wait(known: Lane, other: Lane) -> None:
    """Even if they never stop: whenever one of their checks ends, the next one arrives."""
    queue = LoginQueue(2)
    served = Counter[str]()

    async def attempt(client: str, lane: Lane) -> None:
        async with queue.turn(client, lane):
            served[client] += 1
            await asyncio.sleep(0)

    async def attempt_until_the_person_is_served(client: str) -> None:
        while not served["person"] and served[client] < 100:
            await attempt(client, known)

    async with asyncio.TaskGroup() as tasks:
        for number in range(20):
            tasks.create_task(attempt_until_the_person_is_served(f"account {number}"))
        await asyncio.sleep(0)
        await attempt("person", other)
        before = served.total()
    assert before <= 10, "the person was among the first"
    assert_idle(queue, 2)


async def test_known_clients_use_all_turns_if_nobody_else_waits() -> None:
    queue = LoginQueue(2)
    async with queue.turn("amina", Lane.KNOWN), queue.turn("amina", Lane.KNOWN):
        assert not queue._free
    assert_idle(queue, 2)


async def test_known_clients_and_others_have_places_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(login_queue, "MAX_WAITING", 3)
    queue = LoginQueue(1)
    outcomes: list[str] = []

    async def attempt(client: str, lane: Lane) -> None:
        try:
            async with queue.turn(client, lane):
                outcomes.append(client)
        except ServiceUnavailable:
            outcomes.append(f"{client} refused")

    async with asyncio.TaskGroup() as tasks, queue.turn("first", Lane.NEW):
        for client in ("a", "b", "c"):
            tasks.create_task(attempt(f"known {client}", Lane.KNOWN))
        await asyncio.sleep(0)
        for client in ("a", "b", "c"):  # refused before, as the known clients had all places
            tasks.create_task(attempt(f"new {client}", Lane.NEW))
        await asyncio.sleep(0)
    assert outcomes == ["known a", "known b", "known c", "new a", "new b", "new c"]
    assert_idle(queue)


def test_one_client_has_a_limited_number_of_places() -> None:
    queue = LoginQueue(1)
    places = [queue.place("guesser") for _ in range(MAX_ATTEMPTS_PER_CLIENT)]
    for place in places:
        place.__enter__()
    with pytest.raises(TooManyRequests) as error, queue.place("guesser"):
        pass
    assert (b"retry-after", b"5") in error.value.headers
    with queue.place("amina"):
        pass
    for place in places:
        place.__exit__(None, None, None)
    with queue.place("guesser"):
        pass


async def test_full_queue_drops_the_last_attempt_of_the_busiest_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(login_queue, "MAX_WAITING", 3)
    queue = LoginQueue(1)
    outcomes: list[str] = []

    async def attempt(name: str, client: str, lane: Lane) -> None:
        try:
            async with queue.turn(client, lane):
                outcomes.append(name)
        except ServiceUnavailable:
            outcomes.append(f"{name} refused")

    async with asyncio.TaskGroup() as tasks, queue.turn("first", Lane.KNOWN):
        for number in range(3):
            tasks.create_task(attempt(f"guess {number}", "guesser", Lane.FAILED))
        await asyncio.sleep(0)
        tasks.create_task(attempt("new", "amina", Lane.NEW))
        await asyncio.sleep(0)
        tasks.create_task(attempt("guess 3", "guesser", Lane.FAILED))
        await asyncio.sleep(0)
        tasks.create_task(attempt("failed", "zahra", Lane.FAILED))
        await asyncio.sleep(0)
    assert sorted(outcomes[:3]) == ["guess 1 refused", "guess 2 refused", "guess 3 refused"]
    assert outcomes[3:] == ["new", "guess 0", "failed"] or outcomes[3:] == ["new", "failed", "guess 0"]


async def test_addresses_that_failed_leave_one_turn_to_others() -> None:
    queue = LoginQueue(2)
    finished = asyncio.Event()
    running: list[str] = []

    async def attempt(client: str, lane: Lane) -> None:
        async with queue.turn(client, lane):
            running.append(client)
            await finished.wait()

    async with asyncio.TaskGroup() as tasks:
        for client in "abc":
            tasks.create_task(attempt(client, Lane.FAILED))
        await asyncio.sleep(0)
        assert running == ["a"]
        async with queue.turn("amina", Lane.NEW):  # at once
            pass
        finished.set()
    assert running == ["a", "b", "c"]
    assert_idle(queue, 2)


async def test_nobody_waits_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(login_queue, "MAX_WAIT_SECONDS", 0)
    queue = LoginQueue(1)
    async with queue.turn("first", Lane.NEW):
        with pytest.raises(ServiceUnavailable):
            async with queue.turn("amina", Lane.NEW):
                pass
    async with queue.turn("amina", Lane.NEW):
        pass
    assert_idle(queue)


@pytest.mark.parametrize("has_failed", [False, True], ids=["in its lane", "moved to the last lane"])
async def test_attempt_that_ended_frees_its_place_at_once(monkeypatch: pytest.MonkeyPatch, has_failed: bool) -> None:
    monkeypatch.setattr(login_queue, "MAX_WAITING", 1)
    queue = LoginQueue(1)

    async def attempt(client: str) -> str:
        async with queue.turn(client, Lane.NEW):
            return client

    async with queue.turn("first", Lane.NEW):
        gone = asyncio.create_task(attempt("gone"))
        await asyncio.sleep(0)
        if has_failed:
            queue.record_failure("gone", Lane.NEW)
        gone.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gone
        assert count_waiting(queue) == 0
        after = asyncio.create_task(attempt("after"))  # refused if the place was still taken
        await asyncio.sleep(0)
    assert await after == "after"
    assert_idle(queue)


async def test_cancelled_attempt_gives_its_turn_to_the_next() -> None:
    queue = LoginQueue(1)

    async def attempt(client: str) -> str:
        async with queue.turn(client, Lane.NEW):
            return client

    async with queue.turn("first", Lane.NEW):
        gone, after = asyncio.create_task(attempt("gone")), asyncio.create_task(attempt("after"))
        await asyncio.sleep(0)
    gone.cancel()  # it has the turn already, but did not run yet
    assert await after == "after"
    assert_idle(queue)
