"""A filter or ordering without an implementation fails at start-up."""

import subprocess
import sys
from typing import ClassVar

import pytest

from fieldgate.events import derived
from fieldgate.events.facets import FACETS, SEVERITY, Facet, register_facet
from fieldgate.events.routes import ListFilters
from fieldgate.events.search import bindings
from fieldgate.events.search.bindings import (
    UnimplementedFilter,
    check_filters,
    check_formats,
    unfinished_filters,
    unfinished_orderings,
)
from fieldgate.events.search.filters import INDEX_FILTERS, EventFilters, equal_to
from fieldgate.events.search.ordering_fields import ORDERINGS, FacetOrdering


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


def test_filters_and_orderings_of_a_newer_facet_are_unfinished(monkeypatch: pytest.MonkeyPatch) -> None:
    assert unfinished_filters(0) == frozenset()
    assert unfinished_orderings(0) == frozenset()
    newer = Facet("colour", "x", lambda _: (), since=2)
    monkeypatch.setitem(INDEX_FILTERS, "colour", equal_to(newer))
    monkeypatch.setitem(ORDERINGS, "colour", FacetOrdering(newer, lambda _, __: ()))
    for finished, expected in ((0, {"colour"}), (1, {"colour"}), (2, set())):
        assert unfinished_filters(finished) == expected
        assert unfinished_orderings(finished) == expected


def test_facet_newer_than_the_format(monkeypatch: pytest.MonkeyPatch) -> None:
    newer = Facet("colour", "x", lambda _: (), since=derived.EVENT_FORMAT + 1)
    monkeypatch.setitem(FACETS, "colour", newer)
    with pytest.raises(ValueError, match="colour is since format 2, but EVENT_FORMAT is 1"):
        check_formats()
    monkeypatch.setattr(bindings, "EVENT_FORMAT", derived.EVENT_FORMAT + 1)
    check_formats()


@pytest.mark.parametrize(("name", "code"), [("severity", "x"), ("colour", SEVERITY.code)])
def test_facets_are_unique(name: str, code: str) -> None:
    with pytest.raises(ValueError, match="is defined already"):
        register_facet(Facet(name, code, lambda _: ()))
    assert FACETS["severity"] is SEVERITY
    assert "colour" not in FACETS
