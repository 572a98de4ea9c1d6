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
        self._figures = index.figures
        self._selection = selection
        self._stating = selection & index.with_any_facet(STATES_NUM_AFFECTED.word())
        self._with_appeals = selection & index.with_any_facet(*map(APPEAL_TYPE.word, APPEAL_TYPES))

    def has_any(self, part: BitMap) -> bool:
        """Whether any of the selected events are in a set."""
        return self._selection.intersect(part)

    def of(self, part: BitMap) -> dict[str, Any]:
        """The fields of `SummaryFigures` for the selected events in a set."""
        stating = (self._stating & part).to_array()
        appeals, requested_cents, funded_cents = self._figures.appeals((self._with_appeals & part).to_array())
        return {
            "count": self._selection.intersection_cardinality(part),
            "num_affected": self._figures.num_affected(stating),
            "events_with_num_affected": len(stating),
            "appeals": appeals,
            "amount_requested": requested_cents / 100,
            "amount_funded": funded_cents / 100,
        }


def summarize(context: FilterContext, selection: BitMap, narrower: QueryNarrower, language: Language) -> EventSummary:
    """The summary of the selected events."""
    sums = FigureSums(context.index, selection)
    interval, periods = _periods(context.index, selection, sums, narrower, language)
    return EventSummary(
        **sums.of(selection),
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
            **sums.of(index.started_between(period.first_microsecond, period.last_microsecond)),
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
            **sums.of(events),
            id=id_,
            iso=reference_data.countries[id_].iso,
            iso3=reference_data.countries[id_].iso3,
            region=reference_data.countries[id_].region,
            name=reference_data.country_name(language, id_),
            query=narrower.country(id_),
        )
        for id_ in reference_data.countries_by_name(language)
        if sums.has_any(events := context.index.with_any_facet(COUNTRY.word(id_)))
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
            **sums.of(events),
            id=id_,
            name=context.reference_data.type_name(language, id_),
            query=narrower.disaster_type(id_),
        )
        for id_ in context.reference_data.types_by_name(language)
        if sums.has_any(events := context.index.with_any_facet(DISASTER_TYPE.word(id_)))
    ]
    return _most_events_first(entries)


def _severities(
    context: FilterContext, sums: FigureSums, narrower: QueryNarrower, language: Language
) -> list[SeveritySummary]:
    return [
        SeveritySummary(
            **sums.of(events),
            id=id_,
            name=translate(name, language),
            query=narrower.severity(id_),
        )
        for id_, name in enumerate(SEVERITY_NAMES)
        if sums.has_any(events := context.index.with_any_facet(SEVERITY.word(id_)))
    ]


def _most_events_first(entries: Sequence[Entry]) -> list[Entry]:
    return sorted(entries, key=lambda entry: -entry.count)
