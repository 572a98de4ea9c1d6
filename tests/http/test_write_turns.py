"""Writes of one user take turns: however many a user sends at once, others wait for few of them."""

import asyncio
from collections import Counter
from typing import Any

import pytest

from fieldgate.http.operations import Operation, Routes
from fieldgate.i18n.messages import Message
from fieldgate.identity import Scope, User
from fieldgate.overload import MAX_WRITES_PER_USER
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
        routes = Routes(tag="x", scope=Scope.NONE)
        options: Any = {
            "title": Message("x"),
            "description": Message("x"),
            "response": dict[str, Any],
        }

        async def handle(user: User) -> dict[str, Any]:
            self.started.append(user.username)
            if len(self.started) == expected:
                self.are_all_started.set()
            await self.may_end.wait()
            return {}

        return routes.post(PATH, **options)(handle), routes.get(PATH, **options, writes=True)(
            handle
        )


async def create_caller(service: Service, username: str) -> dict[str, str]:
    return {"Authorization": f"Token {await service.create_token(username=username)}"}


@pytest.mark.parametrize("method", ["POST", "GET"])
async def test_a_user_with_many_writes_does_not_keep_others_waiting(
    start: StartService, method: str
) -> None:
    writes = Writes()
    async with start(*writes.operations(expected=MAX_WRITES_PER_USER + 1)) as service:
        many, one = await create_caller(service, "many"), await create_caller(service, "one")
        flood = [
            asyncio.create_task(service.request(method, PATH, headers=many))
            for _ in range(MAX_WRITES_PER_USER + 9)
        ]
        await settle()
        other = asyncio.create_task(service.request(method, PATH, headers=one))
        await writes.are_all_started.wait()
        assert Counter(writes.started) == {"many": MAX_WRITES_PER_USER, "one": 1}
        writes.may_end.set()
        responses = await asyncio.gather(*flood, other)
    assert {response.status_code for response in responses} == {200 if method == "GET" else 201}
    assert len(writes.started) == len(responses)
