"""A filter without an implementation fails at start-up."""

import subprocess
import sys
from typing import ClassVar

import pytest

from fieldgate.events.facets import SEVERITY
from fieldgate.events.routes import ListFilters
from fieldgate.events.search.filters import INDEX_FILTERS, EventFilters, equal_to
from fieldgate.events.search.sql_filters import UnimplementedFilter, check_filters


class FiltersWithoutImplementation(EventFilters, frozen=True, kw_only=True):
    colour: str = ""


class FiltersWithOption(EventFilters, frozen=True, kw_only=True):
    not_filters: ClassVar[frozenset[str]] = frozenset({"colour"})

    colour: str = ""


def test_every_filter_is_implemented() -> None:
    check_filters(EventFilters)
    check_filters(ListFilters)
    check_filters(FiltersWithOption)


def test_field_without_implementation() -> None:
    with pytest.raises(UnimplementedFilter, match="FiltersWithoutImplementation: nothing implements colour"):
        check_filters(FiltersWithoutImplementation)


def test_implementation_without_field(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(INDEX_FILTERS, "colour", equal_to(SEVERITY))
    with pytest.raises(UnimplementedFilter, match="EventFilters has no field colour"):
        check_filters(EventFilters)
    check_filters(FiltersWithoutImplementation)


START_WITH_UNIMPLEMENTED_FILTER = """
from fieldgate.events.search import filters

class MoreFilters(filters.EventFilters, frozen=True, kw_only=True):
    colour: str = ""

filters.EventFilters = MoreFilters
import fieldgate.app
"""


def test_service_does_not_start_with_an_unimplemented_filter() -> None:
    command = [sys.executable, "-c", START_WITH_UNIMPLEMENTED_FILTER]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 1
    assert "UnimplementedFilter: MoreFilters: nothing implements colour" in ended.stderr
