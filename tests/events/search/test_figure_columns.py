"""Columns of figures: sums that do not overflow, in little memory."""

from array import array

import pytest
from pyroaring import BitMap

from fieldgate.events.facets import MAX_CENTS, EventFigures
from fieldgate.events.search import int_arrays
from fieldgate.events.search.figure_columns import FigureColumns

ABSURD = EventFigures(2**53, 2**16 - 1, MAX_CENTS, -MAX_CENTS)


def columns_of(*figures: EventFigures) -> FigureColumns:
    columns = FigureColumns()
    for each in figures:
        columns.append(each)
    return columns.take(array("I", range(len(figures))))


@pytest.mark.parametrize("threshold", [1, 10**9], ids=["numpy", "loops"])
def test_sums_of_absurd_figures_do_not_overflow(monkeypatch: pytest.MonkeyPatch, threshold: int) -> None:
    monkeypatch.setattr(int_arrays, "NUMPY_THRESHOLD", threshold)
    count = 2**11
    for columns in (
        columns_of(*[ABSURD] * count),
        columns_of(*[EventFigures(1)] * count).with_changes(dict.fromkeys(range(count), ABSURD)),
    ):
        everything = BitMap(range(count))
        expected = (2**53 * count, (2**16 - 1) * count, MAX_CENTS * count, -MAX_CENTS * count)
        assert columns.sums(everything, everything) == expected
