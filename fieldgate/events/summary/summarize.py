"""Sums up events from the index: bitmaps give the counts, columns of figures the sums."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from pyroaring import BitMap

from fieldgate.db import Timestamp
from fieldgate.events.document_templates import SEVERITY_NAMES
from fieldgate.events.facets import (
    APPEAL_TYPE,
    COUNTRY,
    DISASTER_TYPE,
    SEVERITY,
    STATES_NUM_AFFECTED,
    Facet,
)
from fieldgate.events.model import APPEAL_TYPES
from fieldgate.events.search.filters import FilterContext
from fieldgate.events.summary.entry_queries import EntryQueries
from fieldgate.events.summary.periods import Interval, choose_interval, periods_between
from fieldgate.events.summary.schemas import (
    CountrySummary,
    DisasterTypeSummary,
    EventSummary,
    PeriodSummary,
    RegionSummary,
    SeveritySummary,
    SummaryFigures,
)
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import translate
from fieldgate.reference.regions import REGIONS

MAX_FILLED_PERIODS = 200  # with more, only periods with events are listed

Entry = TypeVar("Entry", bound=SummaryFigures)


def summarize(
    context: FilterContext, selection: BitMap, queries: EntryQueries, language: Language
) -> EventSummary:
    """The summary of the selected events."""
    summarizer = _Summarizer(context, selection, queries, language)
    interval, periods = summarizer.periods()
    return EventSummary(
        **summarizer.figures(selection),
        query=queries.all(),
        interval=interval,
        periods=periods,
        countries=summarizer.countries(),
        regions=summarizer.regions(),
        types=summarizer.types(),
        severities=summarizer.severities(),
    )


class _Summarizer:
    """Sums up parts of a selection."""

    def __init__(
        self, context: FilterContext, selection: BitMap, queries: EntryQueries, language: Language
    ) -> None:
        self._context = context
        self._index = context.index
        self._reference_data = context.reference_data
        self._selection = selection
        self._queries = queries
        self._language = language
        self._stating = selection & self._index.with_any_facet(STATES_NUM_AFFECTED.word())
        self._with_appeals = selection & self._index.with_any_facet(
            *map(APPEAL_TYPE.word, APPEAL_TYPES)
        )

    def figures(self, part: BitMap) -> dict[str, Any]:
        """The fields of `SummaryFigures` for the selected events in a set."""
        sums = self._index.sums(self._stating & part, self._with_appeals & part)
        return {
            "count": self._selection.intersection_cardinality(part),
            "num_affected": sums.num_affected,
            "events_with_num_affected": self._stating.intersection_cardinality(part),
            "appeals": sums.appeals,
            "amount_requested": sums.requested_cents / 100,
            "amount_funded": sums.funded_cents / 100,
        }

    def periods(self) -> tuple[Interval, list[PeriodSummary]]:
        if not self._selection:
            return "month", []
        # Positions are in the order of start dates.
        ends = self._selection.min(), self._selection.max()
        first, last = (Timestamp.unpack(int(self._index.starts[each])).date() for each in ends)
        interval = choose_interval(first, last)
        entries = [
            PeriodSummary(
                **self.figures(
                    self._index.started_between(period.first_microsecond, period.last_microsecond)
                ),
                start=period.start,
                end=period.end,
                name=period.name(self._language),
                query=self._queries.period(period),
            )
            for period in periods_between(interval, first, last)
        ]
        return interval, entries if len(entries) <= MAX_FILLED_PERIODS else [
            entry for entry in entries if entry.count
        ]

    def countries(self) -> list[CountrySummary]:
        known, records = self._reference_data.countries, self._reference_data.country_records
        names = {id_: records.name(self._language, id_) for id_ in records.by_name(self._language)}

        def summary(id: int, **fields: Any) -> CountrySummary:
            country = known[id]
            return CountrySummary(
                id=id, iso=country.iso, iso3=country.iso3, region=country.region, **fields
            )

        entries = self._entries(
            summary, names, lambda id_: self._with(COUNTRY, id_), self._queries.country
        )
        return _most_events_first(entries)

    def regions(self) -> list[RegionSummary]:
        names = {region.id: translate(region.name, self._language) for region in REGIONS}
        return self._entries(
            RegionSummary, names, self._context.region_sets.__getitem__, self._queries.region
        )

    def types(self) -> list[DisasterTypeSummary]:
        records = self._reference_data.type_records
        names = {id_: records.name(self._language, id_) for id_ in records.by_name(self._language)}
        entries = self._entries(
            DisasterTypeSummary,
            names,
            lambda id_: self._with(DISASTER_TYPE, id_),
            self._queries.disaster_type,
        )
        return _most_events_first(entries)

    def severities(self) -> list[SeveritySummary]:
        names = {
            level: translate(name, self._language) for level, name in enumerate(SEVERITY_NAMES)
        }
        return self._entries(
            SeveritySummary,
            names,
            lambda level: self._with(SEVERITY, level),
            self._queries.severity,
        )

    def _entries(
        self,
        kind: Callable[..., Entry],
        names: Mapping[int, str],
        events_of: Callable[[int], BitMap],
        query_of: Callable[[int], str | None],
    ) -> list[Entry]:
        """An entry for each id that has any of the selected events, in the order of `names`."""
        return [
            kind(**self.figures(events), id=id_, name=names[id_], query=query_of(id_))
            for id_ in names
            if self._selection.intersect(events := events_of(id_))
        ]

    def _with(self, facet: Facet, value: int) -> BitMap:
        return self._index.with_any_facet(facet.word(value))


def _most_events_first(entries: Iterable[Entry]) -> list[Entry]:
    return sorted(entries, key=lambda entry: -entry.count)
