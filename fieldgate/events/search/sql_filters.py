"""The filters that a query of the database answers."""

from collections.abc import Awaitable, Callable

import msgspec
from pyroaring import BitMap

from fieldgate.db import Snapshot
from fieldgate.events.facets import COUNTRY, DISASTER_TYPE
from fieldgate.events.search.filters import INDEX_FILTERS, TIMESTAMP_FILTERS, EventFilters, search_words
from fieldgate.events.search.index import Index, intersection
from fieldgate.events.store import EventStore
from fieldgate.reference.reference_data import ReferenceData, fold_text


class SqlFilterContext(msgspec.Struct, frozen=True):
    """The state of the events that a filter is applied to."""

    store: EventStore
    index: Index
    version: int
    reference_data: ReferenceData
    snapshot: Snapshot | None


SqlFilter = Callable[[SqlFilterContext, str], Awaitable[BitMap]]


async def _by_search(context: SqlFilterContext, search: str) -> BitMap:
    """Events with every word in a name: of the event, of a country or of the disaster type."""
    index, reference_data = context.index, context.reference_data
    sets = []
    for word in search_words(search):
        named = index.by_ids(await context.store.ids_by_name(fold_text(word), context.version, context.snapshot))
        about = [COUNTRY.word(country) for country in reference_data.countries_matching(word)]
        about += [DISASTER_TYPE.word(kind) for kind in reference_data.types_matching(word)]
        sets.append(named | index.with_any_facet(*about))
    return intersection(sets) if sets else index.live_positions


async def _by_glide(context: SqlFilterContext, glide: str) -> BitMap:
    return context.index.by_ids(await context.store.ids_by_glide(glide, context.version, context.snapshot))


async def _by_appeal_code(context: SqlFilterContext, code: str) -> BitMap:
    return context.index.by_ids(await context.store.ids_by_appeal_code(code, context.version, context.snapshot))


SQL_FILTERS: dict[str, SqlFilter] = {"search": _by_search, "glide": _by_glide, "appeal_code": _by_appeal_code}


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
