"""What a list of events can be narrowed and ordered by, and the sets of positions that answer it."""

import re
from collections.abc import Mapping
from datetime import datetime
from operator import attrgetter
from typing import Annotated, Literal

import msgspec
from msgspec import Meta
from pyroaring import BitMap

from fieldgate.db import Timestamp
from fieldgate.events.model import Source
from fieldgate.events.search.index import INT64_MAX, INT64_MIN, Index, source_facet, union
from fieldgate.events.search.int_arrays import Int64Array
from fieldgate.i18n.messages import Message, PluralMessage
from fieldgate.reference.reference_data import ReferenceData
from fieldgate.reference.regions import REGIONS

MAX_SEARCH_WORDS = 20
ORDERING_FIELDS = (
    "disaster_start_date",
    "created_at",
    "updated_at",
    "dtype",
    "name",
    "summary",
    "num_affected",
    "glide",
    "ifrc_severity_level",
    "id",
)

Ids = tuple[int, ...]
TimestampFilter = Annotated[datetime, Meta(description="ISO 8601; midnight without a time, UTC without a zone.")] | None
BooleanFilter = Annotated[bool, Meta(description="true, false, 1 or 0.")] | None


def search_words(search: str) -> tuple[str, ...]:
    """The words of a search, all of which must match: split at blanks and commas, phrases in quotes kept."""
    found = re.findall(r'"([^"]*)"|([^\s,"]+)', search)
    words = tuple(filter(None, ((phrase or word).strip() for phrase, word in found)))
    if len(words) > MAX_SEARCH_WORDS:
        raise ValueError(PluralMessage("Enter at most {count} word.", "Enter at most {count} words.", MAX_SEARCH_WORDS))
    return words


def ordering_terms(ordering: str) -> tuple[tuple[str, bool], ...]:
    """The fields to order by, each once, and whether it descends; () for the usual order."""
    if not ordering:
        return ()
    terms: dict[str, bool] = {}
    for term in filter(None, map(str.strip, ordering.split(","))):
        field = term.removeprefix("-")
        if field not in ORDERING_FIELDS:
            expected = Message("Choose one of: {choices}.", choices=", ".join(ORDERING_FIELDS))
            raise ValueError(Message("“{value}” cannot be taken. {expected}", value=term[:40], expected=expected))
        terms.setdefault(field, term.startswith("-"))
    return tuple(terms.items())


class EventFilters(msgspec.Struct, frozen=True, kw_only=True):
    countries__in: Annotated[Ids, Meta(description="Countries by id, separated by commas: any of them.")] = ()
    regions__in: Annotated[Ids, Meta(description="Regions by id, separated by commas; 0 is Africa.")] = ()
    countries__iso3__in: Annotated[
        tuple[str, ...], Meta(description="Countries by their three-letter codes, separated by commas.")
    ] = ()
    dtype: Annotated[int, Meta(description="Type of disaster, by id.")] | None = None
    dtype__in: Annotated[Ids, Meta(description="Types of disaster by id, separated by commas.")] = ()
    id: Annotated[int, Meta(description="The event of this id.")] | None = None
    id__in: Annotated[Ids, Meta(description="Events by id, separated by commas.")] = ()
    appeal_type: Annotated[
        tuple[Literal[0, 1, 2, 3], ...], Meta(description="Types of appeal linked to it, separated by commas.")
    ] = ()
    appeal_code: Annotated[str, Meta(max_length=20, description="Code of an appeal linked to it.")] = ""
    is_featured: BooleanFilter = None
    is_featured_region: BooleanFilter = None
    auto_generated_source: Annotated[Source, Meta(description="What it was made from.")] | None = None
    glide: Annotated[str, Meta(max_length=18, description="GLIDE number.")] = ""
    ifrc_severity_level: Annotated[Literal[0, 1, 2], Meta(description="0 yellow, 1 orange, 2 red.")] | None = None
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
    updated_at__gte: Annotated[datetime, Meta(description="Changed since: what to pull next.")] | None = None
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
            description="Fields separated by commas, `-` for descending: " + ", ".join(ORDERING_FIELDS),
            extra_json_schema={"pattern": rf"^(-?({'|'.join(ORDERING_FIELDS)})(,|$))*$"},
            extra={"check": ordering_terms},
        ),
    ] = ""


def region_sets(index: Index, reference_data: ReferenceData) -> dict[int, BitMap]:
    """The events of each region: those of its countries."""
    return {
        region.id: index.with_any_facet(*(f"c{country}" for country in reference_data.countries_in_region(region.id)))
        for region in REGIONS
    }


def matching_sets(
    index: Index, reference_data: ReferenceData, regions: Mapping[int, BitMap], filters: EventFilters
) -> list[BitMap]:
    """The sets an event must be in, of all filters the index alone can answer."""
    chosen: list[BitMap] = []

    def any_of(prefix: str, values: tuple[int, ...]) -> None:
        if values:
            chosen.append(index.with_any_facet(*map(prefix.__add__, map(str, set(values)))))

    any_of("c", filters.countries__in)
    if filters.countries__iso3__in:
        found = [reference_data.country_by_iso3(iso3) for iso3 in filters.countries__iso3__in]
        chosen.append(index.with_any_facet(*(f"c{country.id}" for country in found if country is not None)))
    if filters.regions__in:
        chosen.append(union([regions[region] for region in set(filters.regions__in) if region in regions]))
    any_of("d", filters.dtype__in)
    any_of("d", () if filters.dtype is None else (filters.dtype,))
    any_of("a", filters.appeal_type)
    any_of("s", filters.ifrc_severity_level__in)
    any_of("s", () if filters.ifrc_severity_level is None else (filters.ifrc_severity_level,))
    for wanted, word in ((filters.is_featured, "f"), (filters.is_featured_region, "g")):
        if wanted is not None:
            bearing = index.with_any_facet(word)
            chosen.append(bearing if wanted else index.live_positions - bearing)
    if filters.auto_generated_source is not None:
        chosen.append(index.with_any_facet(source_facet(filters.auto_generated_source)))
    if filters.id is not None:
        chosen.append(index.by_ids([filters.id]))
    if filters.id__in:
        chosen.append(index.by_ids(filters.id__in))
    chosen += _timestamp_sets(index, filters)
    return chosen


_SUFFIXES = ("", "__gt", "__gte", "__lt", "__lte")
_timestamp_filters = attrgetter(
    *(name + suffix for name in ("disaster_start_date", "created_at", "updated_at") for suffix in _SUFFIXES)
)


def _timestamp_sets(index: Index, filters: EventFilters) -> list[BitMap]:
    if not any(_timestamp_filters(filters)):
        return []
    columns: dict[str, Int64Array] = {
        "disaster_start_date": index.starts,
        "created_at": index.created,
        "updated_at": index.updated,
    }
    chosen = []
    for name, column in columns.items():
        low, high = _timestamp_bounds(filters, name)
        if (low, high) != (INT64_MIN, INT64_MAX):
            chosen.append(
                index.started_between(low, high) if column is index.starts else index.in_range(column, low, high)
            )
    return chosen


def _timestamp_bounds(filters: EventFilters, name: str) -> tuple[int, int]:
    """The first and the last microsecond that all filters on a moment allow."""
    low, high = INT64_MIN, INT64_MAX
    for suffix in _SUFFIXES:
        moment: datetime | None = getattr(filters, name + suffix)
        if moment is None:
            continue
        count = Timestamp.pack(moment)
        if suffix in ("", "__gt", "__gte"):
            low = max(low, count + (suffix == "__gt"))
        if suffix in ("", "__lt", "__lte"):
            high = min(high, count - (suffix == "__lt"))
    return low, high
