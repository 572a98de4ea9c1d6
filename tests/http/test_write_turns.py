"""Writes of one user take turns: however many a user sends at once, others wait for few of them."""

import asyncio
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldgate.errors import ServiceUnavailable
from fieldgate.http.operations import Operation, get, post
from fieldgate.http.write_turns import MAX_WRITES_PER_USER, WriteTurns
from fieldgate.i18n.messages import Message
from fieldgate.identity import User
from tests.conftest import Service, StartService

PATH = "/api/v2/slow/"


async def settle() -> None:
    """Let all tasks run until they wait."""
    for _ in range(20):
        await asyncio.sleep(0)


class Writes:
    """An operation whose handlers wait until the test lets them end."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.may_end = asyncio.Event()
        self.are_all_started = asyncio.Event()

    def operations(self, expected: int) -> tuple[Operation, Operation]:
        options: Any = {"title": Message("x"), "description": Message("x"), "tag": "x", "response": dict[str, Any]}

        async def handle(user: User) -> dict[str, Any]:
            self.started.append(user.username)
            if len(self.started) == expected:
                self.are_all_started.set()
            await self.may_end.wait()
            return {}

        return post(PATH, **options)(handle), get(PATH, **options, writes=True)(handle)


async def create_caller(service: Service, username: str) -> dict[str, str]:
    return {"Authorization": f"Token {await service.create_token(username=username)}"}


@pytest.mark.parametrize("method", ["POST", "GET"])
async def test_a_user_with_many_writes_does_not_keep_others_waiting(start: StartService, method: str) -> None:
    writes = Writes()
    async with start(*writes.operations(expected=MAX_WRITES_PER_USER + 1)) as service:
        many, one = await create_caller(service, "many"), await create_caller(service, "one")
        flood = [
            asyncio.create_task(service.request(method, PATH, headers=many)) for _ in range(MAX_WRITES_PER_USER + 9)
        ]
        await settle()
        other = asyncio.create_task(service.request(method, PATH, headers=one))
        await writes.are_all_started.wait()
        assert Counter(writes.started) == {"many": MAX_WRITES_PER_USER, "one": 1}
        writes.may_end.set()
        responses = await asyncio.gather(*flood, other)
    assert {response.status_code for response in responses} == {200 if method == "GET" else 201}
    assert len(writes.started) == len(responses)


Step = tuple[str, int]  # "begin" for a user, or "end" or "cancel" one of those that run or wait


@given(st.lists(st.tuples(st.sampled_from(["begin", "end", "cancel"]), st.integers(0, 11)), max_size=40))
async def test_turns_are_never_lost(steps: list[Step]) -> None:
    turns = WriteTurns(max_per_user=2)
    tasks: list[asyncio.Task[None]] = []
    owners: dict[asyncio.Task[None], int] = {}
    ends: dict[asyncio.Task[None], asyncio.Event] = {}
    running: list[int] = []

    async def run(user_id: int, may_end: asyncio.Event) -> None:
        async with turns.turn(user_id):
            running.append(user_id)
            try:
                await may_end.wait()
            finally:
                running.remove(user_id)

    for action, number in steps:
        if action == "begin":
            may_end = asyncio.Event()
            task = asyncio.create_task(run(number % 3, may_end))
            tasks.append(task)
            owners[task], ends[task] = number % 3, may_end
        elif tasks and action == "end":
            ends[tasks[number % len(tasks)]].set()
        elif tasks:
            tasks[number % len(tasks)].cancel()
        if number % 2:  # otherwise several things happen at the same moment
            await settle()
            alive = [owners[task] for task in tasks if not task.done()]
            for user_id in range(3):
                assert running.count(user_id) == min(2, alive.count(user_id))
    for task in tasks:
        ends[task].set()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert not turns._running
    assert not turns._waiting


async def test_waiting_is_limited() -> None:
    turns = WriteTurns(max_per_user=1, max_wait_seconds=0.01)
    async with turns.turn(1):
        with pytest.raises(ServiceUnavailable):
            async with turns.turn(1):
                pass
    async with turns.turn(1):
        pass
    assert not turns._running
    assert not turns._waiting
