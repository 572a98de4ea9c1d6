"""The figures of all events as columns, by position: 26 bytes for an event."""

from array import array
from collections.abc import Mapping, Sequence

from pyroaring import BitMap

from fieldgate.events.facets import EventFigures
from fieldgate.events.search import int_arrays
from fieldgate.events.search.int_arrays import Int64Array, UInt32Array

_TYPE_CODES = "qHqq"  # of the fields of `EventFigures`
_MAX_INT64 = 2**63 - 1


class FigureColumns:
    """Columns of figures. Callers must not append to those of an index."""

    def __init__(self, columns: tuple[Int64Array, ...] | None = None, largest: int = 0) -> None:
        """`largest`: no figure is larger, and none is smaller than its negative."""
        self.columns = columns or tuple(array(code) for code in _TYPE_CODES)
        self.largest = largest

    def __len__(self) -> int:
        return len(self.columns[0])

    def __getitem__(self, position: int) -> EventFigures:
        return EventFigures(*[column[position] for column in self.columns])

    def append(self, figures: Sequence[int]) -> None:
        """Add the fields of `EventFigures`."""
        num_affected, appeals, requested_cents, funded_cents = self.columns
        num_affected.append(figures[0])
        appeals.append(figures[1])
        requested_cents.append(figures[2])
        funded_cents.append(figures[3])

    def take(self, indices: UInt32Array) -> "FigureColumns":
        """The figures at these indices."""
        largest = max(map(int_arrays.largest_magnitude, self.columns))
        return FigureColumns(tuple(int_arrays.take(column, indices) for column in self.columns), largest)

    def merged(self, other: "FigureColumns") -> "FigureColumns":
        """These figures and then those of other events."""
        both = tuple(mine + theirs for mine, theirs in zip(self.columns, other.columns, strict=True))
        return FigureColumns(both, max(self.largest, other.largest))

    def with_changes(self, figures: Mapping[int, EventFigures]) -> "FigureColumns":
        """With other figures at these positions."""
        changed = {position: each for position, each in figures.items() if self[position] != each}
        if not changed:
            return self
        new = FigureColumns(tuple(column[:] for column in self.columns), self.largest)
        for position, each in changed.items():
            for column, figure in zip(new.columns, each, strict=True):
                column[position] = figure
            new.largest = max(new.largest, *map(abs, each))
        return new

    def sums(self, stating: BitMap, with_appeals: BitMap) -> EventFigures:
        """The people affected by some events, and the figures of the appeals of some."""
        (num_affected,) = self._sums(slice(0, 1), stating.to_array())
        appeals, requested_cents, funded_cents = self._sums(slice(1, 4), with_appeals.to_array())
        return EventFigures(num_affected, appeals, requested_cents, funded_cents)

    def _sums(self, chosen: slice, positions: UInt32Array) -> list[int]:
        if self.largest * len(positions) > _MAX_INT64:  # absurd figures: slow, but right
            return int_arrays.exact_sums_at(self.columns[chosen], positions)
        return int_arrays.sums_at(self.columns[chosen], positions)
