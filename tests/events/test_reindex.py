"""Stored events after an upgrade: answers stay exact, and a rebuild survives crashes and concurrent edits."""

import asyncio
import json
import os
import signal
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from sqlalchemy import Connection, delete, func, select, update

from fieldgate.db import Database, DataVersions
from fieldgate.db.lease import Lease, LeaseExpired
from fieldgate.db.rebuild import START, Batch, Rebuilder
from fieldgate.db.tables import leases, rebuilds
from fieldgate.events.demo.generator import demo_events
from fieldgate.events.derived import EVENT_FORMAT
from fieldgate.events.reindex import EventFormat, RebuiltEvent, event_rebuilder
from fieldgate.events.search.filters import EventFilters
from fieldgate.events.store import EventStore
from fieldgate.events.tables import documents, events, history
from fieldgate.events.visibility import FULL_SCOPE
from fieldgate.i18n.languages import Language
from fieldgate.i18n.localized_text import in_all_languages
from fieldgate.pagination import PageRequest
from fieldgate.reference.store import ReferenceStore
from tests.events.event_service import EVENTS, make_event
from tests.events.upgrade_checks import list_records, open_search, record_digests

# For the full size: UPGRADE_EVENTS=100000 python -m pytest tests/events/test_reindex.py
UPGRADE_EVENTS = int(os.environ.get("UPGRADE_EVENTS", "1500"))


class FutureRelease:
    """Runs `future_release.py` on a database."""

    def __init__(self, address: str) -> None:
        self._address = address

    async def run(self, action: str, *numbers: int) -> tuple[int | None, Any, str]:
        """The exit status, the result and the log of an action."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.events.future_release", self._address, action, *map(str, numbers),
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        output, log = await process.communicate()
        return process.returncode, json.loads(output) if output else None, log.decode()

    async def result(self, action: str, *numbers: int) -> Any:
        status, result, log = await self.run(action, *numbers)
        assert status == 0, log
        return result


async def test_upgrade_with_new_field_facet_and_language(database: Database, database_url: str) -> None:
    reference = await ReferenceStore(database, DataVersions(database)).current()
    store = EventStore(database, DataVersions(database))
    made = list(demo_events(UPGRADE_EVENTS, reference))
    for start in range(0, len(made), 2000):
        await store.upsert(made[start : start + 2000], is_demo=True)
    edited = made[0].id, made[-1].id
    expected = await record_digests(database, frozenset(edited))
    release = FutureRelease(database_url)

    def check_unfinished(found: dict[str, Any]) -> None:
        assert (found["filtered"]["status"], found["filtered"]["retry_after"]) == (503, "30")
        english, french = found["filtered"]["detail"]
        assert "report_count" in english
        assert "mise à niveau" in french
        assert found["known_filter"] == 200
        assert found["ready"]["status"] == "ready"
        check_records(found)

    def check_records(found: dict[str, Any]) -> None:
        assert found["wrong_ids"] == []
        assert found["digests"] == expected

    found = await release.result("look", *edited)
    check_unfinished(found)
    assert found["old_documents"] == UPGRADE_EVENTS
    assert found["ready"]["rebuilding"] == {"events": {"done": 0, "total": 0}}

    status, _, log = await release.run("rebuild", UPGRADE_EVENTS // 2)
    assert status == -signal.SIGKILL, log
    await release.result("edit", *edited)  # one is rebuilt already, one is not
    found = await release.result("look", *edited)
    check_unfinished(found)
    assert 0 < found["old_documents"] < UPGRADE_EVENTS
    progress = found["ready"]["rebuilding"]["events"]
    assert UPGRADE_EVENTS // 2 <= progress["done"] < progress["total"] == UPGRADE_EVENTS

    await expire_leases(database)
    found = await release.result("serve", *edited)
    check_records(found)
    assert found["old_documents"] == 0
    assert "rebuilding" not in found["ready"]
    has_report = [
        event for event in made if len(event.field_reports) == 1 and event.visibility == 3 and not event.parent_event
    ]
    assert found["filtered"]["status"] == 200
    assert found["filtered"]["count"] == len([event for event in has_report if event.id not in edited])


async def expire_leases(database: Database) -> None:
    """As if the time of all leases had passed."""
    async with database.transaction() as connection:
        await connection.execute(update(leases).values(expires=datetime.fromtimestamp(0, UTC)))


async def store_in_format_0(database: Database) -> None:
    """Rewrite the stored documents as releases before format 1 did: translations by position."""
    templates = {event.id: _positional(event.name, event.original_language) for event in EVENTS}

    def rewrite(connection: Connection) -> None:
        for row in connection.execute(select(documents.c.id)).all():
            old = b'{"id":%d,"name":%s}' % (row.id, templates[row.id])
            connection.execute(update(documents).where(documents.c.id == row.id).values(document=old, format=0))
        connection.execute(update(rebuilds).values(format=0))

    await database.write(rewrite)


def _positional(texts: dict[str, str], original: str) -> bytes:
    return b"\x03" + b"\x05".join(map(msgspec.json.encode, in_all_languages(texts, original))) + b"\x04"


async def read_all(database: Database) -> dict[str, list[bytes]]:
    return {language.value: [record async for record in list_records(database, language)] for language in Language}


async def count_old(database: Database) -> int:
    async with database.read_transaction() as connection:
        query = select(func.count()).select_from(documents).where(documents.c.format != EVENT_FORMAT)
        return int((await connection.execute(query)).scalar_one())


async def test_documents_in_format_0_are_read_and_rebuilt(database: Database) -> None:
    store = EventStore(database, DataVersions(database))
    await store.upsert(EVENTS)
    expected = await read_all(database)
    await store_in_format_0(database)
    assert await read_all(database) == expected, "from the packed events"
    progress: list[tuple[int, int]] = []
    rebuilder = event_rebuilder(database, DataVersions(database))
    assert await rebuilder.run(on_progress=lambda done, total: progress.append((done, total)))
    assert progress[0] == (0, len(EVENTS))
    assert progress[-1] == (len(EVENTS), len(EVENTS))
    assert await count_old(database) == 0
    assert await read_all(database) == expected
    assert not await rebuilder.run(on_progress=lambda *_: None), "nothing to do"
    assert await rebuilder.readiness_details() == {}


async def test_background_rebuild_ends_when_everything_is_current(database: Database) -> None:
    await EventStore(database, DataVersions(database)).upsert(EVENTS)
    await store_in_format_0(database)
    rebuilder = event_rebuilder(database, DataVersions(database))
    assert (await rebuilder.readiness_details())["rebuilding"] == {"events": {"done": 0, "total": 0}}
    await rebuilder.run_in_background()
    assert await count_old(database) == 0
    await rebuilder.run_in_background()


async def test_log_of_a_rebuild_without_old_events(database: Database, caplog: pytest.LogCaptureFixture) -> None:
    """The first start logs nothing about events that do not exist."""
    caplog.set_level("INFO", logger="fieldgate.db.rebuild")
    await event_rebuilder(database, DataVersions(database)).run_in_background()
    assert caplog.messages == []
    await EventStore(database, DataVersions(database)).upsert(EVENTS)
    async with database.transaction() as connection:
        await connection.execute(delete(rebuilds))
    await event_rebuilder(database, DataVersions(database)).run_in_background()
    count = len(EVENTS)
    assert caplog.messages == [
        f"looking for events in another format than {EVENT_FORMAT}: {count} rows",
        f"all {count} rows of events had format {EVENT_FORMAT} already",
    ]


async def test_background_rebuild_does_nothing_if_another_process_was_faster(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    data_versions = DataVersions(database)
    await EventStore(database, data_versions).upsert(EVENTS)
    await store_in_format_0(database)
    slow, fast = event_rebuilder(database, data_versions), event_rebuilder(database, data_versions)
    acquire = slow._lease.acquire
    versions = []

    async def acquire_too_late() -> bool:
        await fast.run(on_progress=lambda *_: None)
        versions.append(await data_versions.versions(("events",), fresh=True))
        return await acquire()

    monkeypatch.setattr(slow._lease, "acquire", acquire_too_late)
    await slow.run_in_background()
    assert [await data_versions.versions(("events",), fresh=True)] == versions
    assert await fast._lease.acquire(), "the lease is free again"


async def test_rebuild_of_everything_on_demand(database: Database) -> None:
    """Without a new format, such as after a wrong facet was fixed: every index is loaded again."""
    changes = DataVersions(database)
    await EventStore(database, changes).upsert(EVENTS)
    search = open_search(database)
    await search.snapshot()
    async with database.transaction() as connection:
        await connection.execute(update(events).values(facets="v3"))
    assert await event_rebuilder(database, changes).run(is_forced=True, on_progress=lambda *_: None)
    found = await search.find(EventFilters(dtype=12), FULL_SCOPE, Language.ENGLISH, PageRequest(1))
    assert found.count == len([event for event in EVENTS if event.dtype == 12 and event.parent_event is None])


async def test_rows_that_an_old_release_wrote_after_the_rebuild_are_rebuilt_on_demand(database: Database) -> None:
    await EventStore(database, DataVersions(database)).upsert(EVENTS)
    rebuilder = event_rebuilder(database, DataVersions(database))
    await rebuilder.run_in_background()
    async with database.transaction() as connection:
        await connection.execute(update(documents).where(documents.c.id == EVENTS[0].id).values(format=0))
    assert await rebuilder.run(on_progress=lambda *_: None)
    assert await count_old(database) == 0
    assert not await rebuilder.run(on_progress=lambda *_: None)


async def test_running_service_continues_a_rebuild_on_demand_that_was_killed(database: Database) -> None:
    await EventStore(database, DataVersions(database)).upsert(EVENTS)
    stored = EventFormat(database, DataVersions(database), batch_size=10)
    rebuilder = Rebuilder(database, stored, retry_seconds=0, watch_seconds=0)
    watching = asyncio.create_task(rebuilder.watch())

    class Killed(Exception):
        pass

    def kill_in_the_middle(done: int, total: int) -> None:
        if done:
            raise Killed

    other = Rebuilder(database, EventFormat(database, DataVersions(database), batch_size=10), retry_seconds=0)
    with pytest.raises(Killed):
        await other.run(is_forced=True, on_progress=kill_in_the_middle)
    async with asyncio.timeout(60):
        while await rebuilder.readiness_details():
            await asyncio.sleep(0)
    watching.cancel()
    await asyncio.wait([watching])
    state = await rebuilder.state()
    assert (state.done, state.total, state.target) == (len(EVENTS), len(EVENTS), None)


async def test_events_edited_during_the_rebuild_are_not_overwritten(database: Database) -> None:
    store = EventStore(database, DataVersions(database))
    await store.upsert(EVENTS)
    await store_in_format_0(database)
    stored = EventFormat(database, DataVersions(database), batch_size=10)
    batch = await stored.load_batch(START, include_current=False)
    assert batch is not None
    assert [row.id for row in batch.rows] == [event.id for event in EVENTS[:10]]
    await store.upsert([make_event(1, name={"en": "Edited"}, countries=())])
    await store.delete([2])
    async with database.transaction() as connection:
        await stored.lock(connection)
        await stored.write_batch(connection, batch)
    listed = [msgspec.json.decode(record) async for record in list_records(database, Language.FRENCH)]
    records = {record["id"]: record for record in listed}
    assert records[1]["name"] == "Edited"
    assert records[1]["countries"] == []
    assert 2 not in records
    assert records[3]["name"] == "Inondation 3"
    assert await count_old(database) == len(EVENTS) - 10


async def test_readers_of_the_state_before_an_edit_get_old_documents_right(database: Database) -> None:
    """An edit archives the document, which was in an old format; the history has no packed event."""
    store = EventStore(database, DataVersions(database))
    await store.upsert(EVENTS)
    await store_in_format_0(database)
    before = await open_search(database).snapshot()
    await store.upsert([make_event(1, name={"en": "Edited"})])
    (record,) = await before.records([1], Language.FRENCH, FULL_SCOPE)
    assert msgspec.json.decode(record)["name"] == "Inondation 1"
    async with database.read_transaction() as connection:
        assert (await connection.execute(select(history.c.format))).scalars().all() == [EVENT_FORMAT]


async def test_one_process_rebuilds_and_another_takes_over(database: Database) -> None:
    await EventStore(database, DataVersions(database)).upsert(EVENTS)
    await store_in_format_0(database)
    other = Lease(database, "rebuild events")
    assert await other.acquire()
    assert await other.acquire(), "the holder may ask again"
    stored = EventFormat(database, DataVersions(database), batch_size=10)
    rebuilder = Rebuilder(database, stored, retry_seconds=0)
    waiting = asyncio.create_task(rebuilder.run_in_background())
    done, _ = await asyncio.wait([waiting], timeout=0.2)
    assert not done
    assert await count_old(database) == len(EVENTS)
    await expire_leases(database)
    await waiting
    assert await count_old(database) == 0
    with pytest.raises(LeaseExpired):
        async with database.transaction() as connection:
            await other.renew(connection)


async def test_rebuild_stops_when_its_lease_has_expired(database: Database) -> None:
    await EventStore(database, DataVersions(database)).upsert(EVENTS)
    await store_in_format_0(database)
    stored = EventFormat(database, DataVersions(database), batch_size=10)
    rebuilder = Rebuilder(database, stored, lease_duration=timedelta(0))
    with pytest.raises(LeaseExpired):
        await rebuilder._run_under_lease(is_forced=False, on_progress=lambda *_: None, pauses=False)
    assert await count_old(database) == len(EVENTS)


async def test_rebuild_on_demand_continues_after_it_lost_its_lease(database: Database) -> None:
    await EventStore(database, DataVersions(database)).upsert(EVENTS)
    other = Lease(database, "rebuild events")

    class Interrupted(EventFormat):
        times_loaded = 0

        async def load_batch(self, after: int, *, include_current: bool) -> Batch[RebuiltEvent] | None:
            self.times_loaded += 1
            if self.times_loaded == 2:
                await expire_leases(database)
                assert await other.acquire()
                await expire_leases(database)
            return await super().load_batch(after, include_current=include_current)

    stored = Interrupted(database, DataVersions(database), batch_size=10)
    assert await Rebuilder(database, stored, retry_seconds=0).run(is_forced=True, on_progress=lambda *_: None)
    assert stored.times_loaded > 2
    state = await Rebuilder(database, stored).state()
    assert (state.done, state.total, state.target) == (len(EVENTS), len(EVENTS), None)
