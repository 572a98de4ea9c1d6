"""The in-memory index of events: which match, how many, and in what order, by bitmaps of positions.

Positions are in the order of start dates, so a new event usually goes to the end. Every value of every facet has the
bitmap of the positions with that value; a filter is an operation on bitmaps, a count is a length, a page is a slice. An
index is immutable: a change of the data makes another one, which shares everything that stayed the same.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import reduce
from operator import and_
from typing import Any, NamedTuple

from pyroaring import BitMap

from fieldgate.events.facets import COUNTRY, VISIBILITY
from fieldgate.events.figures import NO_FIGURES, EventFigures, split_stored
from fieldgate.events.model import Visibility
from fieldgate.events.search import int_arrays
from fieldgate.events.search.figure_columns import FigureColumns
from fieldgate.events.search.int_arrays import Int64Array, UInt32Array
from fieldgate.events.visibility import ViewerScope

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
MAX_IN_PLACE_CHANGES = 100  # ids inserted or deleted one by one; with more, all are sorted again


class IndexRow(NamedTuple):
    """What the index knows of one event. `facets` are words of `facets.py`, separated by spaces, then its figures."""

    id: int
    start: int  # microseconds since 1970, as the next two
    created: int
    updated: int
    facets: str


class RebuildRequired(Exception):
    """The change moves existing events: the index has to be rebuilt."""


class Index:
    def __init__(
        self,
        ids: Int64Array,
        starts: Int64Array,
        created: Int64Array,
        updated: Int64Array,
        facet_sets: Mapping[str, BitMap],
        live_positions: BitMap,
        by_id: "IdLookup",
        figures: FigureColumns,
    ) -> None:
        self.ids = ids  # by position, as are the next three
        self.starts = starts
        self.created = created
        self.updated = updated
        self.facet_sets = facet_sets  # by facet word
        self.live_positions = live_positions  # not deleted
        self._by_id = by_id
        self.figures = figures  # by position

    def __len__(self) -> int:
        return len(self.live_positions)

    def position(self, id_: int) -> int | None:
        """The position of an event."""
        return self._by_id.position(id_)

    # Bitmaps of positions. Callers must not change them.

    def with_any_facet(self, *facets: str) -> BitMap:
        """The events with any of these facet words."""
        return union(list(filter(None, map(self.facet_sets.get, facets))))

    def visible_to(self, scope: ViewerScope) -> BitMap:
        """The events a caller may see."""
        seen = self.with_any_facet(*map(VISIBILITY.word, map(int, scope.levels)))
        if scope.countries and Visibility.SOCIETIES not in scope.levels:
            of_societies = self.with_any_facet(VISIBILITY.word(int(Visibility.SOCIETIES)))
            seen = seen | (of_societies & self.with_any_facet(*map(COUNTRY.word, scope.countries)))
        return seen & self.live_positions

    def by_ids(self, ids: Sequence[int]) -> BitMap:
        """The events of these ids."""
        wanted = int_arrays.int64_array([number for number in ids if INT64_MIN <= number <= INT64_MAX])
        here = [position for position in self.positions(wanted) if position != int_arrays.NOT_FOUND]
        return BitMap(array("I", here))

    def positions(self, ids: Int64Array) -> Int64Array:
        """The positions of these ids; `NOT_FOUND` for ids that are not in the index."""
        return int_arrays.find_positions(self._by_id.ids, self._by_id.positions, ids)

    def started_between(self, low: int, high: int) -> BitMap:
        """The events with a start date in [low, high]."""
        return bitmap_range(*self.position_range(low, high))

    def position_range(self, low: int, high: int) -> tuple[int, int]:
        """The first position with a start date in [low, high], and the one after the last: they are in that order."""
        return bisect_left(self.starts, low), bisect_right(self.starts, high)

    def in_range(self, column: Int64Array, low: int, high: int) -> BitMap:
        """The events with a timestamp in [low, high]."""
        return BitMap(int_arrays.indices_in_range(column, low, high))

    def page(self, selection: BitMap, limit: int, offset: int) -> list[int]:
        """The ids of one page in the default order: newest first, ties by the lowest id."""
        last = len(selection) - offset
        positions = selection[max(0, last - limit) : last].to_array() if last > 0 else array("I")
        return list(map(self.ids.__getitem__, positions[::-1]))

    # Changes

    def with_changes(self, rows: Sequence[IndexRow], deleted_ids: Iterable[int]) -> "Index":
        """The index after events were deleted, edited in place, or added after all others."""
        sets = _CopyOnWriteSets(self.facet_sets, self.figures)
        everything = self.live_positions.copy()
        created, updated = self.created[:], self.updated[:]
        left: set[int] = set()
        for number in deleted_ids:
            position = self.position(number)
            if position is not None:
                left.add(number)
                everything.discard(position)
                sets.set_facets(position, "")
        new: list[IndexRow] = []
        for row in rows:
            position = self.position(row.id)
            if position is None:
                new.append(row)
                continue
            if self.starts[position] != row.start:
                raise RebuildRequired
            created[position], updated[position] = row.created, row.updated
            sets.set_facets(position, row.facets)
        new.sort(key=lambda row: (row.start, -row.id))
        if new and len(self.ids) and (new[0].start, -new[0].id) <= (self.starts[-1], -self.ids[-1]):
            raise RebuildRequired
        for position, row in enumerate(new, start=len(self.ids)):
            everything.add(position)
            sets.set_facets(position, row.facets, is_new=True)
        ids = _extended(self.ids, [row.id for row in new])
        int_arrays.preload_numpy(ids)
        return Index(
            ids,
            _extended(self.starts, [row.start for row in new]),
            _extended(created, [row.created for row in new]),
            _extended(updated, [row.updated for row in new]),
            sets.all,
            everything,
            self._by_id.with_changes(left, [row.id for row in new], ids, everything),
            self.figures.with_changes(sets.figures, sets.totals),
        )


class IdLookup:
    """The ids that are not deleted, sorted, with their positions. A deleted event may come back at another position."""

    def __init__(self, ids: Int64Array, positions: UInt32Array) -> None:
        self.ids = ids
        self.positions = positions

    @classmethod
    def from_ids(cls, ids: Int64Array, live_positions: BitMap) -> "IdLookup":
        """From all ids by position, and the positions that are not deleted."""
        alive: UInt32Array = live_positions.to_array()
        held = int_arrays.take(ids, alive)
        order = int_arrays.argsort(held)
        return cls(int_arrays.take(held, order), int_arrays.take(alive, order))

    def position(self, id_: int) -> int | None:
        if not INT64_MIN <= id_ <= INT64_MAX:
            return None
        place = bisect_left(self.ids, id_)
        return self.positions[place] if place < len(self.ids) and self.ids[place] == id_ else None

    def with_changes(
        self, deleted_ids: Set[int], new_ids: Sequence[int], all_ids: Int64Array, live_positions: BitMap
    ) -> "IdLookup":
        """Without the deleted ids, and with new ones at the last positions."""
        if not deleted_ids and not new_ids:
            return self
        if len(deleted_ids) + len(new_ids) > MAX_IN_PLACE_CHANGES:
            return IdLookup.from_ids(all_ids, live_positions)
        ids, positions = self.ids[:], self.positions[:]
        for number in deleted_ids:
            place = bisect_left(ids, number)
            del ids[place], positions[place]
        for position, number in enumerate(new_ids, start=len(all_ids) - len(new_ids)):
            place = bisect_left(ids, number)
            ids.insert(place, number)
            positions.insert(place, position)
        return IdLookup(ids, positions)


class IndexBuilder:
    """Builds an index from rows in any order, added in batches."""

    def __init__(self) -> None:
        self._columns = (
            int_arrays.int64_array(),
            int_arrays.int64_array(),
            int_arrays.int64_array(),
            int_arrays.int64_array(),
        )
        self._figures = FigureColumns()
        self._rows_by_facet: dict[str, array[int]] = defaultdict(lambda: array("I"))

    def add(self, rows: Iterable[Sequence[Any]]) -> None:
        """Add rows with the fields of `IndexRow`."""
        ids, starts, created, updated = self._columns
        rows_by_facet, add_figures = self._rows_by_facet, self._figures.append
        for place, row in enumerate(rows, start=len(ids)):
            ids.append(row[0])
            starts.append(row[1])
            created.append(row[2])
            updated.append(row[3])
            words, figures = split_stored(row[4])
            for word in words:
                rows_by_facet[word].append(place)
            add_figures(figures)

    def build(self) -> Index:
        order = int_arrays.argsort_with_tiebreak(self._columns[1], tiebreak_desc=self._columns[0])
        positions = int_arrays.inverse_permutation(order)
        sets = {word: _remapped(positions, places) for word, places in self._rows_by_facet.items()}
        ids, starts, created, updated = (int_arrays.take(column, order) for column in self._columns)
        everything = bitmap_range(0, len(ids))
        by_id = IdLookup.from_ids(ids, everything)
        figures = self._figures.take(order).with_totals(sets)
        return Index(ids, starts, created, updated, sets, everything, by_id, figures)


class _CopyOnWriteSets:
    """The bitmaps of an index; those that change are copied first. Collects new figures, and totals by facet word."""

    def __init__(self, shared: Mapping[str, BitMap], before: FigureColumns) -> None:
        self.all = dict(shared)
        self.figures: dict[int, EventFigures] = {}
        self.totals = dict(before.totals)
        self._before = before
        self._copied: set[str] = set()

    def set_facets(self, position: int, stored: str, *, is_new: bool = False) -> None:
        """Give a position these facet words and figures, and no others."""
        words, figures = split_stored(stored)
        old = NO_FIGURES if is_new else self._before[position]
        self.figures[position] = figures
        if not is_new:
            for word in [word for word, positions in self.all.items() if position in positions and word not in words]:
                self._writable(word).discard(position)
                self.totals[word] = self.totals[word].minus(old)
        for word in words:
            positions = self._writable(word)
            difference = figures.minus(old) if position in positions else figures
            positions.add(position)
            self.totals[word] = self.totals.get(word, NO_FIGURES).plus(difference)

    def _writable(self, facet: str) -> BitMap:
        if facet not in self._copied:
            self._copied.add(facet)
            self.all[facet] = self.all[facet].copy() if facet in self.all else BitMap()
        return self.all[facet]


def union(sets: Sequence[BitMap]) -> BitMap:
    """The union of bitmaps; callers must not change it."""
    if len(sets) == 1:
        return sets[0]
    return BitMap.union(*sets) if sets else BitMap()


def intersection(sets: Sequence[BitMap]) -> BitMap:
    """The intersection of at least one bitmap; callers must not change it."""
    return reduce(and_, sorted(sets, key=len))


def _remapped(positions: UInt32Array, places: UInt32Array) -> BitMap:
    return BitMap(int_arrays.take(positions, places))


def bitmap_range(low: int, high: int) -> BitMap:
    """The positions in [low, high)."""
    return BitMap(range(low, high)) if low < high else BitMap()


def _extended(column: Int64Array, values: Sequence[int]) -> Int64Array:
    return column + int_arrays.int64_array(values) if values else column
