"""The search finds what the reference search finds, for any writes, filters, orderings and pages."""

import asyncio
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fieldgate.db import AsyncDatabase, DataVersions
from fieldgate.events.documents import RECORD_OVERHEAD_BYTES, RecordCache, RecordShape
from fieldgate.events.model import Event
from fieldgate.events.search.event_search import RECORD_CACHE_BYTES, EventSearch, SingleFlightCache
from fieldgate.events.search.filters import EventFilters, UnimplementedFilter, check_filters
from fieldgate.events.store import EventStore, StaleIndex
from fieldgate.events.visibility import FULL_SCOPE, PUBLIC_SCOPE, ViewerScope
from fieldgate.i18n.languages import Language
from fieldgate.pagination import PageRequest
from fieldgate.reference.reference_data import ReferenceData
from fieldgate.reference.store import TOPIC as REFERENCE
from fieldgate.reference.store import ReferenceStore
from tests.events.reference_search import FILTER_VALUES, event_filters, matching_ids, varied_events
from tests.events.samples import event_lists
from tests.events.stored_events import delete_events
from tests.events.write_events import TOGGLED_ID, events_of_round

sights = st.sampled_from(
    (PUBLIC_SCOPE, FULL_SCOPE, ViewerScope(frozenset({1, 3}), frozenset({14, 27})))
)
asked = st.tuples(
    event_filters, sights, st.sampled_from(Language), st.integers(1, 5), st.integers(0, 8)
)


class SearchHarness:
    """A database with events, and searches that read it."""

    def __init__(self, database: AsyncDatabase) -> None:
        self.store = EventStore(database, DataVersions(database))
        self.reference = ReferenceStore(database, DataVersions(database))
        # One keeps records, another too few for a page, and one none: all make the same of them.
        self.readers = [self.reader(database, kept) for kept in (RECORD_CACHE_BYTES, 5000, 0)]
        self.held: dict[int, Event] = {}

    def reader(self, database: AsyncDatabase, kept: int) -> EventSearch:
        changes = DataVersions(database)
        return EventSearch(
            EventStore(database, changes),
            ReferenceStore(database, changes),
            changes,
            record_cache_bytes=kept,
        )

    async def put(self, events: Sequence[Event]) -> None:
        await self.store.upsert(events)
        self.held |= {event.id: event for event in events}

    async def delete(self, number: int) -> None:
        assert await delete_events(self.store, [number]) == (number in self.held)
        self.held.pop(number, None)

    async def check(self, question: tuple[EventFilters, ViewerScope, Language, int, int]) -> int:
        """Compare one page. Return how many events match."""
        filters, sight, language, limit, offset = question
        directory = await self.reference.current()
        expected = matching_ids(list(self.held.values()), filters, sight, language, directory)
        answers = [
            await reader.find(filters, sight, language, PageRequest(limit, offset))
            for reader in self.readers
        ]
        assert len({tuple(found.records) for found in answers}) == 1
        for found in answers:
            documents = [msgspec.json.decode(record) for record in found.records]
            assert found.count == len(expected)
            assert [document["id"] for document in documents] == expected[offset : offset + limit]
            assert [document["num_affected"] for document in documents] == [
                self.held[document["id"]].num_affected for document in documents
            ], "the documents are those of now"
        return len(expected)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    st.lists(
        st.tuples(
            event_lists(), st.lists(st.integers(0, 40), max_size=2), st.lists(asked, max_size=4)
        ),
        max_size=4,
    )
)
async def test_search_equals_reference_search(database: AsyncDatabase, steps: list[tuple]) -> None:  # type: ignore[type-arg]
    harness = SearchHarness(database)
    for written, gone, questions in steps:
        await harness.put(written)
        for number in gone:
            await harness.delete(number)
        for question in questions:
            await harness.check(question)
    await delete_events(harness.store, list(harness.held))


async def test_every_filter_alone(database: AsyncDatabase) -> None:
    """Each one keeps some of the events and leaves others out: none of them compares nothing with nothing."""
    harness = SearchHarness(database)
    await harness.put(varied_events())
    fields = {field.name for field in msgspec.structs.fields(EventFilters)} - {"ordering"}
    assert FILTER_VALUES.keys() == fields, "a row for every filter"
    for name, values in FILTER_VALUES.items():
        found = set()
        for value in values:
            filters = EventFilters(**{name: value})
            found.add(await harness.check((filters, PUBLIC_SCOPE, Language.ENGLISH, 100, 0)))
        assert found - {0, len(harness.held)}, name


@pytest.mark.parametrize(
    "filters", [{}, {"ordering": "num_affected"}, {"search": "round"}], ids=str
)
async def test_state_cannot_be_read_after_a_write(
    database: AsyncDatabase, filters: dict[str, Any]
) -> None:
    harness = SearchHarness(database)
    await harness.put(events_of_round(2))
    before = await harness.readers[0].current()
    await harness.put(events_of_round(4))
    with pytest.raises(StaleIndex):
        _, ids = await before.matching_ids(
            EventFilters(**filters), PUBLIC_SCOPE, Language.ENGLISH, PageRequest(5)
        )
        await before.records(ids, Language.ENGLISH, PUBLIC_SCOPE, RecordShape.RECORD, None)
    await harness.check((EventFilters(**filters), PUBLIC_SCOPE, Language.ENGLISH, 5, 0))


async def test_changes_are_applied_in_several_steps(
    database: AsyncDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fieldgate.events.store.MAX_CHANGES_AT_ONCE", 1)
    monkeypatch.setattr(sys.modules["fieldgate.db.snapshot"], "BATCH_SIZE", 7)
    harness = SearchHarness(database)
    question = (EventFilters(), PUBLIC_SCOPE, Language.ENGLISH, 5, 0)
    for round_number in (2, 4, 3):
        await harness.put(events_of_round(round_number))
        await harness.check(question)
    await harness.delete(TOGGLED_ID)
    await harness.put(
        [msgspec.structs.replace(event, parent_event=1) for event in events_of_round(5)[:3]]
    )
    await harness.check(question)


async def test_demo_events_are_replaced(database: AsyncDatabase) -> None:
    """They are deleted without a record, so that the index is loaded again."""
    harness = SearchHarness(database)
    await harness.store.upsert(events_of_round(2), is_demo=True)
    reader = harness.readers[0]
    assert len((await reader.current()).index) == len(events_of_round(2))
    await harness.store.delete_demo()
    await harness.store.upsert(events_of_round(1)[:3], is_demo=True)
    assert await _shown(reader) == _in_order(events_of_round(1)[:3])


def _in_order(events: Iterable[Event]) -> list[tuple[int, int | None]]:
    ordered = sorted(events, key=lambda event: (-event.disaster_start_date.timestamp(), event.id))
    return [(event.id, event.num_affected) for event in ordered]


async def _shown(events: EventSearch, **filters: Any) -> list[tuple[int, int | None]]:
    found = await events.find(
        EventFilters(**filters), PUBLIC_SCOPE, Language.ENGLISH, PageRequest(100)
    )
    records = [msgspec.json.decode(record) for record in found.records]
    assert found.count == len(records)
    return [(record["id"], record["num_affected"]) for record in records]


async def test_answers_are_consistent_while_another_process_writes(
    database: AsyncDatabase, database_url: str
) -> None:
    rounds = 40
    changes = DataVersions(database)
    await changes.start()
    events = EventSearch(EventStore(database, changes), ReferenceStore(database, changes), changes)
    writer = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.events.write_events", database_url, str(rounds)
    )
    seen = set()
    while rounds not in seen:
        shown = await _shown(events)
        number = shown[0][1] if shown else None
        assert shown == _in_order(events_of_round(number) if number else [])
        seen.add(number)
        await asyncio.sleep(0)  # cached results would leave no turn to other tasks
        country = 84 if (number or 0) % 2 else 123
        in_country = await _shown(events, countries__in=(country,), search="round")
        assert in_country == _in_order(
            events_of_round(in_country[0][1]) if in_country and in_country[0][1] else []
        )
    assert await writer.wait() == 0
    assert len(seen) > 2, "it did not only see the end"
    await events.stop()
    await changes.stop()


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
