"""Reads under writes: each list is answered, and from one state of the data."""

import subprocess
import sys
import threading
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from fieldgate.db import AsyncDatabase, DataVersions, Snapshot
from fieldgate.events.search.event_search import EventSearch
from fieldgate.events.search.filters import EventFilters
from fieldgate.events.search.index import Index
from fieldgate.events.store import EventStore, IndexVersion
from fieldgate.events.visibility import PUBLIC_SCOPE
from fieldgate.i18n.languages import Language
from fieldgate.pagination import PageRequest
from fieldgate.reference.store import ReferenceStore
from tests.events.write_events import events_of_round
from tests.processes import TIMEOUT_SECONDS, ServerProcess

EVENTS = "/api/v2/event/"
ORDERINGS = ("name", "-num_affected", "", "summary,-name")
SHORT_ROUNDS, LONG_ROUNDS = 12, 1500
READERS = 2


class OvertakenStore(EventStore):
    """Another process commits a write before each read of a state of the database."""

    def __init__(
        self, database: AsyncDatabase, data_versions: DataVersions, writer: EventStore
    ) -> None:
        super().__init__(database, data_versions)
        self._writer = writer
        self.rounds = 0

    async def write_round(self) -> None:
        self.rounds += 1
        await self._writer.upsert(events_of_round(2 * self.rounds))

    async def load_index(self, state: Snapshot | None = None) -> tuple[IndexVersion, Index]:
        if state is None:
            await self.write_round()
        return await super().load_index(state)

    async def documents(
        self, ids: Sequence[int], version: int, state: Snapshot | None = None
    ) -> list[bytes]:
        if state is None:
            await self.write_round()
        return await super().documents(ids, version, state)

    async def stream_packed(
        self, version: int, state: Snapshot | None = None
    ) -> AsyncIterator[Sequence[tuple[int, bytes]]]:
        if state is None:
            await self.write_round()
        async for some in super().stream_packed(version, state):
            yield some

    @asynccontextmanager
    async def open_snapshot(self) -> AsyncIterator[Snapshot]:
        await self.write_round()
        async with super().open_snapshot() as state:
            yield state


@pytest.mark.parametrize("ordering", ORDERINGS)
async def test_list_is_answered_though_each_read_is_overtaken(
    database: AsyncDatabase, database_url: str, ordering: str
) -> None:
    """Index, order and documents are of one state. If one is overtaken by a write, all are read from one snapshot."""
    other = AsyncDatabase(database_url)
    data_versions = DataVersions(database)
    await data_versions.start()
    store = OvertakenStore(database, data_versions, EventStore(other, DataVersions(other)))
    await store.write_round()
    search = EventSearch(store, ReferenceStore(database, data_versions), data_versions)
    for _ in range(3):
        found = await search.find(
            EventFilters(ordering=ordering), PUBLIC_SCOPE, Language.ENGLISH, PageRequest(limit=100)
        )
        shown = [msgspec.json.decode(record) for record in found.records]
        (number,) = {record["num_affected"] for record in shown}
        assert {record["id"] for record in shown} == {event.id for event in events_of_round(number)}
        await store.write_round()
    await search.stop()
    await data_versions.stop()
    await other.close()


@pytest.mark.parametrize(
    "rounds", [SHORT_ROUNDS, pytest.param(LONG_ROUNDS, marks=pytest.mark.nightly)]
)
def test_no_list_fails_under_writes(
    database_url: str, database_kind: str, tmp_path: Path, rounds: int
) -> None:
    """Two processes answer lists in orders that need all events, while a third one writes all events again."""
    statuses = Counter[str]()
    mixed: list[Any] = []
    is_over = threading.Event()

    def read(number: int, base_url: str) -> None:
        with httpx.Client(base_url=base_url, timeout=TIMEOUT_SECONDS) as client:
            while not is_over.is_set():
                number += 1
                params = {"ordering": ORDERINGS[number % len(ORDERINGS)], "limit": "100"}
                response = client.get(EVENTS, params=params, headers={"Connection": "close"})
                statuses[str(response.status_code)] += 1
                if response.status_code == 200:
                    records = response.json()["results"]
                    if len({record["num_affected"] for record in records}) > 1:
                        mixed.append(records)

    environment = {"FIELDGATE_DATABASE_URL": database_url}
    with ServerProcess(
        tmp_path, "--workers", "2", "--no-worker", environment=environment
    ) as server:
        readers = [
            threading.Thread(target=read, args=(number, server.base_url))
            for number in range(READERS)
        ]
        for reader in readers:
            reader.start()
        try:
            writer = [sys.executable, "-m", "tests.events.write_events", database_url, str(rounds)]
            subprocess.run(writer, check=True, timeout=10 * TIMEOUT_SECONDS)
        finally:
            is_over.set()
            for reader in readers:
                reader.join()
    assert set(statuses) == {"200"}, (statuses, server.log[-3000:])
    assert not mixed, "a page shows events of two states"
