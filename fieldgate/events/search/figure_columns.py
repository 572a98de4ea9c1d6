"""The figures of all events as columns, by position: 26 bytes for an event.

With few events, which do without numpy, the columns are also kept as lists once they were needed: at most 3 MB.
"""

from array import array
from collections.abc import Mapping

from pyroaring import BitMap

from fieldgate.events.figures import NO_FIGURES, EventFigures
from fieldgate.events.search import int_arrays
from fieldgate.events.search.int_arrays import Int64Array, UInt32Array

_TYPE_CODES = "qHqq"  # of the fields of `EventFigures`
_MAX_INT64 = 2**63 - 1


class FigureColumns:
    """Columns of figures. Callers must not append to those of an index."""

    def __init__(
        self,
        columns: tuple[Int64Array, ...] | None = None,
        largest: int = 0,
        totals: Mapping[str, EventFigures] | None = None,
    ) -> None:
        """`largest`: no figure is larger, and none is smaller than its negative."""
        self.columns = columns or tuple(array(code) for code in _TYPE_CODES)
        self.largest = largest
        self.totals = totals or {}  # of all events with a facet word, by word
        self._lists: list[list[int]] = []

    def __len__(self) -> int:
        return len(self.columns[0])

    def __getitem__(self, position: int) -> EventFigures:
        return EventFigures(*[column[position] for column in self.columns])

    def append(self, figures: EventFigures) -> None:
        num_affected, appeals, requested_cents, funded_cents = self.columns
        num_affected.append(figures[0])
        appeals.append(figures[1])
        requested_cents.append(figures[2])
        funded_cents.append(figures[3])

    def take(self, indices: UInt32Array) -> "FigureColumns":
        """The figures at these indices."""
        largest = max(map(int_arrays.largest_magnitude, self.columns))
        return FigureColumns(tuple(int_arrays.take(column, indices) for column in self.columns), largest)

    def with_totals(self, facet_sets: Mapping[str, BitMap]) -> "FigureColumns":
        """With the totals of all events with a facet word."""
        totals = {word: self.sums(positions, positions) for word, positions in facet_sets.items()}
        return FigureColumns(self.columns, self.largest, totals)

    def merged(self, other: "FigureColumns", order: UInt32Array) -> "FigureColumns":
        """These figures and then those of other events, in another order."""
        both = [mine + theirs for mine, theirs in zip(self.columns, other.columns, strict=True)]
        totals = dict(self.totals)
        for word, figures in other.totals.items():
            totals[word] = totals.get(word, NO_FIGURES).plus(figures)
        columns = tuple(int_arrays.take(column, order) for column in both)
        return FigureColumns(columns, max(self.largest, other.largest), totals)

    def with_changes(self, figures: Mapping[int, EventFigures], totals: Mapping[str, EventFigures]) -> "FigureColumns":
        """With new figures at these positions; those after the end are in order and without gaps."""
        changed = {
            position: each for position, each in figures.items() if position >= len(self) or self[position] != each
        }
        if not changed:
            return self if totals == self.totals else FigureColumns(self.columns, self.largest, totals)
        new = FigureColumns(tuple(column[:] for column in self.columns), self.largest, totals)
        for position, each in changed.items():
            if position == len(new):
                new.append(each)
            for column, figure in zip(new.columns, each, strict=True):
                column[position] = figure
            new.largest = max(new.largest, *map(abs, each))
        return new

    def sums(self, stating: BitMap, with_appeals: BitMap) -> EventFigures:
        """The people affected by some events, and the figures of the appeals of some."""
        (num_affected,) = self._sums(slice(0, 1), stating.to_array())
        appeals, requested_cents, funded_cents = self._sums(slice(1, 4), with_appeals.to_array())
        return EventFigures(num_affected, appeals, requested_cents, funded_cents)

    def range_sums(self, low: int, high: int) -> EventFigures:
        """The figures of all events at the positions in [low, high)."""
        if self.largest * (high - low) > _MAX_INT64:
            return EventFigures(*[sum(column[low:high]) for column in self.columns])
        return EventFigures(*[int_arrays.range_sum(column, low, high) for column in self.columns])

    def _sums(self, chosen: slice, positions: UInt32Array) -> list[int]:
        if len(self) < int_arrays.NUMPY_THRESHOLD:
            self._lists = self._lists or [column.tolist() for column in self.columns]
            return int_arrays.exact_sums_at(self._lists[chosen], positions)
        if self.largest * len(positions) > _MAX_INT64:  # absurd figures: slow, but right
            return int_arrays.exact_sums_at(self.columns[chosen], positions)
        return int_arrays.sums_at(self.columns[chosen], positions)
