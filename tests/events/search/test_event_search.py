"""The index and the caches of the search; `test_lists.py` has what a caller sees."""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldgate.db import AsyncDatabase, DataVersions
from fieldgate.events.documents import RECORD_OVERHEAD_BYTES, RecordCache, RecordShape
from fieldgate.events.model import Event
from fieldgate.events.search.event_search import EventSearch, SingleFlightCache
from fieldgate.events.search.filters import EventFilters, UnimplementedFilter, check_filters
from fieldgate.events.store import EventStore, StaleIndex
from fieldgate.events.visibility import PUBLIC_SCOPE
from fieldgate.i18n.languages import Language
from fieldgate.pagination import PageRequest
from fieldgate.reference.reference_data import ReferenceData
from fieldgate.reference.store import TOPIC as REFERENCE
from fieldgate.reference.store import ReferenceStore
from tests.events.reference_search import matching_ids
from tests.events.write_events import TOGGLED_ID, events_of_round


class SearchHarness:
    """A database with events, and a search that reads it."""

    def __init__(self, database: AsyncDatabase) -> None:
        versions = DataVersions(database)
        reference = ReferenceStore(database, versions)
        self.store = EventStore(database, versions)
        self.search = EventSearch(self.store, reference, versions)
        self.held: dict[int, Event] = {}

    async def put(self, events: Sequence[Event]) -> None:
        await self.store.upsert(events)
        self.held |= {event.id: event for event in events}

    async def delete(self, id_: int) -> None:
        async with self.store.writer() as writer:
            await writer.delete([id_])
        self.held.pop(id_, None)

    async def check(self, filters: Mapping[str, Any]) -> None:
        """Compare the first page with the events that were written."""
        reference_data = (await self.search.current()).reference_data
        expected = matching_ids(
            list(self.held.values()), filters, PUBLIC_SCOPE, Language.ENGLISH, reference_data
        )
        page = await self.search.find(
            EventFilters(**filters), PUBLIC_SCOPE, Language.ENGLISH, PageRequest(5)
        )
        records = [msgspec.json.decode(record) for record in page.records]
        assert page.count == len(expected)
        assert [(record["id"], record["num_affected"]) for record in records] == [
            (id_, self.held[id_].num_affected) for id_ in expected[:5]
        ]


@pytest.mark.parametrize(
    "filters", [{}, {"ordering": "num_affected"}, {"search": "round"}], ids=str
)
async def test_state_cannot_be_read_after_a_write(
    database: AsyncDatabase, filters: dict[str, Any]
) -> None:
    harness = SearchHarness(database)
    await harness.put(events_of_round(2))
    before = await harness.search.current()
    await harness.put(events_of_round(4))
    with pytest.raises(StaleIndex):
        _, ids = await before.matching_ids(
            EventFilters(**filters), PUBLIC_SCOPE, Language.ENGLISH, PageRequest(5)
        )
        await before.records(ids, Language.ENGLISH, PUBLIC_SCOPE, RecordShape.RECORD, None)
    await harness.check(filters)


async def test_changes_are_applied_in_several_steps(
    database: AsyncDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fieldgate.events.store.MAX_CHANGES_AT_ONCE", 1)
    monkeypatch.setattr(sys.modules["fieldgate.db.snapshot"], "BATCH_SIZE", 7)
    harness = SearchHarness(database)
    for round_number in (2, 4, 3):
        await harness.put(events_of_round(round_number))
        await harness.check({})
    await harness.delete(TOGGLED_ID)
    await harness.put(
        [msgspec.structs.replace(event, parent_event=1) for event in events_of_round(5)[:3]]
    )
    await harness.check({})


async def test_reference_data_is_read_again_only_after_a_change(
    database: AsyncDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads = 0
    load = ReferenceStore._load

    async def count(store: ReferenceStore) -> tuple[int, ReferenceData]:
        nonlocal loads
        loads += 1
        return await load(store)

    monkeypatch.setattr(ReferenceStore, "_load", count)
    changes = DataVersions(database)
    store = EventStore(database, changes)
    events = EventSearch(store, ReferenceStore(database, changes), changes)
    for number in (1, 2):
        await store.upsert(events_of_round(number))
        await events.current()
    assert loads == 1
    async with database.transaction() as connection:
        await changes.bump(connection, REFERENCE)
    await store.upsert(events_of_round(3))
    await events.current()
    assert loads == 2


async def test_waiting_caller_does_not_get_the_stale_index_of_another() -> None:
    """The first caller has no snapshot and is overtaken by a write; the second one has a snapshot, and is answered."""
    cache, is_overtaken = SingleFlightCache[str](4), asyncio.Event()

    async def without_snapshot() -> str:
        await is_overtaken.wait()
        raise StaleIndex

    async def with_snapshot() -> str:
        return "ranks"

    first = asyncio.create_task(cache.get("name", without_snapshot))
    second = asyncio.create_task(cache.get("name", with_snapshot))
    await asyncio.sleep(0)  # both have begun
    is_overtaken.set()
    assert await second == "ranks"
    with pytest.raises(StaleIndex):
        await first
    assert await cache.get("name", without_snapshot) == "ranks"


class FiltersWithoutImplementation(EventFilters, frozen=True, kw_only=True):
    colour: str = ""


def test_field_without_implementation() -> None:
    with pytest.raises(
        UnimplementedFilter, match="FiltersWithoutImplementation: nothing implements colour"
    ):
        check_filters(FiltersWithoutImplementation)


BOUND = 4 * RECORD_OVERHEAD_BYTES

tos = st.sampled_from(("fr", "en", ("en", 3)))
numbers = st.integers(1, 8)
puts = st.tuples(
    st.just("put"),
    tos,
    st.dictionaries(numbers, st.binary(min_size=1, max_size=2 * RECORD_OVERHEAD_BYTES)),
)
gets = st.tuples(st.just("get"), tos, st.lists(numbers, unique=True))
changes = st.tuples(st.just("change"), tos, st.sets(numbers))


@given(st.lists(puts | gets | changes))
def test_cache_against_model(steps: list) -> None:  # type: ignore[type-arg]
    shown = RecordCache(BOUND)
    last: dict[tuple[object, int], bytes] = {}
    left: list[RecordCache] = []
    for what, to, given_ in steps:
        if what == "put":
            shown.put(to, given_)
            last |= {(to, number): record for number, record in given_.items()}
            for earlier in left:
                earlier.put(to, given_)
        elif what == "get":
            for number, record in zip(given_, shown.get(to, given_), strict=True):
                assert record in (None, last.get((to, number)))
        else:
            left.append(shown)
            shown = shown.transfer_unchanged(given_)
            last = {
                (to, number): record
                for (to, number), record in last.items()
                if number not in given_
            }
        kept = [record for to, number in last if (record := shown.get(to, [number])[0]) is not None]
        assert (
            shown.used_bytes == sum(len(record) + RECORD_OVERHEAD_BYTES for record in kept) <= BOUND
        )
    assert all(earlier.used_bytes == 0 for earlier in left)
