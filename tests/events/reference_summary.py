"""Reference implementation of event summaries: adds up the events one by one. The index must give the same results."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import date, timedelta
from typing import Any

from fieldgate.events.model import Event
from fieldgate.i18n.languages import Language
from fieldgate.reference.reference_data import ReferenceData

Group = tuple[Any, list[Event]]


def figures(events: Sequence[Event]) -> dict[str, Any]:
    """The figures of some events."""
    affected = [event.num_affected for event in events if event.num_affected is not None]
    appeals = [appeal for event in events for appeal in event.appeals]
    return {
        "count": len(events),
        "num_affected": sum(affected),
        "events_with_num_affected": len(affected),
        "appeals": len(appeals),
        "amount_requested": sum(round(appeal.amount_requested * 100) for appeal in appeals) / 100,
        "amount_funded": sum(round(appeal.amount_funded * 100) for appeal in appeals) / 100,
    }


def group(events: Iterable[Event], keys: Callable[[Event], Iterable[Any]]) -> list[Group]:
    """The events by key, in the order of the keys. An event is in the group of each of its keys."""
    groups: dict[Any, list[Event]] = defaultdict(list)
    for event in events:
        for key in set(keys(event)):
            groups[key].append(event)
    return sorted(groups.items(), key=lambda each: each[0])


def by_country(
    events: Iterable[Event], reference_data: ReferenceData, language: Language
) -> list[Group]:
    groups = group(events, lambda event: event.countries)
    return _most_first(groups, reference_data.country_records.by_name(language))


def by_type(
    events: Iterable[Event], reference_data: ReferenceData, language: Language
) -> list[Group]:
    groups = group(events, lambda event: () if event.dtype is None else (event.dtype,))
    return _most_first(groups, reference_data.type_records.by_name(language))


def by_region(events: Iterable[Event], reference_data: ReferenceData) -> list[Group]:
    def regions(event: Event) -> Iterable[int]:
        found = (reference_data.countries[id_].region for id_ in event.countries)
        return [region for region in found if region is not None]

    return group(events, regions)


def by_severity(events: Iterable[Event]) -> list[Group]:
    return group(events, lambda event: (event.ifrc_severity_level,))


def by_period(events: Sequence[Event]) -> tuple[str, list[Group]]:
    """The events by the first and last day of their month or year, with empty periods between them."""
    if not events:
        return "month", []
    days = sorted(event.disaster_start_date.date() for event in events)
    months = (days[-1].year - days[0].year) * 12 + days[-1].month - days[0].month + 1
    interval = "month" if months <= 72 else "year"
    period: Callable[[date], tuple[date, date]] = _month if interval == "month" else _year
    groups = dict(group(events, lambda event: (period(event.disaster_start_date.date()),)))
    day = days[0]
    while day < days[-1]:
        groups.setdefault(period(day), [])
        day += timedelta(days=1)
    return interval, sorted(groups.items())


def _month(day: date) -> tuple[date, date]:
    first = day.replace(day=1)
    return first, (first + timedelta(days=31)).replace(day=1) - timedelta(days=1)


def _year(day: date) -> tuple[date, date]:
    return date(day.year, 1, 1), date(day.year, 12, 31)


def _most_first(groups: Iterable[Group], names: Sequence[int]) -> list[Group]:
    return sorted(groups, key=lambda each: (-len(each[1]), names.index(each[0])))
