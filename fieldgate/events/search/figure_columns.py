"""The figures of all events as columns, by position: 26 bytes for an event.

With few events, which do without numpy, the columns are also kept as lists once they were needed: at most 3 MB.
"""

from array import array
from collections.abc import Mapping

from fieldgate.events.figures import EventFigures
from fieldgate.events.search import int_arrays
from fieldgate.events.search.int_arrays import Int64Array, UInt32Array

_TYPE_CODES = "qHqq"  # of the fields of `EventFigures`
_MAX_INT64 = 2**63 - 1


class FigureColumns:
    """Columns of figures. Callers must not append to those of an index."""

    def __init__(self, columns: tuple[Int64Array, ...] | None = None, largest: int = 0) -> None:
        """`largest`: no figure is larger, and none is smaller than its negative."""
        self._columns = columns or tuple(array(code) for code in _TYPE_CODES)
        self._largest = largest
        self._lists: list[list[int]] = []

    def __len__(self) -> int:
        return len(self._columns[0])

    def __getitem__(self, position: int) -> EventFigures:
        return EventFigures(*[column[position] for column in self._columns])

    def append(self, figures: EventFigures) -> None:
        num_affected, appeals, requested_cents, funded_cents = self._columns
        num_affected.append(figures[0])
        appeals.append(figures[1])
        requested_cents.append(figures[2])
        funded_cents.append(figures[3])

    def take(self, indices: UInt32Array) -> "FigureColumns":
        """The figures at these indices."""
        largest = max(map(int_arrays.largest_magnitude, self._columns))
        return FigureColumns(tuple(int_arrays.take(column, indices) for column in self._columns), largest)

    def with_changes(self, figures: Mapping[int, EventFigures]) -> "FigureColumns":
        """With new figures at these positions; those after the end are in order and without gaps."""
        changed = {
            position: each for position, each in figures.items() if position >= len(self) or self[position] != each
        }
        if not changed:
            return self
        new = FigureColumns(tuple(column[:] for column in self._columns), self._largest)
        for position, each in changed.items():
            if position == len(new):
                new.append(each)
            for column, figure in zip(new._columns, each, strict=True):
                column[position] = figure
            new._largest = max(new._largest, *map(abs, each))
        return new

    def num_affected(self, positions: UInt32Array) -> int:
        """The people affected by the events at these positions."""
        return self._sums(slice(0, 1), positions)[0]

    def appeals(self, positions: UInt32Array) -> tuple[int, int, int]:
        """The number of appeals for the events at these positions, and the cents requested and funded."""
        appeals, requested_cents, funded_cents = self._sums(slice(1, 4), positions)
        return appeals, requested_cents, funded_cents

    def _sums(self, chosen: slice, positions: UInt32Array) -> list[int]:
        if len(self) < int_arrays.NUMPY_THRESHOLD:
            self._lists = self._lists or [column.tolist() for column in self._columns]
            return int_arrays.exact_sums_at(self._lists[chosen], positions)
        if self._largest * len(positions) > _MAX_INT64:  # absurd figures: slow, but right
            return int_arrays.exact_sums_at(self._columns[chosen], positions)
        return int_arrays.sums_at(self._columns[chosen], positions)
