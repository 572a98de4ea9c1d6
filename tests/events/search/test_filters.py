"""A filter without an implementation fails at start-up."""

import pytest

from fieldgate.events.facets import SEVERITY
from fieldgate.events.search.filters import INDEX_FILTERS, EventFilters, UnimplementedFilter, check_filters, equal_to


class FiltersWithoutImplementation(EventFilters, frozen=True, kw_only=True):
    colour: str = ""


def test_field_without_implementation() -> None:
    with pytest.raises(UnimplementedFilter, match="FiltersWithoutImplementation: nothing implements colour"):
        check_filters(FiltersWithoutImplementation)


def test_implementation_without_field(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(INDEX_FILTERS, "colour", equal_to(SEVERITY))
    with pytest.raises(UnimplementedFilter, match="EventFilters has no field colour"):
        check_filters(EventFilters)
    check_filters(FiltersWithoutImplementation)
