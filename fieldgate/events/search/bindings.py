"""Every filter and ordering has an implementation: checked when the service starts.

A field of `EventFilters` is implemented by an entry of the same name in `INDEX_FILTERS`, `TIMESTAMP_FILTERS` or
`SQL_FILTERS`; `ordering` by `ORDERINGS`.
"""

from fieldgate.events.derived import EVENT_FORMAT
from fieldgate.events.facets import FACETS
from fieldgate.events.figures import FIGURES_SINCE
from fieldgate.events.search.filters import INDEX_FILTERS, TIMESTAMP_FILTERS, EventFilters
from fieldgate.events.search.ordering_fields import ORDERINGS
from fieldgate.events.search.sql_filters import SQL_FILTERS


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


def check_formats() -> None:
    """Raise `ValueError` if something is newer than `EVENT_FORMAT`: it would never be rebuilt."""
    since = {name: each.since for name, each in {**FACETS, **SQL_FILTERS, **ORDERINGS}.items()}
    for name, first in {**since, "figures": FIGURES_SINCE}.items():
        if first > EVENT_FORMAT:
            raise ValueError(f"{name} is since format {first}, but EVENT_FORMAT is {EVENT_FORMAT}")


def unfinished_filters(finished_format: int) -> frozenset[str]:
    """The filters that need data which not every event has before a rebuild is finished."""
    found = {name for name, each in SQL_FILTERS.items() if each.since > finished_format}
    for name, index_filter in INDEX_FILTERS.items():
        if any(facet.since > finished_format for facet in index_filter.facets):
            found.add(name)
    return frozenset(found)


def unfinished_orderings(finished_format: int) -> frozenset[str]:
    return frozenset(name for name, ordering in ORDERINGS.items() if ordering.since > finished_format)


check_filters(EventFilters)
check_formats()
