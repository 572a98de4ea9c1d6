"""A summary from the index is the sum of the records, for any writes, filters and callers."""

import itertools
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import msgspec
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from fieldgate.db import AsyncDatabase, DataVersions
from fieldgate.events.model import Event
from fieldgate.events.search.event_search import EventSearch
from fieldgate.events.search.filters import EventFilters
from fieldgate.events.store import EventStore
from fieldgate.events.summary.entry_queries import EntryQueries
from fieldgate.events.summary.periods import periods_between
from fieldgate.events.summary.schemas import EventSummary
from fieldgate.events.summary.summarize import summarize
from fieldgate.events.visibility import FULL_SCOPE, PUBLIC_SCOPE, ViewerScope
from fieldgate.http.request.validation import parse_struct
from fieldgate.http.request_parsing import parse_query
from fieldgate.i18n.languages import Language
from fieldgate.reference.reference_data import ReferenceData
from fieldgate.reference.store import ReferenceStore
from tests.events import reference_summary
from tests.events.event_service import make_event
from tests.events.reference_search import event_filters, matching_ids
from tests.events.samples import FIRST_DAY, event_lists
from tests.events.search.test_event_search import SearchHarness, sights
from tests.events.stored_events import delete_events

Question = tuple[EventFilters, ViewerScope, Language]


def spread(factor: int) -> Callable[[list[Event]], list[Event]]:
    """The events with their start dates that many times as far apart, in the middle of days."""

    def move(event: Event) -> Event:
        days = (event.disaster_start_date - FIRST_DAY).days * factor
        return msgspec.structs.replace(
            event, disaster_start_date=FIRST_DAY + timedelta(days=days, hours=days % 24)
        )

    return lambda events: [move(event) for event in events]


written = st.sampled_from((1, 7, 61, 400)).flatmap(lambda factor: event_lists().map(spread(factor)))
asked = st.tuples(event_filters, sights, st.sampled_from(Language))


def to_params(asked_for: EventFilters) -> dict[str, str]:
    """The filters as query parameters."""
    given = {name: getattr(asked_for, name) for name in asked_for.__struct_fields__}
    return {name: _to_text(value) for name, value in given.items() if value not in (None, (), "")}


def _to_text(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value).lower() if isinstance(value, bool) else str(value)


def new_search(database: AsyncDatabase) -> EventSearch:
    versions = DataVersions(database)
    return EventSearch(EventStore(database, versions), ReferenceStore(database, versions), versions)


async def summary_of(search: EventSearch, filters: EventFilters | None = None) -> EventSummary:
    state = await search.current()
    asked_for = filters or EventFilters()
    selection = await state.selection(asked_for, PUBLIC_SCOPE)
    return summarize(
        state.context,
        selection,
        EntryQueries({}, asked_for, state.reference_data),
        Language.ENGLISH,
    )


class SummaryHarness(SearchHarness):
    """A database with events, and one search that reads it."""

    def __init__(self, database: AsyncDatabase) -> None:
        super().__init__(database)
        self.readers = self.readers[:1]

    async def check_summary(self, question: Question) -> None:
        """Compare the summary with the records, and what its queries find with what the entries count."""
        asked_for, scope, language = question
        state = await self.readers[0].current()
        selection = await state.selection(asked_for, scope)
        queries = EntryQueries(to_params(asked_for), asked_for, state.reference_data)
        summary = msgspec.to_builtins(summarize(state.context, selection, queries, language))
        chosen = self._found(asked_for, scope, state.reference_data)
        expected = expected_summary(chosen, state.reference_data, language)
        assert without_queries(summary) == msgspec.to_builtins(expected.fields)
        for query, events in zip(all_queries(summary), [chosen, *expected.events], strict=True):
            narrowed = parse_struct(EventFilters, parse_query(query.encode()), blank_is_absent=True)
            assert self._found(narrowed, scope, state.reference_data) == in_order(events), query

    def _found(
        self, asked_for: EventFilters, scope: ViewerScope, reference_data: ReferenceData
    ) -> list[Event]:
        unordered = msgspec.structs.replace(asked_for, ordering="")
        ids = matching_ids(
            list(self.held.values()), unordered, scope, Language.ENGLISH, reference_data
        )
        return in_order([self.held[id_] for id_ in ids])


class ExpectedSummary(msgspec.Struct):
    """The fields of a summary without names and queries, and the events of each entry."""

    fields: dict[str, Any]
    events: list[list[Event]]


def expected_summary(
    events: list[Event], reference_data: ReferenceData, language: Language
) -> ExpectedSummary:
    interval, periods = reference_summary.by_period(events)
    countries = reference_summary.by_country(events, reference_data, language)
    regions = reference_summary.by_region(events, reference_data)
    types = reference_summary.by_type(events, reference_data, language)
    severities = reference_summary.by_severity(events)
    fields = {
        **reference_summary.figures(events),
        "interval": interval,
        "periods": [
            {**reference_summary.figures(some), "start": key[0], "end": key[1]}
            for key, some in periods
        ],
        **{
            name: [{**reference_summary.figures(some), "id": key} for key, some in groups]
            for name, groups in (
                ("countries", countries),
                ("regions", regions),
                ("types", types),
                ("severities", severities),
            )
        },
    }
    groups = [*periods, *countries, *regions, *types, *severities]
    return ExpectedSummary(fields, [some for _, some in groups])


LISTS = ("periods", "countries", "regions", "types", "severities")
NOT_COMPARED = ("query", "name", "iso", "iso3", "region")


def without_queries(summary: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in summary.items() if name != "query"}
    for name in LISTS:
        kept[name] = [
            {key: entry[key] for key in entry if key not in NOT_COMPARED} for entry in summary[name]
        ]
    return kept


def all_queries(summary: dict[str, Any]) -> list[str]:
    return [summary["query"], *(entry["query"] for name in LISTS for entry in summary[name])]


def in_order(events: Sequence[Event]) -> list[Event]:
    return sorted(events, key=lambda event: event.id)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
@given(
    st.lists(
        st.tuples(written, st.lists(st.integers(0, 40), max_size=2), st.lists(asked, max_size=4)),
        max_size=3,
    ),
)
async def test_summary_equals_sum_of_records(database: AsyncDatabase, steps: list[Any]) -> None:
    harness = SummaryHarness(database)
    for events, gone, questions in steps:
        await harness.put(events)
        for number in gone:
            await harness.delete(number)
        for question in [*questions, (EventFilters(), FULL_SCOPE, Language.ENGLISH)]:
            await harness.check_summary(question)
    await delete_events(harness.store, list(harness.held))


@given(st.sampled_from(("month", "year")), st.dates(), st.integers(0, 3000))
def test_periods_have_no_gaps(interval: str, first: date, days: int) -> None:
    last = first + timedelta(days=min(days, (date.max - first).days))
    periods = list(periods_between(interval, first, last))  # type: ignore[arg-type]
    assert periods[0].start <= first <= periods[0].end
    assert periods[-1].start <= last <= periods[-1].end
    for one, other in itertools.pairwise(periods):
        assert other.start - one.end == timedelta(days=1)
        assert other.first_microsecond - one.last_microsecond == 1
    for period in periods:
        assert period.start.day == 1
        assert (period.end - period.start).days in (
            (27, 28, 29, 30) if interval == "month" else (364, 365)
        )


async def test_first_and_last_year_of_the_calendar(database: AsyncDatabase) -> None:
    """There is no day after the last one, and periods without events are left out where they would be thousands."""
    search = new_search(database)
    dates = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
    stored = [make_event(number, disaster_start_date=start) for number, start in enumerate(dates)]
    await search._store.upsert(stored)
    periods = (await summary_of(search)).periods
    assert [(each.start.year, each.end.year, each.name, each.count) for each in periods] == [
        (1, 1, "1", 1),
        (9999, 9999, "9999", 1),
    ]
    assert (
        periods[0].query == "disaster_start_date__gte=0001-01-01&disaster_start_date__lt=0002-01-01"
    )
    assert periods[1].query == "disaster_start_date__gte=9999-01-01"
    assert (await summary_of(search, EventFilters(disaster_start_date__gte=dates[1]))).count == 1
