"""The in-memory index of events: which match, how many, and in what order, by bitmaps of positions.

Positions are in the order of start dates, so a new event usually goes to the end. Every value of every facet has the
bitmap of the positions with that value; a filter is an operation on bitmaps, a count is a length, a page is a slice. An
index is immutable: a change of the data makes another one, which shares everything that stayed the same.
"""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import reduce
from operator import and_
from typing import Any, NamedTuple, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

from fieldgate.events.facets import COUNTRY, NO_FIGURES, VISIBILITY, EventFigures
from fieldgate.events.model import Visibility
from fieldgate.events.visibility import ViewerScope

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
NOT_FOUND = -1

Int64Array: TypeAlias = npt.NDArray[np.int64]
Positions: TypeAlias = npt.NDArray[np.integer[Any]]


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
    def numbers(self) -> tuple[int, ...]:
        """All but the facets: a column of `Index.table`."""
        return (*self[:4], *self[5:])


class Index(msgspec.Struct, frozen=True, eq=False):
    table: Int64Array  # a row for each of the numbers of an event, a column for each position
    facet_sets: Mapping[str, BitMap]  # by facet word
    live_positions: BitMap  # not deleted
    by_id: "IdLookup"

    def __len__(self) -> int:
        return len(self.live_positions)

    # The numbers of all events, by position.

    @property
    def ids(self) -> Int64Array:
        return self.table[0, :]

    @property
    def starts(self) -> Int64Array:
        return self.table[1, :]

    @property
    def created(self) -> Int64Array:
        return self.table[2, :]

    @property
    def updated(self) -> Int64Array:
        return self.table[3, :]

    @property
    def figures(self) -> Int64Array:
        """A row for each field of `EventFigures`."""
        return self.table[4:]

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
        found = self.positions(ids)
        return to_bitmap(found[found != NOT_FOUND])

    def positions(self, ids: Sequence[int]) -> Int64Array:
        """The positions of these ids; `NOT_FOUND` for ids that are not in the index."""
        return self.by_id.positions_of(
            [id_ if INT64_MIN <= id_ <= INT64_MAX else NOT_FOUND for id_ in ids]
        )

    def started_between(self, low: int, high: int) -> BitMap:
        """The events with a start date in [low, high]."""
        return bitmap_range(
            int(np.searchsorted(self.starts, low)), int(np.searchsorted(self.starts, high, "right"))
        )

    def in_range(self, column: Int64Array, low: int, high: int) -> BitMap:
        """The events with a timestamp in [low, high]."""
        return to_bitmap(np.nonzero((column >= low) & (column <= high))[0])

    def sums(self, stating: BitMap, with_appeals: BitMap) -> EventFigures:
        """The people affected by some events, and the figures of the appeals of some."""
        affected = self.figures[0].take(to_array(stating))
        of_appeals = self.figures[1:].take(to_array(with_appeals), axis=1)
        return EventFigures(*map(_exact_sum, (affected, *of_appeals)))

    def page(self, selection: BitMap, limit: int, offset: int) -> list[int]:
        """The ids of one page in the default order: newest first, ties by the lowest id."""
        last = len(selection) - offset
        if last <= 0:
            return []
        found: list[int] = self.ids[to_array(selection[max(0, last - limit) : last])[::-1]].tolist()
        return found

    # Changes

    def with_changes(self, rows: Sequence[IndexRow], deleted_ids: Iterable[int]) -> "Index":
        """The index after any changes. Those that move no event take less time."""
        edited, moved = dict[int, IndexRow](), list[IndexRow]()
        left = set(self.by_ids(list(deleted_ids)))
        for row, position in zip(
            rows, self.positions([row.id for row in rows]).tolist(), strict=True
        ):
            if position != NOT_FOUND and self.starts[position] == row.start:
                edited[position] = row
                continue
            if position != NOT_FOUND:
                left.add(position)
            moved.append(row)
        builder = IndexBuilder()
        builder.add(moved)
        return self._edited(edited, left)._merged(builder.build())

    def _edited(self, rows: Mapping[int, IndexRow], left: Set[int]) -> "Index":
        """With other rows at some positions, and without the events at others."""
        if not rows and not left:
            return self
        touched = BitMap([*rows, *left])
        sets = {
            word: each - touched if each.intersect(touched) else each
            for word, each in self.facet_sets.items()
        }
        table = self.table.copy()
        table[4:, list(left)] = np.array([NO_FIGURES]).T
        positions_by_word: dict[str, list[int]] = defaultdict(list)
        for position, row in rows.items():
            table[:, position] = row.numbers
            for word in row.facets.split():
                positions_by_word[word].append(position)
        for word, positions in positions_by_word.items():
            sets[word] = sets.get(word, BitMap()) | BitMap(positions)
        live = self.live_positions - BitMap(left) if left else self.live_positions
        return Index(table, sets, live, IdLookup.from_ids(table[0], live) if left else self.by_id)

    def _merged(self, other: "Index") -> "Index":
        """With the events of another index, which have other ids. If they are between these, deleted positions go."""
        if not len(other.ids):
            return self
        count = len(self.ids)
        table = np.concatenate([self.table, other.table], axis=1)
        first = self.facet_sets
        second = {word: chosen.shift(count) for word, chosen in other.facet_sets.items()}
        live = self.live_positions | bitmap_range(count, table.shape[1])
        if count and (other.starts[0], -other.ids[0]) < (self.starts[-1], -self.ids[-1]):
            alive = to_array(live)
            order = alive[_default_order(table[:, alive])]
            places = np.zeros(table.shape[1], dtype=np.uint32)
            places[order] = np.arange(len(order), dtype=np.uint32)
            first, second = _moved(first, places), _moved(second, places)
            table, live = table[:, order], bitmap_range(0, len(order))
        sets = {
            word: union([each[word] for each in (first, second) if word in each])
            for word in {**first, **second}
        }
        return Index(table, sets, live, IdLookup.from_ids(table[0], live))


class IdLookup(msgspec.Struct, frozen=True, eq=False):
    """The ids that are not deleted, sorted, with their positions. A deleted event may come back at another position."""

    ids: Int64Array
    positions: Positions

    @classmethod
    def from_ids(cls, ids: Int64Array, live_positions: BitMap) -> "IdLookup":
        """From all ids by position, and the positions that are not deleted."""
        alive = to_array(live_positions)
        order = np.argsort(ids[alive])
        return cls(ids[alive][order], alive[order].astype(np.uint32))

    def positions_of(self, ids: Sequence[int]) -> Int64Array:
        wanted = np.array(ids, dtype=np.int64)
        if not len(self.ids):
            return np.full(len(wanted), NOT_FOUND)
        places = np.minimum(np.searchsorted(self.ids, wanted), len(self.ids) - 1)
        return np.where(
            self.ids[places] == wanted, self.positions[places].astype(np.int64), NOT_FOUND
        )


class IndexBuilder:
    """Builds an index from rows in any order, added in batches."""

    def __init__(self) -> None:
        self._tables = [np.empty((len(IndexRow._fields) - 1, 0), dtype=np.int64)]
        self._count = 0
        self._rows_by_facet: dict[str, array[int]] = defaultdict(lambda: array("I"))

    def add(self, rows: Sequence[Sequence[Any]]) -> None:
        """Add rows with the fields of `IndexRow`."""
        if rows:
            ids, starts, created, updated, facets, *figures = zip(*rows, strict=True)
            self._tables.append(np.array([ids, starts, created, updated, *figures], dtype=np.int64))
            for place, words in enumerate(facets, start=self._count):
                for word in words.split():
                    self._rows_by_facet[word].append(place)
            self._count += len(rows)

    def build(self) -> Index:
        table = np.concatenate(self._tables, axis=1)
        order = _default_order(table)
        positions = np.empty(len(order), dtype=np.uint32)
        positions[order] = np.arange(len(order), dtype=np.uint32)
        sets = {
            word: to_bitmap(positions[np.asarray(places)])
            for word, places in self._rows_by_facet.items()
        }
        table, everything = table[:, order], bitmap_range(0, len(order))
        return Index(table, sets, everything, IdLookup.from_ids(table[0], everything))


def _default_order(table: Int64Array) -> Positions:
    """The places of events by start date, ties by the highest id."""
    return np.lexsort((-table[0], table[1]))


def _exact_sum(numbers: Int64Array) -> int:
    """The sum, also of absurd figures, for which 64 bits are not enough."""
    fits = abs(float(numbers.sum(dtype=np.float64))) < 2.0**62
    return int(numbers.sum()) if fits else sum(numbers.tolist())


def to_array(selection: BitMap) -> Positions:
    """Positions of the type that indexes arrays: numpy would convert others each time."""
    return np.asarray(selection.to_array()).astype(np.intp)


def to_bitmap(positions: Positions) -> BitMap:
    return BitMap(array("I", positions.astype(np.uint32, copy=False).tobytes()))


def union(sets: Sequence[BitMap]) -> BitMap:
    """The union of bitmaps; callers must not change it."""
    if len(sets) == 1:
        return sets[0]
    return BitMap.union(*sets) if sets else BitMap()


def intersection(sets: Sequence[BitMap]) -> BitMap:
    """The intersection of at least one bitmap; callers must not change it."""
    return reduce(and_, sorted(sets, key=len))


def _moved(facet_sets: Mapping[str, BitMap], places: Positions) -> dict[str, BitMap]:
    return {word: to_bitmap(places[to_array(chosen)]) for word, chosen in facet_sets.items()}


def bitmap_range(low: int, high: int) -> BitMap:
    """The positions in [low, high)."""
    return BitMap(range(low, high)) if low < high else BitMap()
