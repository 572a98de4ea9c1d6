"""The search finds what the reference search finds, for any writes, filters, orderings and pages."""

import asyncio
import sys
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fieldgate.db import Database, DataVersions
from fieldgate.events.model import SOURCES, Event
from fieldgate.events.search.event_search import RECORD_CACHE_BYTES, EventSearch, EventSnapshot, SingleFlightCache
from fieldgate.events.search.filters import ORDERING_FIELDS, EventFilters
from fieldgate.events.store import EventStore
from fieldgate.events.versioned_reads import SnapshotExpired
from fieldgate.events.visibility import FULL_SCOPE, PUBLIC_SCOPE, ViewerScope
from fieldgate.i18n.languages import Language
from fieldgate.pagination import PageRequest
from fieldgate.reference.store import ReferenceStore
from tests.events.reference_search import matching_ids
from tests.events.samples import COUNTRIES, TYPES, event_lists, timestamps
from tests.events.write_events import START, TOGGLED_ID, events_of_round

sights = st.sampled_from((PUBLIC_SCOPE, FULL_SCOPE, ViewerScope(frozenset({1, 3}), frozenset({14, 27}))))
terms = st.builds(lambda sign, field: sign + field, st.sampled_from(("", "-")), st.sampled_from(ORDERING_FIELDS))
numbers = st.lists(st.sampled_from((*COUNTRIES, 9999, 2**70)), max_size=2).map(tuple)
few = st.sampled_from((None, None, None, True, False))


def a(strategy: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    """Mostly None: many filters at once match no event."""
    return st.none() | st.none() | st.none() | strategy


filters = st.builds(
    EventFilters,
    countries__in=st.just(()) | numbers,
    regions__in=st.just(()) | st.lists(st.sampled_from((0, 1, 2, 3, 99)), max_size=2).map(tuple),
    countries__iso3__in=st.just(())
    | st.just(())
    | st.lists(st.sampled_from(("AFG", "npl", "XXX")), max_size=2).map(tuple),
    countries__all=st.just(()) | st.just(()) | st.lists(st.sampled_from((14, 27, 123, 999)), max_size=2).map(tuple),
    regions__all=st.just(()) | st.just(()) | st.lists(st.sampled_from((0, 1, 2, 99)), max_size=2).map(tuple),
    dtype=a(st.sampled_from((*TYPES, 999))),
    dtype__in=st.just(()) | st.just(()) | st.lists(st.sampled_from(TYPES), max_size=2).map(tuple),
    id=a(st.sampled_from((0, 1, 2, 3, 2**70))),
    id__in=st.just(()) | st.just(()) | st.lists(st.integers(0, 40), max_size=20).map(tuple),
    appeal_type=st.just(()) | st.just(()) | st.lists(st.integers(0, 3), max_size=2).map(tuple),
    appeal_code=st.sampled_from(("", "", "", "MDRNP001", "%")),
    is_featured=few,
    is_featured_region=few,
    auto_generated_source=a(st.sampled_from(SOURCES)),
    glide=st.sampled_from(("", "", "", "FL-2020-000001-NPL")),
    ifrc_severity_level=a(st.integers(0, 2)),
    ifrc_severity_level__in=st.just(()) | st.just(()) | st.just((0, 2)),
    disaster_start_date__gte=a(timestamps),
    disaster_start_date__lt=a(timestamps),
    disaster_start_date=a(a(timestamps)),
    created_at__gt=a(timestamps),
    created_at__lte=a(timestamps),
    updated_at__gte=a(timestamps),
    search=st.sampled_from(("", "", "flood", "CRUE", "école", "nep", '"a flood"', "fl, oo", "%", "neverheard")),
    ordering=st.sampled_from(("", "-disaster_start_date")) | st.lists(terms, max_size=3).map(",".join),
)
asked = st.tuples(filters, sights, st.sampled_from(Language), st.integers(1, 5), st.integers(0, 8))


class SearchHarness:
    """A database with events, and searches that read it."""

    def __init__(self, database: Database) -> None:
        self.store = EventStore(database, DataVersions(database))
        self.reference = ReferenceStore(database, DataVersions(database))
        # One keeps records, another too few for a page, and one none: all make the same of them.
        self.readers = [self.reader(database, kept) for kept in (RECORD_CACHE_BYTES, 5000, 0)]
        self.held: dict[int, Event] = {}

    def reader(self, database: Database, kept: int) -> EventSearch:
        changes = DataVersions(database)
        return EventSearch(
            EventStore(database, changes), ReferenceStore(database, changes), changes, record_cache_bytes=kept
        )

    async def put(self, events: Sequence[Event]) -> None:
        await self.store.upsert(events)
        self.held |= {event.id: event for event in events}

    async def delete(self, number: int) -> None:
        assert await self.store.delete([number]) == (number in self.held)
        self.held.pop(number, None)

    async def check(self, question: tuple[EventFilters, ViewerScope, Language, int, int]) -> None:
        filters, sight, language, limit, offset = question
        directory = await self.reference.current()
        expected = matching_ids(list(self.held.values()), filters, sight, language, directory)
        answers = [await reader.find(filters, sight, language, PageRequest(limit, offset)) for reader in self.readers]
        assert len({tuple(found.records) for found in answers}) == 1
        for found in answers:
            documents = [msgspec.json.decode(record) for record in found.records]
            assert found.count == len(expected)
            assert [document["id"] for document in documents] == expected[offset : offset + limit]
            assert [document["num_affected"] for document in documents] == [
                self.held[document["id"]].num_affected for document in documents
            ], "the documents are those of now"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=50)
@given(
    st.lists(
        st.tuples(event_lists(), st.lists(st.integers(0, 40), max_size=2), st.lists(asked, max_size=4)), max_size=4
    )
)
async def test_search_equals_reference_search(database: Database, steps: list[tuple]) -> None:  # type: ignore[type-arg]
    harness = SearchHarness(database)
    for written, gone, questions in steps:
        await harness.put(written)
        for number in gone:
            await harness.delete(number)
        for question in questions:
            await harness.check(question)
    await harness.store.delete(list(harness.held))


async def test_deleted_event_can_be_created_again(database: Database) -> None:
    """At the end, so that its id has two positions, one of them deleted."""
    harness = SearchHarness(database)
    (first, second) = events_of_round(1)[:2]
    await harness.put([first, second])
    question = (EventFilters(id=first.id), PUBLIC_SCOPE, Language.ENGLISH, 5, 0)
    for days in (1000, 2000):
        await harness.check(question)
        await harness.delete(first.id)
        await harness.check(question)
        await harness.put([msgspec.structs.replace(first, disaster_start_date=START + timedelta(days=days))])
        await harness.check(question)
        await harness.check((EventFilters(search="round"), PUBLIC_SCOPE, Language.ENGLISH, 5, 0))
    await harness.delete(first.id)
    await harness.check((EventFilters(), PUBLIC_SCOPE, Language.ENGLISH, 5, 0))


async def test_ordering_by_packed_fields_needs_the_current_version(database: Database) -> None:
    harness = SearchHarness(database)
    await harness.put(events_of_round(2))
    reader = harness.readers[0]
    before = await reader.snapshot()
    await harness.put(events_of_round(4))
    with pytest.raises(SnapshotExpired):
        await before.find(EventFilters(ordering="num_affected"), PUBLIC_SCOPE, Language.ENGLISH, PageRequest(5))
    await harness.check((EventFilters(ordering="-num_affected,name"), PUBLIC_SCOPE, Language.ENGLISH, 5, 0))


async def test_failures_are_not_cached() -> None:
    kept = SingleFlightCache[int](2)

    async def fail() -> int:
        await asyncio.sleep(0)
        raise ValueError

    async def succeed() -> int:
        return 1

    waiting = asyncio.ensure_future(kept.get("x", fail))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert await kept.get("x", succeed) == 1


async def test_large_index_is_rebuilt_in_background(database: Database) -> None:
    changes = DataVersions(database)
    events = EventSearch(
        EventStore(database, changes), ReferenceStore(database, changes), changes, max_blocking_rebuild_events=0
    )
    writer = EventStore(database, DataVersions(database))
    first = {event.id: event for event in events_of_round(2)}
    await writer.upsert(list(first.values()))
    before = await events.snapshot()
    assert await _shown(before) == _in_order(first.values())
    second = {event.id: event for event in events_of_round(3)}
    await writer.upsert(list(second.values()))
    await writer.delete([TOGGLED_ID])
    assert await events.snapshot() is before, "another one is in the making"
    assert events.lag > 0
    await events.wait_for_rebuild()
    assert await _shown(await events.snapshot()) == _in_order(second.values())
    assert events.lag == 0
    assert await _shown(before) == _in_order(first.values()), "deleted and moved ones as they were"
    assert await _shown(before, search="round 2") == _in_order(first.values())
    assert await _shown(before, search='"round 0"') == []
    await events.stop()


def _in_order(events: Iterable[Event]) -> list[tuple[int, int | None]]:
    ordered = sorted(events, key=lambda event: (-event.disaster_start_date.timestamp(), event.id))
    return [(event.id, event.num_affected) for event in ordered]


async def _shown(events: EventSearch | EventSnapshot, **filters: Any) -> list[tuple[int, int | None]]:
    found = await events.find(EventFilters(**filters), PUBLIC_SCOPE, Language.ENGLISH, PageRequest(100))
    records = [msgspec.json.decode(record) for record in found.records]
    assert found.count == len(records)
    return [(record["id"], record["num_affected"]) for record in records]


@pytest.mark.parametrize("at_once", [1000, 0])
async def test_answers_are_consistent_while_another_process_writes(
    database: Database, database_url: str, at_once: int
) -> None:
    rounds = 40
    changes = DataVersions(database)
    await changes.start()
    events = EventSearch(
        EventStore(database, changes), ReferenceStore(database, changes), changes, max_blocking_rebuild_events=at_once
    )
    writer = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.events.write_events", database_url, str(rounds)
    )
    seen = set()
    while rounds not in seen:
        shown = await _shown(events)
        number = shown[0][1] if shown else None
        assert shown == _in_order(events_of_round(number) if number else [])
        seen.add(number)
        await asyncio.sleep(0)  # cached results would leave no turn to the task that builds the next index
        country = 84 if (number or 0) % 2 else 123
        in_country = await _shown(events, countries__in=(country,), search="round")
        assert in_country == _in_order(events_of_round(in_country[0][1]) if in_country and in_country[0][1] else [])
    assert await writer.wait() == 0
    assert len(seen) > 2, "it did not only see the end"
    await events.stop()
    await changes.stop()
