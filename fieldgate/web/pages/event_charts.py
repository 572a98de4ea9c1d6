"""Charts of events: map, timeline, bars and the tables behind them for a summary, and a small map of some countries."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec

from fieldgate.http.links import encode_query
from fieldgate.http.request_parsing import ParsedRequest
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, translate
from fieldgate.web.charts.atlas import load_places
from fieldgate.web.charts.timeline import Timeline, TimelineValue, build_timeline
from fieldgate.web.charts.world_map import MapValue, WorldMap, build_map
from fieldgate.web.formatting import Formatter
from fieldgate.web.page_views import Page

EVENT_PATH = "/api/v2/event/"
SUMMARY_PATH = "/api/v2/event/summary/"
MAX_BARS = 5

Entry = Mapping[str, Any]  # the summary, or one of its entries: all have the same figures


class HorizontalBar(msgspec.Struct, frozen=True):
    """A name, its value as people write it, and the length of its bar from 0 to 1."""

    name: str
    text: str
    share: float
    href: str | None = None


class ChartLink(msgspec.Struct, frozen=True):
    """A cell of a table that is a link."""

    text: str
    href: str | None


class SmallMap(WorldMap, frozen=True):
    """A map of a third of the page's width: its dots are larger in proportion."""

    @property
    def dot_radius(self) -> float:
        return round(self.width * 0.018, 2)


class Measure(msgspec.Struct, frozen=True, kw_only=True):
    """What a chart shows of a group of events."""

    key: str
    value_of: Callable[[Entry], float | None]  # None if it is unknown
    title: Message
    # Titles of charts. Whole sentences, as the words of a measure depend on the sentence in some languages.
    by_country: Message
    per_month: Message
    per_year: Message
    by_type: Message

    def number_of(self, entry: Entry) -> float:
        """The value for drawing, where what is unknown takes no space."""
        return self.value_of(entry) or 0.0


def people_affected(entry: Entry) -> float | None:
    """None if no event states a number: that is not zero."""
    return (
        None
        if entry["count"] and not entry["events_with_num_affected"]
        else float(entry["num_affected"])
    )


def funding_gap(entry: Entry) -> float:
    """What was asked for and is not funded. Some appeals get more than they asked for."""
    return max(float(entry["amount_requested"]) - float(entry["amount_funded"]), 0.0)


MEASURES = (
    Measure(
        key="events",
        value_of=lambda entry: float(entry["count"]),
        title=Message("Emergencies"),
        by_country=Message("Where: emergencies by country"),
        per_month=Message("When: emergencies per month"),
        per_year=Message("When: emergencies per year"),
        by_type=Message("What: emergencies by type"),
    ),
    Measure(
        key="affected",
        value_of=people_affected,
        title=Message("People affected"),
        by_country=Message("Where: people affected by country"),
        per_month=Message("When: people affected per month"),
        per_year=Message("When: people affected per year"),
        by_type=Message("What: people affected by type"),
    ),
    Measure(
        key="gap",
        value_of=funding_gap,
        title=Message("Funding gap in CHF"),
        by_country=Message("Where: funding gap by country, in CHF"),
        per_month=Message("When: funding gap per month, in CHF"),
        per_year=Message("When: funding gap per year, in CHF"),
        by_type=Message("What: funding gap by type, in CHF"),
    ),
)


def choose_measure(key: str) -> Measure:
    return next((measure for measure in MEASURES if measure.key == key), MEASURES[0])


async def build_charts(
    summary: Entry,
    measure: Measure,
    request: ParsedRequest,
    focus: Collection[str] = (),
    kept: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Make the charts of a summary. Every part of them leads to the list that is narrowed to it.

    `kept` are parameters that these links have beside the filters.
    """
    language = request.language
    places = await load_places()
    formatter = Formatter(language)
    href = _link_maker(request, kept or {})
    countries = sorted(summary["countries"], key=measure.number_of, reverse=True)
    types = sorted(summary["types"], key=measure.number_of, reverse=True)
    values = [
        MapValue(
            iso3=entry["iso3"],
            name=entry["name"],
            value=measure.number_of(entry),
            text=formatter.labelled(entry["name"], formatter.compact(measure.value_of(entry))),
            href=href(entry),
        )
        for entry in countries
    ]
    return {
        "measure": measure.key,
        "title": translate(measure.title, language),
        "by_country": translate(measure.by_country, language),
        "by_time": translate(
            measure.per_month if summary["interval"] == "month" else measure.per_year, language
        ),
        "by_type": translate(measure.by_type, language),
        "map": build_map(places, values, focus, has_labels=bool(focus)),
        "is_empty": not measure.number_of(summary),
        "highest": [value.name for value in values[:3] if value.value > 0],
        "timeline": _build_timeline(summary, measure, formatter, href),
        "types": _bars(types, measure, formatter, href),
        "countries": _bars(countries, measure, formatter, href),
        "headers": [translate(each.title, language) for each in MEASURES],
        "country_rows": [_row(entry, formatter, href) for entry in countries],
        "period_rows": [_row(entry, formatter, href) for entry in reversed(summary["periods"])],
    }


def funding_text(funded: float, requested: float, language: Language) -> str:
    """What was funded of what was asked for, in words."""
    formatter = Formatter(language)
    if requested <= 0:
        return translate(Message("CHF {amount} funded", amount=formatter.short(funded)), language)
    message = Message(
        "{share} of CHF {amount}",
        share=formatter.percent(funded / requested),
        amount=formatter.short(requested),
    )
    return translate(message, language)


def _link_maker(request: ParsedRequest, kept: Mapping[str, str]) -> Callable[[Entry], str | None]:
    """The URL of the list of an entry, with the parameters to keep."""
    base = urlsplit(request.base_url.url).path + EVENT_PATH
    added = encode_query(kept.items())

    def href(entry: Entry) -> str | None:
        query = entry.get("query")
        return (
            None
            if query is None
            else base + "?" + "&".join(part for part in (query, added) if part)
        )

    return href


def _build_timeline(
    summary: Entry, measure: Measure, formatter: Formatter, href: Callable[[Entry], str | None]
) -> Timeline:
    is_monthly = summary["interval"] == "month"
    return build_timeline(
        [
            TimelineValue(
                label=formatter.month(period["start"])
                if is_monthly
                else formatter.year(period["start"]),
                value=measure.number_of(period),
                text=formatter.labelled(
                    period["name"], formatter.compact(measure.value_of(period))
                ),
                value_text=formatter.short(measure.value_of(period)),
                href=href(period),
                is_start=is_monthly and period["start"][5:7] == "01",
            )
            for period in summary["periods"]
        ]
    )


def _bars(
    entries: Sequence[Entry],
    measure: Measure,
    formatter: Formatter,
    href: Callable[[Entry], str | None],
) -> list[HorizontalBar]:
    """The highest values. The greatest fills its bar."""
    values = [(entry, value) for entry in entries if (value := measure.number_of(entry)) > 0][
        :MAX_BARS
    ]
    greatest = max((value for _, value in values), default=0)
    return [
        HorizontalBar(entry["name"], formatter.short(value), share_of(value, greatest), href(entry))
        for entry, value in values
    ]


def share_of(part: float, whole: float) -> float:
    """The share of a whole, from 0 to 1. Nothing, or more than all, is possible in funding."""
    if whole <= 0:
        return 0.0
    return round(min(max(part / whole, 0.0), 1.0), 4)


def _row(
    entry: Entry, formatter: Formatter, href: Callable[[Entry], str | None]
) -> list[str | ChartLink]:
    return [
        ChartLink(entry["name"], href(entry)),
        formatter.number(entry["count"]),
        formatter.compact(people_affected(entry)),
        formatter.compact(funding_gap(entry)),
    ]


async def build_small_map(page: Page, countries: Sequence[Mapping[str, Any]]) -> SmallMap | None:
    """A map of countries, given as records, zoomed to them; None if none of them is on the map."""
    events_url = urlsplit(page.request.base_url.url).path + EVENT_PATH
    values = [
        MapValue(
            iso3=country["iso3"],
            name=country["name"],
            value=1,
            text=translate(
                Message("Emergencies: {country}", country=country["name"]), page.language
            ),
            href=f"{events_url}?countries__in={country['id']}",
        )
        for country in countries
        if country["iso3"]
    ]
    if not values:
        return None
    world = build_map(
        await load_places(), values, focus=[value.iso3 for value in values if value.iso3]
    )
    return SmallMap(**msgspec.structs.asdict(world)) if world.shapes or world.dots else None
