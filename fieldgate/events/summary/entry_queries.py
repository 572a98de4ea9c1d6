"""Queries that narrow a list of events to one entry of its summary.

The list of a query has exactly the events that the entry counts. Filters of the same kind are replaced where they are
implied, and kept where they are not: with `countries__in=1,2`, a country 3 that shares events with them gives
`countries__in=1,2&countries__all=3`.
"""

from collections.abc import Collection, Mapping
from datetime import datetime, time

from fieldgate.db import Timestamp
from fieldgate.events.filters import COMPARISONS, EventFilters
from fieldgate.events.summary.periods import Period
from fieldgate.http.links import encode_query
from fieldgate.reference.reference_data import ReferenceData

MAX_QUERY_CHARS = 2000  # longer ones would make summaries huge: every entry has one

_START = "disaster_start_date"
_START_FILTERS = tuple(_START + suffix for suffix in COMPARISONS)
_LAST_MICROSECOND = (
    Timestamp.pack(Timestamp.unpack(0).replace(year=9999, month=12, day=31)) + 24 * 3600 * 10**6 - 1
)


class EntryQueries:
    """Makes queries from the filters of a request."""

    def __init__(
        self, params: Mapping[str, str], filters: EventFilters, reference_data: ReferenceData
    ) -> None:
        names = set(filters.__struct_fields__) - filters.not_filters
        active = {name for name in names if getattr(filters, name) not in (None, (), "")}
        self._params = {name: value for name, value in params.items() if name in active}
        self._is_too_long = len(encode_query(self._params.items())) > MAX_QUERY_CHARS
        self._filters = filters
        self._start_bounds = _start_bounds(filters)
        one_country = reference_data.country_by_iso3(filters.countries__iso3 or "")
        found = map(reference_data.country_by_iso3, filters.countries__iso3__in)
        self._country_filters: dict[str, Collection[int]] = {
            "countries__in": filters.countries__in,
            "countries__iso3__in": [country.id for country in found if country is not None],
            "countries__iso3": [] if one_country is None else [one_country.id],
        }

    def all(self) -> str | None:
        """The query of all events."""
        return self._query((), {})

    def country(self, id_: int) -> str | None:
        return self._with_one_more(
            "countries", id_, self._country_filters, self._filters.countries__all
        )

    def region(self, id_: int) -> str | None:
        region_filters = {"regions__in": self._filters.regions__in}
        return self._with_one_more("regions", id_, region_filters, self._filters.regions__all)

    def disaster_type(self, id_: int) -> str | None:
        return self._query(("dtype",), {"dtype__in": str(id_)})

    def severity(self, id_: int) -> str | None:
        return self._query(("ifrc_severity_level",), {"ifrc_severity_level__in": str(id_)})

    def period(self, period: Period) -> str | None:
        """Within the dates that are chosen already."""
        low, high = self._start_bounds
        chosen = {_START + "__gte": _format(max(low, period.first_microsecond))}
        last = min(high, period.last_microsecond)
        if last < _LAST_MICROSECOND:
            chosen[_START + "__lt"] = _format(last + 1)
        return self._query(_START_FILTERS, chosen)

    def _with_one_more(
        self, kind: str, id_: int, filters: Mapping[str, Collection[int]], all_of: Collection[int]
    ) -> str | None:
        """Events that have this value too. An event can have several, so a filter may not imply it."""
        implied = [name for name, values in filters.items() if id_ in values]
        others = [each for each in dict.fromkeys(all_of) if each != id_]
        any_name, all_name = f"{kind}__in", f"{kind}__all"
        chosen = {}
        if any_name in implied or any_name not in self._params:
            chosen[any_name] = str(id_)
        else:
            others.append(id_)
        if others:
            chosen[all_name] = ",".join(map(str, others))
        return self._query((*implied, all_name), chosen)

    def _query(self, replaced: Collection[str], chosen: Mapping[str, str]) -> str | None:
        if self._is_too_long:
            return None
        kept = {name: value for name, value in self._params.items() if name not in replaced}
        return encode_query({**kept, **chosen}.items())


def _start_bounds(filters: EventFilters) -> tuple[int, int]:
    """The first and the last microsecond at which all filters allow an event to start."""
    low, high = -(2**63), 2**63 - 1
    for suffix in COMPARISONS:
        timestamp: datetime | None = getattr(filters, _START + suffix)
        if timestamp is None:
            continue
        count = Timestamp.pack(timestamp)
        if suffix in ("", "__gt", "__gte"):
            low = max(low, count + (suffix == "__gt"))
        if suffix in ("", "__lt", "__lte"):
            high = min(high, count - (suffix == "__lt"))
    return low, high


def _format(microseconds: int) -> str:
    timestamp: datetime = Timestamp.unpack(microseconds)
    if timestamp.time() == time.min:
        return timestamp.date().isoformat()
    return timestamp.isoformat().replace("+00:00", "Z")
