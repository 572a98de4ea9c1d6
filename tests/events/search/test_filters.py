"""A filter without an implementation fails at start-up."""

import pytest

from fieldgate.events.search.filters import EventFilters, UnimplementedFilter, check_filters


class FiltersWithoutImplementation(EventFilters, frozen=True, kw_only=True):
    colour: str = ""


def test_field_without_implementation() -> None:
    with pytest.raises(UnimplementedFilter, match="FiltersWithoutImplementation: nothing implements colour"):
        check_filters(FiltersWithoutImplementation)
