"""Reads under writes: each list is answered, and from one state of the data."""

import itertools
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from fieldgate.db import AsyncDatabase, Database, DataVersions, ReadTransaction
from fieldgate.events.filters import EventFilters
from fieldgate.events.queries import load_contents
from fieldgate.events.reader import EventPage, EventReader
from fieldgate.events.writes import save_events
from fieldgate.i18n.languages import Language
from fieldgate.identity import Caller
from fieldgate.pagination import PageRequest
from fieldgate.reference.store import ReferenceStore
from tests.events.write_events import events_of_round
from tests.processes import TIMEOUT_SECONDS, ServerProcess

EVENTS = "/api/v2/event/"
ORDERINGS = ("name", "-num_affected", "", "summary,-name")
SHORT_ROUNDS, LONG_ROUNDS = 12, 1500
READERS = 2


@pytest.mark.parametrize("ordering", ORDERINGS)
async def test_list_is_answered_though_a_write_overtakes_it(
    database: AsyncDatabase,
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
    ordering: str,
) -> None:
    """Order and records are of one state, though another process commits a write between them."""
    rounds = itertools.count(2, 2)

    def write_round() -> None:
        with closing(Database(database_url)) as other:
            events = events_of_round(next(rounds))
            other.write(lambda transaction: save_events(transaction, events))

    def load_contents_late(transaction: ReadTransaction, ids: Sequence[int]) -> dict[int, bytes]:
        write_round()
        return load_contents(transaction, ids)

    monkeypatch.setattr("fieldgate.events.reader.load_contents", load_contents_late)
    reader = EventReader(ReferenceStore(database, DataVersions(database)))
    filters = EventFilters(ordering=ordering)

    def read_page(transaction: ReadTransaction) -> EventPage:
        viewer = reader.viewer(transaction, Caller(), Language.ENGLISH)
        return reader.page(transaction, filters, viewer, PageRequest(limit=100))

    write_round()
    for _ in range(3):
        page = await database.in_read(read_page)
        records = [msgspec.json.decode(record) for record in page.records]
        (number,) = {record["num_affected"] for record in records}
        assert {record["id"] for record in records} == {
            event.id for event in events_of_round(number)
        }


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
