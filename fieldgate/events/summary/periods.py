"""The months or years that summaries divide events into, by start date in UTC."""

from calendar import monthrange
from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from functools import lru_cache
from typing import Literal, NamedTuple

from babel.dates import format_skeleton

from fieldgate.db import Timestamp
from fieldgate.i18n.languages import Language

Interval = Literal["month", "year"]
MAX_MONTHS = 72  # with more, periods are years. The last five years are part of 61 months

_SKELETONS: dict[Interval, str] = {"month": "yMMMM", "year": "y"}


class Period(NamedTuple):
    interval: Interval
    start: date
    end: date  # the last day

    @property
    def first_microsecond(self) -> int:
        return Timestamp.pack(datetime.combine(self.start, time.min, UTC))

    @property
    def last_microsecond(self) -> int:
        return Timestamp.pack(datetime.combine(self.end, time.max, UTC))

    def name(self, language: Language) -> str:
        return _period_name(self.interval, self.start, language)


def choose_interval(first: date, last: date) -> Interval:
    """Months for short spans, years for long ones."""
    months = (last.year - first.year) * 12 + last.month - first.month + 1
    return "month" if months <= MAX_MONTHS else "year"


def periods_between(interval: Interval, first: date, last: date) -> Iterator[Period]:
    """All periods from the one of the first day to the one of the last day."""
    for year in range(first.year, last.year + 1):
        if interval == "year":
            yield Period(interval, date(year, 1, 1), date(year, 12, 31))
            continue
        for month in range(
            first.month if year == first.year else 1, (last.month if year == last.year else 12) + 1
        ):
            yield Period(
                interval, date(year, month, 1), date(year, month, monthrange(year, month)[1])
            )


@lru_cache(4096)
def _period_name(interval: Interval, start: date, language: Language) -> str:
    """The name of a period, such as "October 2026" or "2026"."""
    return format_skeleton(_SKELETONS[interval], start, locale=language.value)
