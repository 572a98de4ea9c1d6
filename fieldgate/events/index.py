"""Which events match, how many, and in what order: sets of positions, in memory.

A position is an event's place from the oldest, so that a new event usually goes to the end. Every value of every
facet (a country, a type, a level) has the set of positions that bear it; a filter is an operation on sets, a count
is a length, a page is a slice. The index is pure and never changes: a change of the data makes another one, which
shares all that stayed the same.
"""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

from fieldgate.events.model import SOCIETIES, SOURCES, Event
from fieldgate.events.sight import Sight

Numbers = npt.NDArray[np.int64]

EARLIEST, LATEST = -(2**63), 2**63 - 1


class Row(NamedTuple):
    """What the index knows of one event. `facets` are words such as `c14` (a country) or `v3` (a visibility)."""

    id: int
    start: int  # microseconds since 1970, as all moments here
    created: int
    updated: int
    facets: str


class CannotApply(Exception):
    """The change moves events that stay: the index has to be built anew."""


def facets_of(event: Event) -> str:
    """The values of all facets of an event, as words: each is the name of a set of the index."""
    words = [f"v{event.visibility}", f"s{event.ifrc_severity_level}"]
    words += [f"c{country}" for country in sorted(set(event.countries))]
    words += [f"a{kind}" for kind in sorted({appeal.atype for appeal in event.appeals})]
    if event.dtype is not None:
        words.append(f"d{event.dtype}")
    if event.is_featured:
        words.append("f")
    if event.is_featured_region:
        words.append("g")
    if event.auto_generated_source is not None:
        words.append(source_word(event.auto_generated_source))
    return " ".join(words)


def source_word(source: str) -> str:
    return f"o{SOURCES.index(source)}"


class Index:
    def __init__(
        self,
        ids: Numbers,
        starts: Numbers,
        created: Numbers,
        updated: Numbers,
        sets: Mapping[str, BitMap],
        everything: BitMap,
        by_id: Numbers,
    ) -> None:
        self.ids = ids  # by position, as are the next three
        self.starts = starts
        self.created = created
        self.updated = updated
        self._sets = sets
        self.everything = everything  # what was not deleted
        self._by_id = by_id  # positions of what was not deleted, in the order of their ids
        self._in_order = ids[by_id]

    def __len__(self) -> int:
        return len(self.everything)

    def position(self, number: int) -> int | None:
        """Where an event stands."""
        if not EARLIEST <= number <= LATEST:
            return None
        place = int(np.searchsorted(self._in_order, number))
        if place == len(self._by_id) or self._in_order[place] != number:
            return None
        return int(self._by_id[place])

    # Sets of positions. None of them may be changed by who gets it.

    def bearing(self, *words: str) -> BitMap:
        """The events that bear any of these values."""
        return union(list(filter(None, map(self._sets.get, words))))

    def seen(self, sight: Sight) -> BitMap:
        """The events a caller may see."""
        seen = self.bearing(*(f"v{level}" for level in sight.levels))
        if sight.countries and SOCIETIES not in sight.levels:
            seen = seen | (self.bearing(f"v{SOCIETIES}") & self.bearing(*(f"c{each}" for each in sight.countries)))
        return seen & self.everything

    def numbered(self, numbers: Sequence[int]) -> BitMap:
        """The events of these ids."""
        wanted = np.array([number for number in numbers if EARLIEST <= number <= LATEST], dtype=np.int64)
        positions = self.positions(wanted)
        return bitmap(positions[positions >= 0])

    def positions(self, numbers: Numbers) -> Numbers:
        """Where the events of these ids stand; -1 for those that are not here."""
        if not len(self._by_id):
            return np.full(len(numbers), -1, dtype=np.int64)
        places = np.minimum(np.searchsorted(self._in_order, numbers), len(self._by_id) - 1)
        return np.where(self._in_order[places] == numbers, self._by_id[places], -1)

    def started(self, low: int, high: int) -> BitMap:
        """The events whose disaster began in [low, high]: positions run in that order."""
        return _range(int(np.searchsorted(self.starts, low)), int(np.searchsorted(self.starts, high, side="right")))

    def between(self, column: Numbers, low: int, high: int) -> BitMap:
        """The events with a moment in [low, high]."""
        return bitmap(np.nonzero((column >= low) & (column <= high))[0])

    def page(self, chosen: BitMap, limit: int, offset: int) -> list[int]:
        """The ids of one page in the usual order: the newest first, and the lowest id of the same moment."""
        last = len(chosen) - offset
        positions = chosen[max(0, last - limit) : last].to_array() if last > 0 else array("I")
        found: list[int] = self.ids[positions[::-1]].tolist()
        return found

    # Changes

    def changed(self, rows: Sequence[Row], gone: Iterable[int]) -> "Index":
        """The index after events were deleted, edited where they stand, or came after all others."""
        sets = _Sets(self._sets)
        everything = self.everything.copy()
        created, updated = self.created.copy(), self.updated.copy()
        for number in gone:
            position = self.position(number)
            if position is not None:
                everything.discard(position)
                sets.put(position, "")
        new: list[Row] = []
        for row in rows:
            position = self.position(row.id)
            if position is None:
                new.append(row)
                continue
            if self.starts[position] != row.start:
                raise CannotApply
            created[position], updated[position] = row.created, row.updated
            sets.put(position, row.facets)
        new.sort(key=lambda row: (row.start, -row.id))
        if new and len(self.ids) and (new[0].start, -new[0].id) <= (int(self.starts[-1]), -int(self.ids[-1])):
            raise CannotApply
        for position, row in enumerate(new, start=len(self.ids)):
            everything.add(position)
            sets.put(position, row.facets, is_new=True)
        ids = _longer(self.ids, [row.id for row in new])
        return Index(
            ids,
            _longer(self.starts, [row.start for row in new]),
            _longer(created, [row.created for row in new]),
            _longer(updated, [row.updated for row in new]),
            sets.all,
            everything,
            _in_order_of(ids, everything) if new or len(everything) < len(self.everything) else self._by_id,
        )


class Builder:
    """Takes events in any order, a few or many at a time, and makes their index."""

    def __init__(self) -> None:
        self._columns = (array("q"), array("q"), array("q"), array("q"))
        self._bearers: dict[str, array[int]] = defaultdict(lambda: array("I"))

    def add(self, rows: Iterable[Sequence[Any]]) -> None:
        """Take rows with the fields of `Row`."""
        ids, starts, created, updated = self._columns
        bearers = self._bearers
        for place, row in enumerate(rows, start=len(ids)):
            ids.append(row[0])
            starts.append(row[1])
            created.append(row[2])
            updated.append(row[3])
            for word in row[4].split():
                bearers[word].append(place)

    def build(self) -> Index:
        ids, starts, created, updated = (np.array(column, dtype=np.int64) for column in self._columns)
        order = np.lexsort((-ids, starts))
        positions = np.empty(len(order), dtype=np.uint32)
        positions[order] = np.arange(len(order), dtype=np.uint32)
        sets = {word: bitmap(positions[np.array(places)]) for word, places in self._bearers.items()}
        ids = ids[order]
        return Index(ids, starts[order], created[order], updated[order], sets, _range(0, len(ids)), np.argsort(ids))


class _Sets:
    """The sets of an index, those that change copied first."""

    def __init__(self, shared: Mapping[str, BitMap]) -> None:
        self.all = dict(shared)
        self._own: set[str] = set()

    def put(self, position: int, facets: str, *, is_new: bool = False) -> None:
        """Let a position bear these values and no others."""
        words = set(facets.split())
        if not is_new:
            for word in [word for word, bearing in self.all.items() if position in bearing and word not in words]:
                self._edit(word).discard(position)
        for word in words:
            self._edit(word).add(position)

    def _edit(self, word: str) -> BitMap:
        if word not in self._own:
            self._own.add(word)
            self.all[word] = self.all[word].copy() if word in self.all else BitMap()
        return self.all[word]


def _in_order_of(ids: Numbers, everything: BitMap) -> Numbers:
    """Positions in the order of their ids. A deleted event may come back under its id, at another position."""
    alive = np.frombuffer(everything.to_array(), dtype=np.uint32).astype(np.int64)
    return alive[np.argsort(ids[alive])]


def union(sets: Sequence[BitMap]) -> BitMap:
    """What is in any of some sets; nobody may change it."""
    if len(sets) == 1:
        return sets[0]
    return BitMap.union(*sets) if sets else BitMap()


def bitmap(positions: npt.NDArray[Any]) -> BitMap:
    packed = array("I")
    packed.frombytes(np.sort(positions).astype(np.uint32, copy=False).tobytes())
    return BitMap(packed)


def _range(low: int, high: int) -> BitMap:
    return BitMap(range(low, high)) if low < high else BitMap()


def _longer(column: Numbers, values: Sequence[int]) -> Numbers:
    return np.append(column, np.array(values, dtype=np.int64)) if values else column
