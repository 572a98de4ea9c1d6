"""Sums up events from the index: bitmaps give the counts, columns of figures the sums."""

from collections.abc import Sequence
from typing import Any, TypeVar

from pyroaring import BitMap

from fieldgate.db import Timestamp
from fieldgate.events.document_templates import SEVERITY_NAMES
from fieldgate.events.facets import APPEAL_TYPE, COUNTRY, DISASTER_TYPE, SEVERITY, STATES_NUM_AFFECTED
from fieldgate.events.model import APPEAL_TYPES
from fieldgate.events.search.filters import FilterContext
from fieldgate.events.search.index import Index
from fieldgate.events.summary.narrowing import QueryNarrower
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


class FigureSums:
    """Sums over parts of a selection."""

    def __init__(self, index: Index, selection: BitMap) -> None:
        self._index = index
        self._selection = selection
        stating = index.with_any_facet(STATES_NUM_AFFECTED.word())
        with_appeals = index.with_any_facet(*map(APPEAL_TYPE.word, APPEAL_TYPES))
        self._stating, self._with_appeals = selection & stating, selection & with_appeals

    def has_any(self, part: BitMap) -> bool:
        """Whether any of the selected events are in a set."""
        return self._selection.intersect(part)

    def of_all(self) -> dict[str, Any]:
        """The fields of `SummaryFigures` for all selected events."""
        return self.of(self._selection)

    def of_facet(self, word: str) -> dict[str, Any]:
        """For those with a facet word."""
        return self.of(self._index.with_any_facet(word))

    def of_period(self, first_microsecond: int, last_microsecond: int) -> dict[str, Any]:
        """For those that started in a period."""
        return self.of(self._index.started_between(first_microsecond, last_microsecond))

    def of(self, part: BitMap) -> dict[str, Any]:
        """For those in a set."""
        sums = self._index.figures.sums(self._stating & part, self._with_appeals & part)
        return {
            "count": self._selection.intersection_cardinality(part),
            "num_affected": sums.num_affected,
            "events_with_num_affected": self._stating.intersection_cardinality(part),
            "appeals": sums.appeals,
            "amount_requested": sums.requested_cents / 100,
            "amount_funded": sums.funded_cents / 100,
        }


def summarize(context: FilterContext, selection: BitMap, narrower: QueryNarrower, language: Language) -> EventSummary:
    """The summary of the selected events."""
    sums = FigureSums(context.index, selection)
    interval, periods = _periods(context.index, selection, sums, narrower, language)
    return EventSummary(
        **sums.of_all(),
        query=narrower.all(),
        interval=interval,
        periods=periods,
        countries=_countries(context, sums, narrower, language),
        regions=_regions(context, sums, narrower, language),
        types=_types(context, sums, narrower, language),
        severities=_severities(context, sums, narrower, language),
    )


def _periods(
    index: Index, selection: BitMap, sums: FigureSums, narrower: QueryNarrower, language: Language
) -> tuple[Interval, list[PeriodSummary]]:
    if not selection:
        return "month", []
    # Positions are in the order of start dates.
    first, last = (Timestamp.unpack(index.starts[each]).date() for each in (selection.min(), selection.max()))
    interval = choose_interval(first, last)
    entries = [
        PeriodSummary(
            **sums.of_period(period.first_microsecond, period.last_microsecond),
            start=period.start,
            end=period.end,
            name=period.name(language),
            query=narrower.period(period),
        )
        for period in periods_between(interval, first, last)
    ]
    return interval, entries if len(entries) <= MAX_FILLED_PERIODS else [entry for entry in entries if entry.count]


def _countries(
    context: FilterContext, sums: FigureSums, narrower: QueryNarrower, language: Language
) -> list[CountrySummary]:
    reference_data = context.reference_data
    entries = [
        CountrySummary(
            **sums.of_facet(word),
            id=id_,
            iso=reference_data.countries[id_].iso,
            iso3=reference_data.countries[id_].iso3,
            region=reference_data.countries[id_].region,
            name=reference_data.country_name(language, id_),
            query=narrower.country(id_),
        )
        for id_ in reference_data.countries_by_name(language)
        if sums.has_any(context.index.with_any_facet(word := COUNTRY.word(id_)))
    ]
    return _most_events_first(entries)


def _regions(
    context: FilterContext, sums: FigureSums, narrower: QueryNarrower, language: Language
) -> list[RegionSummary]:
    return [
        RegionSummary(
            **sums.of(events),
            id=region.id,
            name=translate(region.name, language),
            query=narrower.region(region.id),
        )
        for region in REGIONS
        if sums.has_any(events := context.region_sets[region.id])
    ]


def _types(
    context: FilterContext, sums: FigureSums, narrower: QueryNarrower, language: Language
) -> list[DisasterTypeSummary]:
    entries = [
        DisasterTypeSummary(
            **sums.of_facet(word),
            id=id_,
            name=context.reference_data.type_name(language, id_),
            query=narrower.disaster_type(id_),
        )
        for id_ in context.reference_data.types_by_name(language)
        if sums.has_any(context.index.with_any_facet(word := DISASTER_TYPE.word(id_)))
    ]
    return _most_events_first(entries)


def _severities(
    context: FilterContext, sums: FigureSums, narrower: QueryNarrower, language: Language
) -> list[SeveritySummary]:
    return [
        SeveritySummary(
            **sums.of_facet(word),
            id=id_,
            name=translate(name, language),
            query=narrower.severity(id_),
        )
        for id_, name in enumerate(SEVERITY_NAMES)
        if sums.has_any(context.index.with_any_facet(word := SEVERITY.word(id_)))
    ]


def _most_events_first(entries: Sequence[Entry]) -> list[Entry]:
    return sorted(entries, key=lambda entry: -entry.count)
