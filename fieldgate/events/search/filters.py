"""The filters of event lists: the query parameters, and what answers them: bitmaps of the index, or the database.

To add a filter: add a field to `EventFilters` and an entry of the same name to `INDEX_FILTERS` (or to `SQL_FILTERS`). A
field without an implementation stops the service when it starts.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import datetime
from operator import attrgetter
from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import Meta
from pyroaring import BitMap
from sqlalchemy import ColumnElement

from fieldgate.db import Snapshot, Timestamp
from fieldgate.events.derived_tables import glide_key
from fieldgate.events.facets import (
    APPEAL_TYPE,
    COUNTRY,
    DISASTER_TYPE,
    FEATURED,
    FEATURED_IN_REGION,
    SEVERITY,
    SOURCE,
    Facet,
    source_value,
)
from fieldgate.events.model import Source
from fieldgate.events.search.index import INT64_MAX, INT64_MIN, Index, intersection, union
from fieldgate.events.search.ordering_fields import ORDERINGS
from fieldgate.events.store import EventStore
from fieldgate.events.tables import words
from fieldgate.i18n.messages import Message, PluralMessage
from fieldgate.reference.reference_data import ReferenceData, fold_text
from fieldgate.reference.regions import REGIONS

MAX_SEARCH_WORDS = 20
ORDERING_FIELDS = tuple(ORDERINGS)

Ids = tuple[int, ...]
TimestampFilter = (
    Annotated[datetime, Meta(description="ISO 8601; midnight without a time, UTC without a zone.")]
    | None
)
BooleanFilter = Annotated[bool, Meta(description="true, false, 1 or 0.")] | None


def search_words(search: str) -> tuple[str, ...]:
    """The words of a search, split at spaces and commas; phrases in quotes are one word."""
    found = re.findall(r'"([^"]*)"|([^\s,"]+)', search)
    wanted = tuple(filter(None, ((phrase or word).strip() for phrase, word in found)))
    if len(wanted) > MAX_SEARCH_WORDS:
        raise ValueError(
            PluralMessage(
                "Enter at most {count} word.", "Enter at most {count} words.", MAX_SEARCH_WORDS
            )
        )
    return wanted


def ordering_terms(ordering: str) -> tuple[tuple[str, bool], ...]:
    """The fields to order by, each once, and whether descending; () for the default order."""
    if not ordering:
        return ()
    terms: dict[str, bool] = {}
    for term in filter(None, map(str.strip, ordering.split(","))):
        field = term.removeprefix("-")
        if field not in ORDERING_FIELDS:
            expected = Message("Choose one of: {choices}.", choices=", ".join(ORDERING_FIELDS))
            raise ValueError(
                Message("“{value}” is not valid. {expected}", value=term[:40], expected=expected)
            )
        terms.setdefault(field, term.startswith("-"))
    return tuple(terms.items())


class EventFilters(msgspec.Struct, frozen=True, kw_only=True):
    not_filters: ClassVar[frozenset[str]] = (
        frozenset()
    )  # fields of a subclass that do not narrow the list

    countries__in: Annotated[
        Ids, Meta(description="Countries by id, separated by commas: any of them.")
    ] = ()
    regions__in: Annotated[
        Ids, Meta(description="Regions by id, separated by commas; 0 is Africa.")
    ] = ()
    countries__iso3__in: Annotated[
        tuple[str, ...],
        Meta(description="Countries by their three-letter codes, separated by commas."),
    ] = ()
    countries__iso3: (
        Annotated[str, Meta(description="Country by its three-letter code.")] | None
    ) = None
    countries__all: Annotated[
        Ids, Meta(description="Countries by id, separated by commas: all of them.")
    ] = ()
    regions__all: Annotated[
        Ids, Meta(description="Regions by id, separated by commas: all of them.")
    ] = ()
    dtype: Annotated[int, Meta(description="Type of disaster, by id.")] | None = None
    dtype__in: Annotated[
        Ids, Meta(description="Types of disaster by id, separated by commas.")
    ] = ()
    id: Annotated[int, Meta(description="The event of this id.")] | None = None
    id__in: Annotated[Ids, Meta(description="Events by id, separated by commas.")] = ()
    appeal_type: Annotated[
        tuple[Literal[0, 1, 2, 3], ...],
        Meta(description="Types of appeal linked to it, separated by commas."),
    ] = ()
    appeal_code: Annotated[
        str, Meta(max_length=20, description="Code of an appeal linked to it.")
    ] = ""
    is_featured: BooleanFilter = None
    is_featured_region: BooleanFilter = None
    auto_generated_source: Annotated[Source, Meta(description="What it was made from.")] | None = (
        None
    )
    glide: Annotated[str, Meta(max_length=18, description="GLIDE number, case-insensitive.")] = ""
    ifrc_severity_level: (
        Annotated[Literal[0, 1, 2], Meta(description="0 yellow, 1 orange, 2 red.")] | None
    ) = None
    ifrc_severity_level__in: Annotated[
        tuple[Literal[0, 1, 2], ...], Meta(description="Levels, separated by commas.")
    ] = ()
    disaster_start_date: TimestampFilter = None
    disaster_start_date__gt: TimestampFilter = None
    disaster_start_date__gte: TimestampFilter = None
    disaster_start_date__lt: TimestampFilter = None
    disaster_start_date__lte: TimestampFilter = None
    created_at: TimestampFilter = None
    created_at__gt: TimestampFilter = None
    created_at__gte: TimestampFilter = None
    created_at__lt: TimestampFilter = None
    created_at__lte: TimestampFilter = None
    updated_at: TimestampFilter = None
    updated_at__gt: TimestampFilter = None
    updated_at__gte: (
        Annotated[datetime, Meta(description="Changed since: what to pull next.")] | None
    ) = None
    updated_at__lt: TimestampFilter = None
    updated_at__lte: TimestampFilter = None
    search: Annotated[
        str,
        Meta(
            max_length=200,
            description="Words that all occur in names; quotes keep a phrase together.",
            extra={"check": search_words},
        ),
    ] = ""
    ordering: Annotated[
        str,
        Meta(
            max_length=200,
            description="Fields separated by commas, `-` for descending: "
            + ", ".join(ORDERING_FIELDS),
            extra_json_schema={"pattern": rf"^(-?({'|'.join(ORDERING_FIELDS)})(,|$))*$"},
            extra={"check": ordering_terms},
        ),
    ] = ""


class FilterContext(msgspec.Struct, frozen=True):
    """The state of the events that a filter is applied to."""

    index: Index
    reference_data: ReferenceData
    region_sets: Mapping[int, BitMap]


IndexFilter = Callable[[FilterContext, Any], BitMap]  # the positions that match a value


def any_of(facet: Facet) -> IndexFilter:
    """Events with any of these values."""
    return lambda context, values: _with_any(context.index, facet, values)


def all_of(facet: Facet) -> IndexFilter:
    """Events with all of these values."""
    return lambda context, values: intersection(
        [context.index.with_any_facet(facet.word(each)) for each in set(values)]
    )


def equal_to(facet: Facet) -> IndexFilter:
    """Events with this value."""
    return lambda context, value: _with_any(context.index, facet, (value,))


def has_flag(facet: Facet) -> IndexFilter:
    """Events with or without a flag."""

    def select(context: FilterContext, is_wanted: bool) -> BitMap:
        flagged = context.index.with_any_facet(facet.word())
        return flagged if is_wanted else context.index.live_positions - flagged

    return select


def _with_any(index: Index, facet: Facet, values: Iterable[int | str]) -> BitMap:
    return index.with_any_facet(*map(facet.word, set(values)))


def _in_countries_by_iso3(context: FilterContext, codes: tuple[str, ...]) -> BitMap:
    found = map(context.reference_data.country_by_iso3, codes)
    return _with_any(
        context.index, COUNTRY, [country.id for country in found if country is not None]
    )


INDEX_FILTERS: dict[str, IndexFilter] = {
    "countries__in": any_of(COUNTRY),
    "countries__iso3__in": _in_countries_by_iso3,
    "countries__iso3": lambda context, code: _in_countries_by_iso3(context, (code,)),
    "regions__in": lambda context, regions: union(
        [context.region_sets[region] for region in set(regions) if region in context.region_sets]
    ),
    "countries__all": all_of(COUNTRY),
    "regions__all": lambda context, regions: intersection(
        [context.region_sets.get(region, BitMap()) for region in set(regions)]
    ),
    "dtype": equal_to(DISASTER_TYPE),
    "dtype__in": any_of(DISASTER_TYPE),
    "id": lambda context, id_: context.index.by_ids([id_]),
    "id__in": lambda context, ids: context.index.by_ids(ids),
    "appeal_type": any_of(APPEAL_TYPE),
    "is_featured": has_flag(FEATURED),
    "is_featured_region": has_flag(FEATURED_IN_REGION),
    "auto_generated_source": lambda context, source: _with_any(
        context.index, SOURCE, (source_value(source),)
    ),
    "ifrc_severity_level": equal_to(SEVERITY),
    "ifrc_severity_level__in": any_of(SEVERITY),
}


def region_sets(index: Index, reference_data: ReferenceData) -> dict[int, BitMap]:
    """The events of each region: those of its countries."""
    return {
        region.id: _with_any(index, COUNTRY, reference_data.countries_in_region(region.id))
        for region in REGIONS
    }


def matching_sets(context: FilterContext, filters: EventFilters) -> list[BitMap]:
    """The sets an event must be in, for all filters that the index answers."""
    chosen = [
        select(context, value)
        for name, select in INDEX_FILTERS.items()
        if (value := getattr(filters, name)) is not None and value != ()
    ]
    return chosen + _timestamp_sets(context.index, filters)


TIMESTAMP_SUFFIXES = ("", "__gt", "__gte", "__lt", "__lte")
_TIMESTAMP_COLUMNS = {
    "disaster_start_date": "starts",
    "created_at": "created",
    "updated_at": "updated",
}
TIMESTAMP_FILTERS = tuple(
    name + suffix for name in _TIMESTAMP_COLUMNS for suffix in TIMESTAMP_SUFFIXES
)
_timestamp_filters = attrgetter(*TIMESTAMP_FILTERS)


def _timestamp_sets(index: Index, filters: EventFilters) -> list[BitMap]:
    if not any(_timestamp_filters(filters)):
        return []
    chosen = []
    for name, column_name in _TIMESTAMP_COLUMNS.items():
        low, high = timestamp_bounds(filters, name)
        if (low, high) != (INT64_MIN, INT64_MAX):
            is_start = column_name == "starts"
            chosen.append(
                index.started_between(low, high)
                if is_start
                else index.in_range(getattr(index, column_name), low, high)
            )
    return chosen


def timestamp_bounds(filters: EventFilters, name: str) -> tuple[int, int]:
    """The first and the last microsecond that all filters on a timestamp allow."""
    low, high = INT64_MIN, INT64_MAX
    for suffix in TIMESTAMP_SUFFIXES:
        timestamp: datetime | None = getattr(filters, name + suffix)
        if timestamp is None:
            continue
        count = Timestamp.pack(timestamp)
        if suffix in ("", "__gt", "__gte"):
            low = max(low, count + (suffix == "__gt"))
        if suffix in ("", "__lt", "__lte"):
            high = min(high, count - (suffix == "__lt"))
    return low, high


# Filters that a query of the database answers


class SqlFilterContext(msgspec.Struct, frozen=True):
    """The state of the events that a filter is applied to."""

    store: EventStore
    index: Index
    version: int
    reference_data: ReferenceData
    snapshot: Snapshot | None

    async def matching(self, condition: ColumnElement[bool]) -> BitMap:
        """The events whose words match a condition."""
        return self.index.by_ids(
            await self.store.ids_by_words(condition, self.version, self.snapshot)
        )


async def _by_search(context: SqlFilterContext, search: str) -> BitMap:
    """Events with every word in a name: of the event, of a country or of the disaster type."""
    index, reference_data = context.index, context.reference_data
    sets = []
    for word in search_words(search):
        named = await context.matching(words.c.names.contains(fold_text(word), autoescape=True))
        about = [COUNTRY.word(country) for country in reference_data.country_records.matching(word)]
        about += [DISASTER_TYPE.word(kind) for kind in reference_data.type_records.matching(word)]
        sets.append(named | index.with_any_facet(*about))
    return intersection(sets) if sets else index.live_positions


SQL_FILTERS: dict[str, Callable[[SqlFilterContext, str], Awaitable[BitMap]]] = {
    "search": _by_search,
    "glide": lambda context, glide: context.matching(words.c.glide == glide_key(glide)),
    "appeal_code": lambda context, code: context.matching(
        words.c.appeal_codes.contains(f",{code.upper()},", autoescape=True)
    ),
}


class UnimplementedFilter(Exception):
    """A field of a filter struct has no implementation, or an implementation has no field."""


def check_filters(kind: type[EventFilters]) -> None:
    """Raise `UnimplementedFilter` unless every field of the struct is implemented."""
    implemented = {*INDEX_FILTERS, *TIMESTAMP_FILTERS, *SQL_FILTERS, "ordering"}
    fields = set(kind.__struct_fields__) - kind.not_filters
    if missing := sorted(fields - implemented):
        raise UnimplementedFilter(f"{kind.__name__}: nothing implements {', '.join(missing)}")
    if unknown := sorted(implemented - fields):
        raise UnimplementedFilter(f"{kind.__name__} has no field {', '.join(unknown)}")


check_filters(EventFilters)
