"""The filters of event lists: the query parameters, and the condition of each in SQL.

To add a filter: add a field to `EventFilters`, and entries of the same name to `CONDITIONS` and `LABELS`. A field
without a condition stops the service when it starts.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from operator import eq, ge, gt, le, lt
from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import Meta
from sqlalchemy import ColumnElement, and_, false, func, or_, select, true

from fieldgate.events.model import Source, Visibility
from fieldgate.events.orders import ORDERS, has_texts
from fieldgate.events.tables import event_countries, events
from fieldgate.events.visibility import ViewerScope
from fieldgate.events.writes import glide_key, region_bits
from fieldgate.i18n.folding import fold_text
from fieldgate.i18n.messages import Message, PluralMessage
from fieldgate.reference.reference_data import ReferenceData
from fieldgate.reference.tables import countries

MAX_SEARCH_WORDS = 20
MAX_STORED_ID = 2**63 - 1  # the largest number of a column, on both databases
MAX_COUNTRY_ID = 2**31 - 1
ORDERING_FIELDS = tuple(ORDERS)

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
            description="Words that all occur in names, in the GLIDE number or in codes of appeals; "
            "quotes keep a phrase together.",
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

    @property
    def is_costly(self) -> bool:
        """Whether the request uses more of the rate limit, and callers take turns."""
        is_sorted_by_texts = has_texts(ordering_terms(self.ordering))
        return is_sorted_by_texts or len(search_words(self.search)) > MAX_CHEAP_WORDS


MAX_CHEAP_WORDS = 5  # of a search; more count as costly

# A value of the filter and the reference data to a condition on `events`.
Condition = Callable[[Any, ReferenceData], ColumnElement[bool]]


def _in_any_country(ids: Iterable[int]) -> ColumnElement[bool]:
    known = [id_ for id_ in set(ids) if 0 <= id_ <= MAX_COUNTRY_ID]
    in_countries = select(event_countries.c.event_id).where(event_countries.c.country_id.in_(known))
    return events.c.id.in_(in_countries)


def _in_all_countries(ids: Iterable[int]) -> ColumnElement[bool]:
    wanted = set(ids)
    if not all(0 <= id_ <= MAX_COUNTRY_ID for id_ in wanted):
        return false()
    in_all = (
        select(event_countries.c.event_id)
        .where(event_countries.c.country_id.in_(wanted))
        .group_by(event_countries.c.event_id)
        .having(func.count() == len(wanted))
    )
    return events.c.id.in_(in_all)


def _in_countries_with_codes(codes: Iterable[str]) -> ColumnElement[bool]:
    with_codes = select(countries.c.id).where(
        func.upper(countries.c.iso3).in_({code.upper() for code in codes})
    )
    in_countries = select(event_countries.c.event_id).where(
        event_countries.c.country_id.in_(with_codes)
    )
    return events.c.id.in_(in_countries)


def _in_all_regions(regions: Iterable[int]) -> ColumnElement[bool]:
    if any(not region_bits([region]) for region in regions):
        return false()
    bits = region_bits(regions)
    return events.c.regions.op("&")(bits) == bits


def _has_any(bits: ColumnElement[int], values: Iterable[int]) -> ColumnElement[bool]:
    return bits.op("&")(region_bits(values)) != 0


def _has_words(search: str, reference_data: ReferenceData) -> ColumnElement[bool]:
    """Every word is in a name of the event, of a country or of the disaster type, or in a code of the event."""
    conditions: list[ColumnElement[bool]] = [true()]
    for word in search_words(search):
        found: list[ColumnElement[bool]] = [
            events.c.search_text.contains(fold_text(word), autoescape=True)
        ]
        if country_ids := reference_data.country_records.matching(word):
            found.append(_in_any_country(sorted(country_ids)))
        if type_ids := reference_data.type_records.matching(word):
            found.append(events.c.dtype.in_(sorted(type_ids)))
        conditions.append(or_(*found))
    return and_(*conditions)


def _storable(ids: Iterable[int]) -> list[int]:
    """Those of the ids that a column can hold, each once. No event has another one."""
    return [id_ for id_ in set(ids) if abs(id_) <= MAX_STORED_ID]


CONDITIONS: dict[str, Condition] = {
    "countries__in": lambda ids, _: _in_any_country(ids),
    "countries__all": lambda ids, _: _in_all_countries(ids),
    "countries__iso3": lambda code, _: _in_countries_with_codes([code]),
    "countries__iso3__in": lambda codes, _: _in_countries_with_codes(codes),
    "regions__in": lambda regions, _: _has_any(events.c.regions, regions),
    "regions__all": lambda regions, _: _in_all_regions(regions),
    "dtype": lambda id_, _: events.c.dtype == id_,
    "dtype__in": lambda ids, _: events.c.dtype.in_(_storable(ids)),
    "id": lambda id_, _: events.c.id == id_,
    "id__in": lambda ids, _: events.c.id.in_(_storable(ids)),
    "appeal_type": lambda types, _: _has_any(events.c.appeal_types, types),
    "appeal_code": lambda code, _: events.c.appeal_codes.contains(
        f",{code.upper()},", autoescape=True
    ),
    "is_featured": lambda is_wanted, _: events.c.is_featured.is_(is_wanted),
    "is_featured_region": lambda is_wanted, _: events.c.is_featured_region.is_(is_wanted),
    "auto_generated_source": lambda source, _: events.c.auto_generated_source == source,
    "glide": lambda glide, _: events.c.glide == glide_key(glide),
    "ifrc_severity_level": lambda level, _: events.c.ifrc_severity_level == level,
    "ifrc_severity_level__in": lambda levels, _: events.c.ifrc_severity_level.in_(levels),
    "search": _has_words,
}

TIMESTAMP_FIELDS = ("disaster_start_date", "created_at", "updated_at")
COMPARISONS = {"": eq, "__gt": gt, "__gte": ge, "__lt": lt, "__lte": le}


def _compared(column: ColumnElement[datetime], compare: Callable[..., Any]) -> Condition:
    return lambda timestamp, _: compare(column, timestamp)


for field in TIMESTAMP_FIELDS:
    for suffix, comparison in COMPARISONS.items():
        CONDITIONS[field + suffix] = _compared(events.c[field], comparison)


# The names of filters on pages. Those of dates say how they compare, see `web/pages/event_filters.py`.
LABELS: Mapping[str, Message] = {
    "regions__in": Message("Region"),
    "regions__all": Message("Region"),
    "countries__in": Message("Country"),
    "countries__all": Message("Country"),
    "countries__iso3__in": Message("Country"),
    "countries__iso3": Message("Country"),
    "dtype": Message("Type"),
    "dtype__in": Message("Type"),
    "ifrc_severity_level": Message("Severity"),
    "ifrc_severity_level__in": Message("Severity"),
    "search": Message("Words"),
    "glide": Message("GLIDE number"),
    "appeal_code": Message("Appeal code"),
    "appeal_type": Message("Type of appeal"),
    "auto_generated_source": Message("Source"),
    "is_featured": Message("Featured"),
    "is_featured_region": Message("Featured in its region"),
    "id": Message("Number"),
    "id__in": Message("Number"),
}


def is_visible(scope: ViewerScope) -> ColumnElement[bool]:
    """Whether a caller may see an event."""
    is_seen = events.c.visibility.in_(sorted(scope.levels))
    if not scope.countries or Visibility.SOCIETIES in scope.levels:
        return is_seen
    is_of_society = and_(
        events.c.visibility == Visibility.SOCIETIES, _in_any_country(sorted(scope.countries))
    )
    return or_(is_seen, is_of_society)


def is_listed(scope: ViewerScope) -> ColumnElement[bool]:
    """Whether an event is in the lists of a caller. Events that were merged into another one are in none."""
    return and_(events.c.parent_event.is_(None), is_visible(scope))


def matching(
    filters: "EventFilters", scope: ViewerScope, reference_data: ReferenceData
) -> ColumnElement[bool]:
    """Whether an event is in the list of a caller, with these filters."""
    conditions = [is_listed(scope)]
    for name, condition in CONDITIONS.items():
        value = getattr(filters, name)
        if value is None or value in ((), ""):
            continue
        if isinstance(value, int) and abs(value) > MAX_STORED_ID:
            return false()  # no event has a number that no column holds
        conditions.append(condition(value, reference_data))
    return and_(*conditions)


class UnimplementedFilter(Exception):
    """A field of a filter struct has no condition, or a condition has no field."""


def check_filters(kind: type[EventFilters]) -> None:
    """Raise `UnimplementedFilter` unless every field of the struct has a condition."""
    implemented = {*CONDITIONS, "ordering"}
    fields = set(kind.__struct_fields__) - kind.not_filters
    if missing := sorted(fields - implemented):
        raise UnimplementedFilter(f"{kind.__name__}: nothing implements {', '.join(missing)}")
    if unknown := sorted(implemented - fields):
        raise UnimplementedFilter(f"{kind.__name__} has no field {', '.join(unknown)}")


check_filters(EventFilters)
