"""Walks over a real server while 50 events a second are written: no duplicates, and no gap that is not reported.

What was in the list during the whole walk must be in the result.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from fieldgate_client import AsyncClient
from fieldgate_client.errors import IncompleteList

from fieldgate.db import Database
from tests.client.faults.event_writer import FLOOD, BusyWriter
from tests.client.faults.fault_proxy import FaultProxy
from tests.client.quick_retries import QUICK
from tests.conftest import new_database
from tests.processes import ServerProcess

pytestmark = pytest.mark.nightly

EVENTS = 240
# Path, filters and order of a list; page size; concurrency.
WALKS: list[tuple[str, dict[str, Any], int, int]] = [
    ("event/", {}, 20, 8),
    ("event/", {}, 7, 1),
    ("event/", {"dtype": FLOOD}, 15, 4),
    ("event/", {"ordering": "-num_affected"}, 30, 8),
    ("event/mini/", {"ordering": "name", "dtype": FLOOD}, 25, 2),
    ("event/", {"ordering": "id"}, 10, 8),
    ("event/", {}, 5000, 4),
]


class ChangingServer:
    def __init__(self, process: ServerProcess, writer: BusyWriter) -> None:
        self.process = process
        self.writer = writer


@pytest.fixture(
    scope="module",
    params=[("sqlite", 1), ("sqlite", 2), ("postgresql", 2)],
    ids=["sqlite", "sqlite-two-processes", "postgresql-two-processes"],
)
async def changing_server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[ChangingServer]:
    kind, workers = request.param
    folder: Path = tmp_path_factory.mktemp("changing")
    async with new_database(kind, folder, request) as address:
        database = Database(address)
        writer = BusyWriter(database, EVENTS, seed=workers)
        await writer.prepare()
        environment = {"FIELDGATE_DATABASE_URL": address}
        process = ServerProcess(folder, "--no-worker", "--workers", str(workers), environment=environment)
        await asyncio.to_thread(process.__enter__)
        try:
            yield ChangingServer(process, writer)
        finally:
            await asyncio.to_thread(process.stop)
            await database.close()


async def walk(
    url: str, writer: BusyWriter, path: str, filters: dict[str, Any], page_size: int, concurrency: int
) -> str:
    """One walk; returns the proof of completeness, or "reported"."""
    found: list[int] = []
    async with AsyncClient(url, page_size=page_size, concurrency=concurrency, options=QUICK) as client:
        records = client.list(path, **filters)
        try:
            async for record in records:
                found.append(record["id"])
        except IncompleteList:
            outcome = "reported"
        else:
            outcome = records.report.proof
            always = writer.always_floods if "dtype" in filters else writer.always
            assert always <= {*found}, (path, filters, records.report)
    assert len(found) == len({*found})
    assert {*found} <= writer.always | {*writer.passing}
    return outcome


async def read_for(server: ChangingServer, rounds: int, url: str = "") -> Counter[str]:
    outcomes: Counter[str] = Counter()
    async with server.writer as writer:
        for _ in range(rounds):
            for path, filters, page_size, concurrency in WALKS:
                outcome = await walk(url or server.process.base_url, writer, path, filters, page_size, concurrency)
                outcomes[outcome] += 1
    return outcomes


async def test_events_are_written_during_walks(changing_server: ChangingServer) -> None:
    outcomes = await read_for(changing_server, rounds=1)
    assert changing_server.writer.writes > 10
    assert outcomes["ordered"] > 0, "some walk saw a change"
    assert outcomes["reported"] <= 1, "nearly all walks are complete"


async def test_slices_are_read_from_one_version(changing_server: ChangingServer) -> None:
    """A slice of several pages has no duplicates and the right length, or it is reported."""
    outcomes: Counter[str] = Counter()
    async with changing_server.writer:
        for page_size in (100, 10):
            async with AsyncClient(
                changing_server.process.base_url, page_size=page_size, concurrency=8, options=QUICK
            ) as client:
                for _ in range(5):
                    part = client.list("event/")[10:90]
                    try:
                        ids = [record["id"] async for record in part]
                    except IncompleteList:
                        outcomes["reported"] += 1
                    else:
                        outcomes["complete"] += 1
                        assert len({*ids}) == len(ids) == 80
    assert outcomes["complete"] >= 5, "slices of one page are always complete"


async def test_changes_and_faults_together(changing_server: ChangingServer) -> None:
    with FaultProxy(changing_server.process.port, seed=1, rate=0.05) as proxy:
        async with changing_server.writer as writer:
            outcome = await walk(proxy.base_url, writer, "event/", {}, 20, 8)
    assert outcome in ("ordered", "unchanged", "reported")


async def test_events_are_written_during_many_walks(changing_server: ChangingServer) -> None:
    outcomes = await read_for(changing_server, rounds=3)
    print(outcomes, changing_server.writer.writes)
    assert outcomes["reported"] < outcomes.total() / 5
