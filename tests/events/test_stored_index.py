"""The stored index with all changes since is that of the rows; one that is damaged or foreign is not used."""

import asyncio
import itertools
import random
import signal
import sys
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, delete, func, select, update

from fieldgate.db import IDENTITY_TOPIC, Database, DataVersions, snapshot
from fieldgate.db.lease import Lease
from fieldgate.db.tables import leases, rebuilds, topic_versions
from fieldgate.events import index_keeper, versioned_reads
from fieldgate.events.derived import EVENT_FORMAT
from fieldgate.events.figures import EventFigures
from fieldgate.events.index_keeper import IndexKeeper
from fieldgate.events.index_storing import IndexStorer, StoreResult
from fieldgate.events.model import Event, FieldReport, Visibility
from fieldgate.events.reindex import event_rebuilder
from fieldgate.events.search import index_codec
from fieldgate.events.search.index import Index
from fieldgate.events.store import EventStore
from fieldgate.events.stored_index import find_stored_index, read_stored_index
from fieldgate.events.tables import documents, events, index_parts, stored_indexes, words
from fieldgate.events.versioned_reads import VersionedReads
from tests.events.event_service import EVENTS, INDIA, NEPAL, START, SUDAN, make_event
from tests.events.test_reindex import FutureRelease

MAX_EVENTS = 10_000


def content_of(index: Index) -> Any:
    """All that an index answers, without the positions."""
    order = index.page(index.live_positions, MAX_EVENTS, 0)
    places = {id_: index.position(id_) for id_ in order}
    rows: dict[int, tuple[int, int, int, EventFigures]] = {}
    for id_, place in places.items():
        assert place is not None
        rows[id_] = index.starts[place], index.created[place], index.updated[place], index.figures[place]
    words = {word: index.page(chosen, MAX_EVENTS, 0) for word, chosen in index.facet_sets.items() if chosen}
    totals = {word: figures for word, figures in index.figures.totals.items() if word in words}
    return order, rows, words, totals


async def prepare_store(database: Database, given: list[Event] = EVENTS) -> EventStore:
    """A store with events in the current format."""
    versions = DataVersions(database)
    store = EventStore(database, versions)
    await store.upsert(given)
    await event_rebuilder(database, versions).run(on_progress=lambda *_: None)
    return store


async def uses_stored_index(database: Database) -> bool:
    """Whether a process that starts now uses it. What it loads is right in any case."""
    reads = VersionedReads(database)
    async with snapshot(database) as state:
        version, index = await reads.load_index(0, state)
        built_version, built = await reads.build_index(0, state)
        assert version == built_version
        assert content_of(index) == content_of(built)
        stored = await find_stored_index(
            state, rebuild_version=version.rebuild_version, format=version.format, version=version.version
        )
        return (
            stored is not None
            and await reads._load_changes_since(stored.version, state) is not None
            and await read_stored_index(state, stored) is not None
        )


def random_event(choice: random.Random) -> Event:
    number = choice.randint(1, 60)
    start = START + timedelta(days=choice.choice([number, choice.randint(0, 80)]))
    return make_event(
        number,
        disaster_start_date=start,
        countries=tuple(choice.sample((NEPAL, INDIA, SUDAN), choice.randint(0, 2))),
        visibility=choice.choice(list(Visibility)),
        parent_event=choice.choice([None, None, None, 99]),
        num_affected=choice.choice([None, 0, choice.randint(1, 2**40)]),
        is_featured=choice.random() < 0.3,
    )


@pytest.mark.parametrize("seed", range(6))
async def test_stored_index_with_changes_is_that_of_the_rows(database: Database, seed: int) -> None:
    """Events are created, edited, moved, merged, hidden, deleted and created again; the index is stored at times."""
    choice = random.Random(seed)
    store = await prepare_store(database, [make_event(99)])
    assert not await uses_stored_index(database)
    await IndexStorer(database).store()
    for _ in range(25):
        some = {event.id: event for event in (random_event(choice) for _ in range(choice.randint(1, 6)))}
        await store.upsert(list(some.values()))
        if choice.random() < 0.5:
            await store.delete(choice.sample(range(1, 61), 8))
        if choice.random() < 0.2:
            await IndexStorer(database).store()
        assert await uses_stored_index(database)


async def test_too_many_changes(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    store = await prepare_store(database)
    await IndexStorer(database).store()
    await store.upsert([make_event(1000), make_event(1001)])
    assert await uses_stored_index(database)
    monkeypatch.setattr(versioned_reads, "MAX_INCREMENTAL_CHANGES", 2)
    assert not await uses_stored_index(database)


async def test_changes_without_versions_of_rows(database: Database) -> None:
    """After a forced rebuild, or when demo events were deleted, the stored index is of no use."""
    await prepare_store(database)
    await IndexStorer(database).store()
    await event_rebuilder(database, DataVersions(database)).run(is_forced=True, on_progress=lambda *_: None)
    assert not await uses_stored_index(database)
    assert await IndexStorer(database).store() is not None
    assert await uses_stored_index(database)


def flip_bit(connection: Connection) -> None:
    row = connection.execute(select(index_parts).order_by(index_parts.c.number.desc())).first()
    assert row is not None
    content = bytes([*row.content[:-1], row.content[-1] ^ 1])
    is_row = index_parts.c.number == row.number
    connection.execute(update(index_parts).where(is_row).values(content=content))


def truncate_part(connection: Connection) -> None:
    first = connection.execute(select(index_parts.c.content).where(index_parts.c.number == 0)).scalar_one()
    connection.execute(update(index_parts).where(index_parts.c.number == 0).values(content=first[:-3]))


def swap_parts(connection: Connection) -> None:
    for before, after in ((1, -1), (2, 1), (-1, 2)):
        connection.execute(update(index_parts).where(index_parts.c.number == before).values(number=after))


def lose_last_part(connection: Connection) -> None:
    last = connection.execute(select(func.max(index_parts.c.number))).scalar_one()
    connection.execute(delete(index_parts).where(index_parts.c.number == last))


def lose_part_and_count(connection: Connection) -> None:
    lose_last_part(connection)
    connection.execute(update(stored_indexes).values(part_count=stored_indexes.c.part_count - 1))


def come_from_another_database(connection: Connection) -> None:
    is_identity = topic_versions.c.topic == IDENTITY_TOPIC
    connection.execute(update(topic_versions).where(is_identity).values(version=12345))


def have_another_layout(connection: Connection) -> None:
    connection.execute(update(stored_indexes).values(layout=index_codec.LAYOUT - 1))


def have_another_format(connection: Connection) -> None:
    connection.execute(update(stored_indexes).values(format=EVENT_FORMAT - 1))


def claim_another_version(connection: Connection) -> None:
    connection.execute(update(stored_indexes).values(version=stored_indexes.c.version - 1))


def be_newer_than_the_events(connection: Connection) -> None:
    connection.execute(update(stored_indexes).values(version=stored_indexes.c.version + 10**9))


def claim_a_rebuild(connection: Connection) -> None:
    connection.execute(update(stored_indexes).values(rebuild_version=7))


DAMAGES = [
    flip_bit, truncate_part, swap_parts, lose_last_part, lose_part_and_count, come_from_another_database,
    have_another_layout, have_another_format, claim_another_version, be_newer_than_the_events, claim_a_rebuild,
]  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
async def test_damaged_or_foreign_index_is_not_used(
    database: Database, database_url: str, damage: Callable[[Connection], None]
) -> None:
    await prepare_store(database)
    await IndexStorer(database).store()
    assert await uses_stored_index(database)
    await database.write(damage)
    next_process = Database(database_url)
    assert not await uses_stored_index(next_process)
    await IndexStorer(next_process).store()
    assert await uses_stored_index(next_process)
    await next_process.close()


async def test_reason_is_logged(database: Database, caplog: pytest.LogCaptureFixture) -> None:
    await prepare_store(database)
    await IndexStorer(database).store()
    await database.write(flip_bit)
    await VersionedReads(database).load_index(0)
    assert "the stored event index is not used, and is built again: its digest is wrong" in caplog.messages


async def test_index_of_a_history_that_was_lost(database: Database) -> None:
    """A stored index that a process wrote after a backup was restored meanwhile lacks the parts from before."""
    store = await prepare_store(database)
    async with database.read_transaction() as connection:
        before = (await connection.execute(select(topic_versions))).all()
    await store.upsert([make_event(1000)])
    await IndexStorer(database).store()

    def go_back(connection: Connection) -> None:
        connection.execute(delete(index_parts))
        for topic, version in before:
            connection.execute(update(topic_versions).where(topic_versions.c.topic == topic).values(version=version))

    await database.write(go_back)
    await store.delete([1])  # its version is higher than that of the stored index
    assert not await uses_stored_index(database)


async def test_database_that_goes_back_while_the_index_is_built(
    database: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As after a failover to a replica that lagged behind: it has the lease, but not the last event."""
    store = await prepare_store(database)
    async with database.read_transaction() as connection:
        before = (await connection.execute(select(topic_versions))).all()
    await store.upsert([make_event(1000)])
    write = IndexStorer._write

    def go_back(connection: Connection) -> None:
        connection.execute(delete(index_parts))
        for table in (events, documents, words):
            connection.execute(delete(table).where(table.c.id == 1000))
        for topic, version in before:
            connection.execute(update(topic_versions).where(topic_versions.c.topic == topic).values(version=version))

    async def go_back_and_write(self: IndexStorer, *built: Any) -> StoreResult | None:
        await database.write(go_back)
        return await write(self, *built)

    monkeypatch.setattr(IndexStorer, "_write", go_back_and_write)
    assert await IndexStorer(database).store() is None
    assert "the event index was not stored: the database was replaced meanwhile" in caplog.messages
    await store.delete([1])  # its version is higher than that of the lost state
    assert not await uses_stored_index(database)
    monkeypatch.undo()
    assert await IndexStorer(database).store() is not None
    assert await row_counts(database) == (1, 1)
    assert await uses_stored_index(database)


async def test_releases_with_different_formats(database: Database, database_url: str) -> None:
    """A later release rebuilds all events. This one runs on, and writes an event without the new facet."""
    store = await prepare_store(database)
    await IndexStorer(database).store()
    release = FutureRelease(database_url)
    assert (await release.result("look"))["filtered"]["status"] == 503
    before = (await release.result("serve"))["filtered"]["count"]
    assert not await uses_stored_index(database), "it lacks the new facet"
    await store.upsert([make_event(1000, field_reports=(FieldReport(id=1, created_at=START, updated_at=START),))])
    assert not await uses_stored_index(database)
    assert (await release.result("look"))["filtered"]["status"] == 503
    assert (await release.result("serve"))["filtered"]["count"] == before + 1
    assert not await uses_stored_index(database)


# Storing


async def row_counts(database: Database) -> tuple[int, int]:
    """Stored indexes, and ids of indexes among the parts."""
    async with database.read_transaction() as connection:
        indexes = (await connection.execute(select(func.count()).select_from(stored_indexes))).scalar_one()
        query = select(func.count(index_parts.c.index_id.distinct()))
        return indexes, (await connection.execute(query)).scalar_one()


async def test_one_index_is_stored(database: Database) -> None:
    store = await prepare_store(database)
    result = await IndexStorer(database).store()
    assert result is not None
    _, index = await VersionedReads(database).build_index(0)
    assert result.events == len(index)
    await store.upsert([make_event(1000)])
    assert await IndexStorer(database).store() is not None
    assert await row_counts(database) == (1, 1)


async def test_index_is_stored_while_events_are_written(database: Database) -> None:
    store = await prepare_store(database)
    is_stored = asyncio.Event()

    async def write() -> None:
        for number in itertools.count(1000):
            await store.upsert([make_event(number)])
            await store.delete([number - 2])
            if is_stored.is_set():
                return

    writing = asyncio.create_task(write())
    results = [await IndexStorer(database).store() for _ in range(5)]
    is_stored.set()
    await writing
    assert None not in results
    assert await row_counts(database) == (1, 1)
    assert await uses_stored_index(database)


async def test_storer_that_was_taken_over(database: Database, caplog: pytest.LogCaptureFixture) -> None:
    """It stood still until its lease had expired."""
    await prepare_store(database)
    assert await IndexStorer(database, lease_duration=timedelta(0)).store() is None
    assert "the event index was not stored: another process took over" in caplog.messages
    assert await row_counts(database) == (0, 0)


async def test_index_that_is_too_large_is_not_stored(database: Database, caplog: pytest.LogCaptureFixture) -> None:
    await prepare_store(database)
    assert await IndexStorer(database, max_bytes=1500).store() is None
    assert await row_counts(database) == (0, 0)
    assert "the event index is too large to be stored: more than 1500 bytes" in caplog.messages


async def test_index_is_not_stored_while_events_are_rebuilt(database: Database) -> None:
    await prepare_store(database)
    await database.write(lambda connection: connection.execute(update(rebuilds).values(format=0)))
    assert await IndexStorer(database).store() is None
    assert await row_counts(database) == (0, 0)


async def test_one_process_stores_at_a_time(database: Database) -> None:
    await prepare_store(database)
    assert await Lease(database, "store event index").acquire()
    assert await IndexStorer(database).store() is None
    results = await asyncio.gather(*(IndexStorer(database).store() for _ in range(3)))
    assert results == [None, None, None]
    await database.write(lambda connection: connection.execute(delete(leases)))
    results = await asyncio.gather(*(IndexStorer(database).store() for _ in range(3)))
    assert any(results)
    assert await row_counts(database) == (1, 1)


STORE_AND_DIE = """
import asyncio, os, signal, sys
from fieldgate.db import Database
from fieldgate.events import index_storing

real = index_storing.encode_index

def encode_index(index):
    for number, part in enumerate(real(index)):
        if number == int(sys.argv[2]):
            os.kill(os.getpid(), signal.SIGKILL)
        yield part

index_storing.encode_index = encode_index
asyncio.run(index_storing.IndexStorer(Database(sys.argv[1])).store())
"""


@pytest.mark.parametrize("part", [0, 3])
async def test_kill_while_storing(database: Database, database_url: str, part: int) -> None:
    """The index that was stored before stays in use. The next one deletes what is left."""
    store = await prepare_store(database)
    await IndexStorer(database).store()
    await store.upsert([make_event(1000)])
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", STORE_AND_DIE, database_url, str(part))
    assert await process.wait() == -signal.SIGKILL
    assert await row_counts(database) == (1, 2), "that of the killed process has a mark, and maybe parts"
    assert await uses_stored_index(database)
    await database.write(lambda connection: connection.execute(delete(leases)))
    assert await IndexStorer(database).store() is not None
    assert await row_counts(database) == (1, 1)
    assert await uses_stored_index(database)


# When it is due


async def test_small_database_needs_no_stored_index(database: Database) -> None:
    await prepare_store(database)
    assert not await IndexKeeper(database).is_due()
    assert await IndexKeeper(database, min_events=len(EVENTS)).is_due()
    assert not await IndexKeeper(database, min_events=len(EVENTS) + 1).is_due()


async def test_due_after_changes(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    store = await prepare_store(database)
    keeper = IndexKeeper(database, min_events=10, min_changes=3)
    await IndexStorer(database).store()
    await store.upsert([make_event(1000), make_event(1001)])
    await store.delete([1])
    assert not await keeper.is_due(), "it was stored just now"
    monkeypatch.setattr(index_keeper, "MIN_INTERVAL", timedelta(0))
    assert await keeper.is_due()
    await IndexStorer(database).store()
    await store.upsert([make_event(1000, is_featured=True), make_event(1001, is_featured=True)])
    assert not await keeper.is_due(), "too few changes"
    await event_rebuilder(database, DataVersions(database)).run(is_forced=True, on_progress=lambda *_: None)
    assert await keeper.is_due()


async def test_due_if_damaged_or_of_an_older_release(database: Database) -> None:
    await prepare_store(database)
    await IndexStorer(database).store()
    assert not await IndexKeeper(database, min_events=10).is_due()
    await database.write(flip_bit)
    assert await IndexKeeper(database, min_events=10).is_due()
    await IndexStorer(database).store()
    await database.write(have_another_format)
    assert await IndexKeeper(database, min_events=10).is_due()
    await IndexStorer(database).store()
    await database.write(have_another_layout)
    assert await IndexKeeper(database, min_events=10).is_due()
    newer = index_codec.LAYOUT + 1
    await database.write(lambda connection: connection.execute(update(stored_indexes).values(layout=newer)))
    assert not await IndexKeeper(database, min_events=10).is_due(), "the newer release stores it"


async def test_not_due_while_events_are_rebuilt(database: Database) -> None:
    await prepare_store(database)
    await database.write(lambda connection: connection.execute(update(rebuilds).values(format=0)))
    assert not await IndexKeeper(database, min_events=10).is_due()


async def test_keeper_runs_the_command(database: Database, database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    await prepare_store(database)
    monkeypatch.setenv("FIELDGATE_DATABASE_URL", database_url)
    await IndexKeeper(database).run_storer()
    assert await row_counts(database) == (1, 1)
    assert await uses_stored_index(database)


async def test_stopped_keeper_ends_the_command(monkeypatch: pytest.MonkeyPatch, database: Database) -> None:
    monkeypatch.setattr(index_keeper, "STORE_COMMAND", (sys.executable, "-c", "import time; time.sleep(600)"))
    keeper = IndexKeeper(database)
    running = asyncio.create_task(keeper.run_storer())
    while keeper._process is None:
        await asyncio.sleep(0)
    keeper.stop()
    await running
    assert keeper._process.returncode == -signal.SIGTERM
