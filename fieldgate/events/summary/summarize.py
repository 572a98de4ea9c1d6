"""Makes the summary of events from their totals."""

from collections.abc import Callable, Iterable, Mapping
from datetime import date
from typing import Any, TypeVar

from fieldgate.events.records import SEVERITY_NAMES, Viewer
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
from fieldgate.events.summary.totals import Figures, Month, Totals
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import translate
from fieldgate.reference.regions import REGIONS

MAX_FILLED_PERIODS = 200  # with more, only periods with events are listed

Entry = TypeVar("Entry", bound=SummaryFigures)


def summarize(totals: Totals, queries: EntryQueries, viewer: Viewer) -> EventSummary:
    interval, periods = _periods(totals.by_month, queries, viewer.language)
    region_names = {region.id: translate(region.name, viewer.language) for region in REGIONS}
    severity_names = {
        level: translate(name, viewer.language) for level, name in enumerate(SEVERITY_NAMES)
    }
    return EventSummary(
        **_fields(totals.all),
        query=queries.all(),
        interval=interval,
        periods=periods,
        countries=_countries(totals.by_country, queries, viewer),
        regions=_entries(RegionSummary, totals.by_region, region_names, queries.region),
        types=_types(totals.by_type, queries, viewer),
        severities=_entries(SeveritySummary, totals.by_severity, severity_names, queries.severity),
    )


def _fields(figures: Figures) -> dict[str, Any]:
    """The fields of `SummaryFigures`."""
    return {
        "count": figures.count,
        "num_affected": figures.num_affected,
        "events_with_num_affected": figures.events_with_num_affected,
        "appeals": figures.appeals,
        "amount_requested": figures.requested_cents / 100,
        "amount_funded": figures.funded_cents / 100,
    }


def _periods(
    by_month: Mapping[Month, Figures], queries: EntryQueries, language: Language
) -> tuple[Interval, list[PeriodSummary]]:
    if not by_month:
        return "month", []
    first = date(*min(by_month), 1)
    last = date(*max(by_month), 1)
    interval = choose_interval(first, last)
    by_period: dict[date, Figures] = {}
    for (year, month), figures in by_month.items():
        start = date(year, 1 if interval == "year" else month, 1)
        by_period.setdefault(start, Figures()).add(figures)
    entries = [
        PeriodSummary(
            **_fields(by_period.get(period.start, Figures())),
            start=period.start,
            end=period.end,
            name=period.name(language),
            query=queries.period(period),
        )
        for period in periods_between(interval, first, last)
    ]
    if len(entries) > MAX_FILLED_PERIODS:
        entries = [entry for entry in entries if entry.count]
    return interval, entries


def _countries(
    by_country: Mapping[int, Figures], queries: EntryQueries, viewer: Viewer
) -> list[CountrySummary]:
    known = viewer.reference_data.countries
    records = viewer.reference_data.country_records
    names = {id_: records.name(viewer.language, id_) for id_ in records.by_name(viewer.language)}

    def summary(id: int, **fields: Any) -> CountrySummary:
        country = known[id]
        return CountrySummary(
            id=id, iso=country.iso, iso3=country.iso3, region=country.region, **fields
        )

    return _most_events_first(_entries(summary, by_country, names, queries.country))


def _types(
    by_type: Mapping[int, Figures], queries: EntryQueries, viewer: Viewer
) -> list[DisasterTypeSummary]:
    records = viewer.reference_data.type_records
    names = {id_: records.name(viewer.language, id_) for id_ in records.by_name(viewer.language)}
    return _most_events_first(_entries(DisasterTypeSummary, by_type, names, queries.disaster_type))


def _entries(
    kind: Callable[..., Entry],
    figures_by_id: Mapping[int, Figures],
    names: Mapping[int, str],
    query_of: Callable[[int], str | None],
) -> list[Entry]:
    """An entry for each id that has events, in the order of `names`."""
    return [
        kind(**_fields(figures_by_id[id_]), id=id_, name=name, query=query_of(id_))
        for id_, name in names.items()
        if id_ in figures_by_id
    ]


def _most_events_first(entries: Iterable[Entry]) -> list[Entry]:
    return sorted(entries, key=lambda entry: -entry.count)
