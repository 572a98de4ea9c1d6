"""Writing many records in one transaction."""

from fieldgate.db import Database, DataVersions
from fieldgate.events.event_writer import BulkWriteResult
from fieldgate.events.ingest.bulk_write import PendingRecord, write_records
from fieldgate.events.model import Event
from fieldgate.events.store import EventStore
from tests.events.event_service import make_event


async def test_taken_slugs_do_not_block_other_records(database: Database) -> None:
    store = EventStore(database, DataVersions(database))
    await store.upsert([make_event(id_, slug=f"s{id_}") for id_ in range(1, 31)])
    parsed: list[int] = []
    failures: list[str] = []

    def pending(id_: int, slug: str) -> PendingRecord:
        def parse(_: Event | None) -> Event:
            parsed.append(id_)
            return make_event(id_, slug=slug)

        return PendingRecord(id_, f"event {id_}", parse)

    swapped = [pending(1, "s2"), pending(2, "s1")]
    # 3 wants the slug of 4, and 4 that of 5, which keeps it.
    blocked = [pending(3, "s4"), pending(4, "s5")]
    taken = [pending(id_ + 100, f"s{id_}") for id_ in range(6, 31)]
    result = await write_records(
        store, [*swapped, *blocked, *taken, pending(500, "free")], lambda failure: failures.append(failure.location)
    )
    assert result == BulkWriteResult(created=1, changed=2, failed=27)
    assert len(parsed) == len(set(parsed)) == 30, "each is parsed once"
    assert sorted(failures) == sorted(["event 3", "event 4", *(f"event {id_ + 100}" for id_ in range(6, 31))])
    holders = [await store.find(slug) for slug in ("s1", "s2", "s3", "s4", "free")]
    assert [each and each.event.id for each in holders] == [2, 1, 3, 4, 500]
