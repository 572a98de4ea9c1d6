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

import msgspec
from pyroaring import BitMap

from fieldgate.events.facets import COUNTRY, NO_FIGURES, VISIBILITY, EventFigures
from fieldgate.events.model import Visibility
from fieldgate.events.search import int_arrays
from fieldgate.events.search.figure_columns import FigureColumns
from fieldgate.events.search.int_arrays import Int64Array, UInt32Array
from fieldgate.events.visibility import ViewerScope

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1


class IndexRow(NamedTuple):
    """What the index knows of one event: a row of the table `event_index_rows`."""

    id: int
    start: int  # microseconds since 1970, as the next two
    created: int
    updated: int
    facets: str  # words of `facets.py`, separated by spaces
    num_affected: int = 0  # this and the next three are the fields of `EventFigures`
    appeals: int = 0
    requested_cents: int = 0
    funded_cents: int = 0

    @property
    def figures(self) -> EventFigures:
        return EventFigures(*self[5:])


class Index(msgspec.Struct, frozen=True, eq=False):
    ids: Int64Array  # by position, as are the next three
    starts: Int64Array
    created: Int64Array
    updated: Int64Array
    facet_sets: Mapping[str, BitMap]  # by facet word
    live_positions: BitMap  # not deleted
    by_id: "IdLookup"
    figures: FigureColumns  # by position

    def __len__(self) -> int:
        return len(self.live_positions)

    def position(self, id_: int) -> int | None:
        """The position of an event."""
        return self.by_id.position(id_)

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
        return int_arrays.find_positions(self.by_id.ids, self.by_id.positions, ids)

    def started_between(self, low: int, high: int) -> BitMap:
        """The events with a start date in [low, high]."""
        return bitmap_range(bisect_left(self.starts, low), bisect_right(self.starts, high))

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
        """The index after any changes. Those that move no event take less time."""
        edited: dict[int, IndexRow] = {}
        left = {position for id_ in deleted_ids if (position := self.position(id_)) is not None}
        builder = IndexBuilder()
        for row in rows:
            position = self.position(row.id)
            if position is not None and self.starts[position] == row.start:
                edited[position] = row
                continue
            if position is not None:
                left.add(position)
            builder.add([row])
        return self._edited(edited, left)._merged(builder.build())

    def _edited(self, rows: Mapping[int, IndexRow], left: Set[int]) -> "Index":
        """With other rows at some positions, and without the events at others."""
        if not rows and not left:
            return self
        touched = BitMap([*rows, *left])
        sets = {word: each - touched if each.intersect(touched) else each for word, each in self.facet_sets.items()}
        created, updated = self.created[:], self.updated[:]
        positions_by_word: dict[str, list[int]] = defaultdict(list)
        for position, row in rows.items():
            created[position], updated[position] = row.created, row.updated
            for word in row.facets.split():
                positions_by_word[word].append(position)
        for word, positions in positions_by_word.items():
            sets[word] = sets.get(word, BitMap()) | BitMap(positions)
        live = self.live_positions - BitMap(left) if left else self.live_positions
        figures = {position: row.figures for position, row in rows.items()} | dict.fromkeys(left, NO_FIGURES)
        return Index(
            self.ids,
            self.starts,
            created,
            updated,
            sets,
            live,
            IdLookup.from_ids(self.ids, live) if left else self.by_id,
            self.figures.with_changes(figures),
        )

    def _merged(self, other: "Index") -> "Index":
        """With the events of another index, which have other ids. If they are between these, deleted positions go."""
        if not other.ids:
            return self
        ids, starts = self.ids + other.ids, self.starts + other.starts
        created, updated = self.created + other.created, self.updated + other.updated
        figures = self.figures.merged(other.figures)
        first = self.facet_sets
        second = {word: chosen.shift(len(self.ids)) for word, chosen in other.facet_sets.items()}
        live = self.live_positions | bitmap_range(len(self.ids), len(ids))
        if self.ids and (other.starts[0], -other.ids[0]) < (self.starts[-1], -self.ids[-1]):
            alive: UInt32Array = live.to_array()
            in_order = int_arrays.argsort_with_tiebreak(
                int_arrays.take(starts, alive), tiebreak_desc=int_arrays.take(ids, alive)
            )
            order = int_arrays.take(alive, in_order)
            positions = int_arrays.inverse_permutation(order, len(ids))
            first, second = _moved(first, positions), _moved(second, positions)
            ids, starts, created, updated = (int_arrays.take(each, order) for each in (ids, starts, created, updated))
            figures, live = figures.take(order), bitmap_range(0, len(order))
        int_arrays.preload_numpy(ids)
        sets = {word: union([each[word] for each in (first, second) if word in each]) for word in {**first, **second}}
        return Index(ids, starts, created, updated, sets, live, IdLookup.from_ids(ids, live), figures)


class IdLookup(msgspec.Struct, frozen=True, eq=False):
    """The ids that are not deleted, sorted, with their positions. A deleted event may come back at another position."""

    ids: Int64Array
    positions: UInt32Array

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
            for word in row[4].split():
                rows_by_facet[word].append(place)
            add_figures(row[5:])

    def build(self) -> Index:
        order = int_arrays.argsort_with_tiebreak(self._columns[1], tiebreak_desc=self._columns[0])
        positions = int_arrays.inverse_permutation(order, len(order))
        sets = {word: BitMap(int_arrays.take(positions, places)) for word, places in self._rows_by_facet.items()}
        ids, starts, created, updated = (int_arrays.take(column, order) for column in self._columns)
        everything = bitmap_range(0, len(ids))
        by_id = IdLookup.from_ids(ids, everything)
        return Index(ids, starts, created, updated, sets, everything, by_id, self._figures.take(order))


def union(sets: Sequence[BitMap]) -> BitMap:
    """The union of bitmaps; callers must not change it."""
    if len(sets) == 1:
        return sets[0]
    return BitMap.union(*sets) if sets else BitMap()


def intersection(sets: Sequence[BitMap]) -> BitMap:
    """The intersection of at least one bitmap; callers must not change it."""
    return reduce(and_, sorted(sets, key=len))


def _moved(facet_sets: Mapping[str, BitMap], positions: UInt32Array) -> dict[str, BitMap]:
    return {word: BitMap(int_arrays.take(positions, chosen.to_array())) for word, chosen in facet_sets.items()}


def bitmap_range(low: int, high: int) -> BitMap:
    """The positions in [low, high)."""
    return BitMap(range(low, high)) if low < high else BitMap()
