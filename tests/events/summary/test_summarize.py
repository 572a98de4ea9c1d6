"""A summary is the sum of the events, for any writes, filters and callers."""

import itertools
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import msgspec
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from fieldgate.events.model import Event
from fieldgate.events.summary.periods import periods_between
from fieldgate.i18n.languages import Language
from fieldgate.reference.reference_data import ReferenceData
from tests.events import reference_summary
from tests.events.event_service import make_event
from tests.events.reference_search import Filters, event_filters, from_query, matching_ids
from tests.events.samples import FIRST_DAY, event_lists
from tests.events.search.test_lists import EXAMPLES, SCOPES, EventLists, callers, lists

__all__ = ["lists"]
SUMMARY = "/api/v2/event/summary/"


def spread(factor: int) -> Callable[[list[Event]], list[Event]]:
    """The events with their start dates that many times as far apart, in the middle of days."""

    def move(event: Event) -> Event:
        days = (event.disaster_start_date - FIRST_DAY).days * factor
        return msgspec.structs.replace(
            event, disaster_start_date=FIRST_DAY + timedelta(days=days, hours=days % 24)
        )

    return lambda events: [move(event) for event in events]


written = st.sampled_from((1, 7, 61, 400)).flatmap(lambda factor: event_lists().map(spread(factor)))
asked = st.tuples(event_filters, callers, st.sampled_from(Language))


async def check_summary(
    lists: EventLists, filters: Filters, caller: str, language: Language
) -> None:
    """Compare the summary with the events, and what its queries find with what the entries count."""
    filters = {name: value for name, value in filters.items() if name != "ordering"}
    summary = await lists.get(SUMMARY, filters, caller, language)

    def found(narrowed: Filters) -> list[Event]:
        ids = matching_ids(
            list(lists.held.values()), narrowed, SCOPES[caller], language, lists.reference_data
        )
        return in_order([lists.held[id_] for id_ in ids])

    chosen = found(filters)
    expected = expected_summary(chosen, lists.reference_data, language)
    assert without_queries(summary) == msgspec.to_builtins(expected.fields)
    for query, events in zip(all_queries(summary), [chosen, *expected.events], strict=True):
        assert found(from_query(query)) == in_order(events), query


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
    max_examples=EXAMPLES // 3,
    phases=[Phase.explicit, Phase.generate],  # to shrink an example takes minutes
)
@given(
    st.lists(
        st.tuples(
            written,
            st.lists(st.integers(0, 40), max_size=2),
            st.lists(asked, min_size=1, max_size=8),
        ),
        min_size=1,
        max_size=3,
    ),
)
async def test_summary_equals_sum_of_events(lists: EventLists, steps: list[Any]) -> None:
    try:
        for events, gone, questions in steps:
            await lists.load(events)
            await lists.delete(gone)
            for question in [*questions, ({}, "superuser", Language.ENGLISH)]:
                await check_summary(lists, *question)
    finally:
        await lists.delete(list(lists.held))


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


async def test_first_and_last_year_of_the_calendar(lists: EventLists) -> None:
    """There is no day after the last one, and periods without events are left out where they would be thousands."""
    dates = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
    await lists.load(
        [make_event(id_, disaster_start_date=start) for id_, start in enumerate(dates)]
    )
    summary = await lists.get(SUMMARY, {}, "public", Language.ENGLISH)
    periods = [
        (period["start"][:4], period["end"][:4], period["name"], period["count"], period["query"])
        for period in summary["periods"]
    ]
    assert periods == [
        ("0001", "0001", "1", 1, "disaster_start_date__gte=0001-01-01&disaster_start_date__lt=0002-01-01"),
        ("9999", "9999", "9999", 1, "disaster_start_date__gte=9999-01-01"),
    ]  # fmt: skip
    late = {"disaster_start_date__gte": dates[1]}
    assert (await lists.get(SUMMARY, late, "public", Language.ENGLISH))["count"] == 1
