"""The summary of events, as sent."""

from datetime import date
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

NarrowQuery = Annotated[
    str | None,
    Meta(
        description="Query that narrows the list to these events; paging is left out. "
        "Null if the filters of the request are longer than 2,000 characters."
    ),
]


class SummaryFigures(msgspec.Struct, kw_only=True):
    """Figures of a set of events. Each event counts once."""

    count: Annotated[int, Meta(description="Number of events.")]
    num_affected: Annotated[
        int, Meta(description="People affected: the sum of `num_affected` of these events.")
    ]
    events_with_num_affected: Annotated[
        int, Meta(description="Number of events that state how many are affected.")
    ]
    appeals: Annotated[int, Meta(description="Number of appeals for these events.")]
    amount_requested: Annotated[
        float, Meta(description="Amount that these appeals request, in Swiss francs.")
    ]
    amount_funded: Annotated[
        float, Meta(description="Amount that these appeals have received, in Swiss francs.")
    ]


class PeriodSummary(SummaryFigures, kw_only=True):
    start: Annotated[date, Meta(description="First day (UTC).")]
    end: Annotated[date, Meta(description="Last day (UTC).")]
    name: Annotated[str, Meta(description="Month and year, or year.")]
    query: NarrowQuery


class CountrySummary(SummaryFigures, kw_only=True):
    id: Annotated[int, Meta(description="Id of the country.")]
    iso: Annotated[str | None, Meta(description="Two-letter code.")]
    iso3: Annotated[str | None, Meta(description="Three-letter code.")]
    region: Annotated[int | None, Meta(description="Id of its region.")]
    name: Annotated[str, Meta(description="Name.")]
    query: NarrowQuery


class RegionSummary(SummaryFigures, kw_only=True):
    id: Annotated[int, Meta(description="Id of the region.")]
    name: Annotated[str, Meta(description="Name.")]
    query: NarrowQuery


class DisasterTypeSummary(SummaryFigures, kw_only=True):
    id: Annotated[int, Meta(description="Id of the disaster type.")]
    name: Annotated[str, Meta(description="Name.")]
    query: NarrowQuery


class SeveritySummary(SummaryFigures, kw_only=True):
    id: Annotated[int, Meta(description="0 yellow, 1 orange, 2 red.")]
    name: Annotated[str, Meta(description="Name of the severity level.")]
    query: NarrowQuery


class EventSummary(SummaryFigures, kw_only=True):
    """Figures of all matching events, and of the same events by period, country, region, type and severity."""

    query: NarrowQuery
    interval: Annotated[
        Literal["month", "year"],
        Meta(description="Length of the periods: years if the events span over 72 months."),
    ]
    periods: Annotated[
        list[PeriodSummary],
        Meta(
            description="By start date, oldest first. Periods without events between others are listed, up to 200."
        ),
    ]
    countries: Annotated[
        list[CountrySummary],
        Meta(
            description="Countries of the events, most events first. An event counts in each of its countries."
        ),
    ]
    regions: Annotated[
        list[RegionSummary],
        Meta(description="Regions of the events, by id. An event counts in each of its regions."),
    ]
    types: Annotated[
        list[DisasterTypeSummary],
        Meta(description="Disaster types of the events, most events first."),
    ]
    severities: Annotated[
        list[SeveritySummary], Meta(description="Severity levels of the events, lowest first.")
    ]
