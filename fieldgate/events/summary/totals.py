"""Totals of the events that match, by `GROUP BY`: by month, country, region, type and severity.

They are kept until events change, because the home page and the page of events ask for them at each view.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Select, String, func, literal_column, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from fieldgate.cache import SharedResults
from fieldgate.db import ReadTransaction
from fieldgate.events.filters import EventFilters, matching
from fieldgate.events.reader import filter_key
from fieldgate.events.records import Viewer
from fieldgate.events.tables import TOPIC, event_countries, events
from fieldgate.reference.queries import TOPIC as REFERENCE
from fieldgate.reference.regions import REGIONS

MAX_KEPT_TOTALS = 128
# The sums of absurd figures do not fit into 64 bits, so the upper bits and the lower ones are added up by themselves.
LOW_BITS = 20

Month = tuple[int, int]


class Figures(msgspec.Struct):
    """Figures of a set of events. Each event counts once."""

    count: int = 0
    num_affected: int = 0
    events_with_num_affected: int = 0
    appeals: int = 0
    requested_cents: int = 0
    funded_cents: int = 0

    def add(self, other: "Figures") -> None:
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


class Totals(msgspec.Struct):
    all: Figures = msgspec.field(default_factory=Figures)
    by_month: dict[Month, Figures] = {}
    by_country: dict[int, Figures] = {}
    by_region: dict[int, Figures] = {}
    by_type: dict[int, Figures] = {}
    by_severity: dict[int, Figures] = {}


class MonthOf(FunctionElement[str]):
    """The month of a timestamp in UTC, such as 2026-11."""

    type = String()
    inherit_cache = True


@compiles(MonthOf, "sqlite")
def _month_on_sqlite(element: MonthOf, compiler: Any, **options: Any) -> str:
    column = compiler.process(element.clauses, **options)
    seconds = f"({column} - 999999 * ({column} < 0)) / 1000000"  # rounded down, also before 1970
    return f"strftime('%Y-%m', {seconds}, 'unixepoch')"


@compiles(MonthOf, "postgresql")
def _month_on_postgresql(element: MonthOf, compiler: Any, **options: Any) -> str:
    column = compiler.process(element.clauses, **options)
    return f"to_char(to_timestamp(floor({column} / 1000000.0)) AT TIME ZONE 'UTC', 'YYYY-MM')"


class EventTotals:
    """Reads totals, and keeps them. There is one in each process."""

    def __init__(self) -> None:
        self._totals = SharedResults[Totals](MAX_KEPT_TOTALS, lambda _: 1)

    def read(self, transaction: ReadTransaction, filters: EventFilters, viewer: Viewer) -> Totals:
        """The totals of the events that a viewer sees and that match."""
        versions = transaction.versions(TOPIC, REFERENCE)
        key = (versions, filter_key(filters, with_ordering=False), viewer.scope)
        condition = matching(filters, viewer.scope, viewer.reference_data)
        return self._totals.get(key, lambda: read_totals(transaction, condition))


def read_totals(transaction: ReadTransaction, condition: ColumnElement[bool]) -> Totals:
    totals = Totals()
    kinds = (events.c.ifrc_severity_level, events.c.dtype, events.c.regions)
    for (severity, dtype, regions), figures in _groups(transaction, condition, kinds):
        totals.all.add(figures)
        _add(totals.by_severity, severity, figures)
        if dtype is not None:
            _add(totals.by_type, dtype, figures)
        for region in REGIONS:
            if regions & 1 << region.id:
                _add(totals.by_region, region.id, figures)
    for (month,), figures in _groups(transaction, condition, [_MONTH]):
        year, _, number = month.partition("-")
        totals.by_month[int(year), int(number)] = figures
    for (country,), figures in _groups(transaction, condition, [event_countries.c.country_id]):
        totals.by_country[country] = figures
    return totals


_MONTH = MonthOf(events.c.disaster_start_date)


def _sums(column: ColumnElement[int]) -> list[ColumnElement[Any]]:
    return [
        func.sum(column.op(">>")(literal_column(str(LOW_BITS)))),
        func.sum(column.op("&")(literal_column(str(2**LOW_BITS - 1)))),
    ]


_FIGURES = [
    func.count(),
    func.count(events.c.num_affected),
    func.sum(events.c.appeals),
    *_sums(events.c.num_affected),
    *_sums(events.c.requested_cents),
    *_sums(events.c.funded_cents),
]


def _groups(
    transaction: ReadTransaction,
    condition: ColumnElement[bool],
    keys: Sequence[ColumnElement[Any]],
) -> Iterable[tuple[Sequence[Any], Figures]]:
    """The figures of each group of events with the same keys."""
    query: Select[Any] = select(*keys, *_FIGURES).select_from(events).where(condition)
    if keys[0] is event_countries.c.country_id:
        query = query.join(event_countries, event_countries.c.event_id == events.c.id)
    for row in transaction.execute(query.group_by(*keys)):
        count, stating, appeals, *parts = [int(number or 0) for number in row[len(keys) :]]
        sums = [high * 2**LOW_BITS + low for high, low in zip(parts[::2], parts[1::2], strict=True)]
        yield row[: len(keys)], Figures(count, sums[0], stating, appeals, sums[1], sums[2])


def _add(figures_by_key: dict[int, Figures], key: int, figures: Figures) -> None:
    figures_by_key.setdefault(key, Figures()).add(figures)
