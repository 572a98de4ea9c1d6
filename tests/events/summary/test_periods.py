"""Periods of summaries: months or years, their names, and dates at the ends of the calendar."""

import itertools
from datetime import UTC, date, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from fieldgate.db import Database
from fieldgate.events.search.filters import EventFilters
from fieldgate.events.summary.periods import periods_between
from tests.events.event_service import make_event
from tests.events.summary.test_summarize import new_search, summary_of


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
        assert (period.end - period.start).days in ((27, 28, 29, 30) if interval == "month" else (364, 365))


async def test_first_and_last_year_of_the_calendar(database: Database) -> None:
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
    assert periods[0].query == "disaster_start_date__gte=0001-01-01&disaster_start_date__lt=0002-01-01"
    assert periods[1].query == "disaster_start_date__gte=9999-01-01"
    assert (await summary_of(search, EventFilters(disaster_start_date__gte=dates[1]))).count == 1
