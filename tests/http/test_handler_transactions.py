"""Handlers that take a transaction: plain functions, whose response is kept under the versions that they have read."""

from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import text

from fieldgate.db import DataVersions, ReadTransaction, WriteTransaction
from fieldgate.errors import Forbidden
from fieldgate.http.operations import Operation, Routes
from fieldgate.i18n.messages import Message
from fieldgate.identity import Scope, User
from fieldgate.pagination import ListResult, PageRequest
from tests.conftest import Service, StartService
from tests.data.sql import first_value, write_sql
from tests.http.test_pagination import Number

PATH = "/api/v2/numbers/"
TOPIC = "numbers"
STORED = text("SELECT count(*) FROM changes WHERE topic LIKE 'number %'")
INSERT = text("INSERT INTO changes (topic, version) VALUES (:topic, 1)")

routes = Routes(tag="x", scope=Scope.NONE)
TEXTS: Any = {"title": Message("Permissions"), "description": Message("Permissions")}


def write_number(database_url: str, number: int) -> None:
    """Write as another process would."""
    with write_sql(database_url, TOPIC) as connection:
        connection.execute(INSERT, {"topic": f"number {number}"})


class Numbers:
    """A list that shows how many numbers are stored. Another process writes one before the handler returns."""

    def __init__(self, database_url: str, *, writes_in_first_call: bool = False) -> None:
        self.calls = 0
        self._database_url = database_url
        self._writes_in_first_call = writes_in_first_call

    def operation(self) -> Operation:
        def number_list(transaction: ReadTransaction, page: PageRequest) -> ListResult[Number]:
            self.calls += 1
            count = transaction.execute(STORED).scalar_one()
            if self.calls == 1 and self._writes_in_first_call:
                write_number(self._database_url, 1)
            return ListResult(1, [Number(count)])

        return routes.get_list(PATH, response=Number, depends_on=(TOPIC,), **TEXTS)(number_list)


async def read(service: Service) -> tuple[int, str, str]:
    """The number that is shown, the data version and the ETag."""
    answer = await service.get(PATH)
    assert answer.status_code == 200
    headers = answer.headers
    return answer.json()["results"][0]["number"], headers["Fieldgate-Data-Version"], headers["ETag"]


async def test_a_write_between_the_version_check_and_the_handler(
    start: StartService, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = Numbers(database_url)
    read_versions = DataVersions.versions
    new = [1]

    async def write_afterwards(versions: DataVersions, topics: Sequence[str]) -> tuple[int, ...]:
        seen = await read_versions(versions, topics)
        if TOPIC in topics and new:
            write_number(database_url, new.pop())
        return seen

    monkeypatch.setattr(DataVersions, "versions", write_afterwards)
    async with start(numbers.operation(), database_url=database_url) as service:
        first = await read(service)
        assert first[0] == 1
        assert await read(service) == first
        assert numbers.calls == 1, "the response was kept under the versions that it shows"
        write_number(database_url, 2)
        second = await read(service)
        assert second[0] == 2
        assert not {*first} & {*second}


async def test_a_write_while_the_handler_runs(start: StartService, database_url: str) -> None:
    numbers = Numbers(database_url, writes_in_first_call=True)
    async with start(numbers.operation(), database_url=database_url) as service:
        first, second = await read(service), await read(service)
        assert (first[0], second[0]) == (0, 1)
        assert not {*first} & {*second}
        assert await read(service) == second
        assert numbers.calls == 2


async def test_a_write_is_committed_or_refused(start: StartService, database_url: str) -> None:
    def number_creation(transaction: WriteTransaction, user: User, body: Number) -> dict[str, Any]:
        transaction.execute(INSERT, {"topic": f"number {body.number}"})
        transaction.changed(TOPIC)
        if body.number > 1:
            raise Forbidden(Message("Permissions"))
        return {}

    creation = routes.post(PATH, response=dict[str, Any], **TEXTS)(number_creation)
    numbers = Numbers(database_url)
    async with start(creation, numbers.operation(), database_url=database_url) as service:
        headers = {"Authorization": f"Token {await service.create_token()}"}
        assert (await read(service))[0] == 0
        for number, status in ((2, 403), (1, 201)):
            answer = await service.request("POST", PATH, json={"number": number}, headers=headers)
            assert answer.status_code == status, answer.text
        assert first_value(database_url, STORED) == 1
        assert (await read(service))[0] == 1
