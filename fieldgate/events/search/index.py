"""Which events match, how many, and in what order: sets of positions, in memory.

A position is an event's place from the oldest, so that a new event usually goes to the end. Every value of every
facet (a country, a type, a level) has the set of positions that bear it; a filter is an operation on sets, a count
is a length, a page is a slice. The index is pure and never changes: a change of the data makes another one, which
shares all that stayed the same.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, NamedTuple

from pyroaring import BitMap

from fieldgate.events.model import SOCIETIES, SOURCES, Event
from fieldgate.events.search import int_arrays
from fieldgate.events.search.int_arrays import Numbers, Places
from fieldgate.events.visibility import Sight

EARLIEST, LATEST = -(2**63), 2**63 - 1
FEW = 100  # events that came or went: each is put into its place, more are sorted anew


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
        by_id: "ById",
    ) -> None:
        self.ids = ids  # by position, as are the next three
        self.starts = starts
        self.created = created
        self.updated = updated
        self._sets = sets
        self.everything = everything  # what was not deleted
        self._by_id = by_id

    def __len__(self) -> int:
        return len(self.everything)

    def position(self, number: int) -> int | None:
        """Where an event stands."""
        return self._by_id.position(number)

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
        wanted = int_arrays.numbers([number for number in numbers if EARLIEST <= number <= LATEST])
        here = [position for position in self.positions(wanted) if position != int_arrays.NOWHERE]
        return BitMap(array("I", here))

    def positions(self, numbers: Numbers) -> Numbers:
        """Where the events of these ids stand; `NOWHERE` for those that are not here."""
        return int_arrays.found(self._by_id.ids, self._by_id.positions, numbers)

    def started(self, low: int, high: int) -> BitMap:
        """The events whose disaster began in [low, high]: positions run in that order."""
        return _range(bisect_left(self.starts, low), bisect_right(self.starts, high))

    def between(self, column: Numbers, low: int, high: int) -> BitMap:
        """The events with a moment in [low, high]."""
        return BitMap(int_arrays.within(column, low, high))

    def page(self, chosen: BitMap, limit: int, offset: int) -> list[int]:
        """The ids of one page in the usual order: the newest first, and the lowest id of the same moment."""
        last = len(chosen) - offset
        positions = chosen[max(0, last - limit) : last].to_array() if last > 0 else array("I")
        return list(map(self.ids.__getitem__, positions[::-1]))

    # Changes

    def changed(self, rows: Sequence[Row], gone: Iterable[int]) -> "Index":
        """The index after events were deleted, edited where they stand, or came after all others."""
        sets = _Sets(self._sets)
        everything = self.everything.copy()
        created, updated = self.created[:], self.updated[:]
        left: set[int] = set()
        for number in gone:
            position = self.position(number)
            if position is not None:
                left.add(number)
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
        if new and len(self.ids) and (new[0].start, -new[0].id) <= (self.starts[-1], -self.ids[-1]):
            raise CannotApply
        for position, row in enumerate(new, start=len(self.ids)):
            everything.add(position)
            sets.put(position, row.facets, is_new=True)
        ids = _longer(self.ids, [row.id for row in new])
        int_arrays.get_ready(ids)
        return Index(
            ids,
            _longer(self.starts, [row.start for row in new]),
            _longer(created, [row.created for row in new]),
            _longer(updated, [row.updated for row in new]),
            sets.all,
            everything,
            self._by_id.changed(left, [row.id for row in new], ids, everything),
        )


class ById:
    """The ids of what was not deleted, in order, and where each stands. A deleted event may come back under its id, at
    another position."""

    def __init__(self, ids: Numbers, positions: Places) -> None:
        self.ids = ids
        self.positions = positions

    @classmethod
    def of(cls, ids: Numbers, everything: BitMap) -> "ById":
        """From all ids by position, and the positions that count."""
        alive: Places = everything.to_array()
        held = int_arrays.taken(ids, alive)
        order = int_arrays.in_order(held)
        return cls(int_arrays.taken(held, order), int_arrays.taken(alive, order))

    def position(self, number: int) -> int | None:
        if not EARLIEST <= number <= LATEST:
            return None
        place = bisect_left(self.ids, number)
        return self.positions[place] if place < len(self.ids) and self.ids[place] == number else None

    def changed(self, gone: Set[int], new: Sequence[int], all_ids: Numbers, everything: BitMap) -> "ById":
        """Without some ids, and with others that stand at the end of all."""
        if not gone and not new:
            return self
        if len(gone) + len(new) > FEW:
            return ById.of(all_ids, everything)
        ids, positions = self.ids[:], self.positions[:]
        for number in gone:
            place = bisect_left(ids, number)
            del ids[place], positions[place]
        for position, number in enumerate(new, start=len(all_ids) - len(new)):
            place = bisect_left(ids, number)
            ids.insert(place, number)
            positions.insert(place, position)
        return ById(ids, positions)


class Builder:
    """Takes events in any order, a few or many at a time, and makes their index."""

    def __init__(self) -> None:
        self._columns = (int_arrays.numbers(), int_arrays.numbers(), int_arrays.numbers(), int_arrays.numbers())
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
        order = int_arrays.in_order_of_both(self._columns[1], then=self._columns[0])
        positions = int_arrays.inverse(order)
        sets = {word: _set(positions, places) for word, places in self._bearers.items()}
        ids, starts, created, updated = (int_arrays.taken(column, order) for column in self._columns)
        everything = _range(0, len(ids))
        return Index(ids, starts, created, updated, sets, everything, ById.of(ids, everything))


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


def union(sets: Sequence[BitMap]) -> BitMap:
    """What is in any of some sets; nobody may change it."""
    if len(sets) == 1:
        return sets[0]
    return BitMap.union(*sets) if sets else BitMap()


def _set(positions: Places, places: Places) -> BitMap:
    return BitMap(int_arrays.taken(positions, places))


def _range(low: int, high: int) -> BitMap:
    return BitMap(range(low, high)) if low < high else BitMap()


def _longer(column: Numbers, values: Sequence[int]) -> Numbers:
    return column + int_arrays.numbers(values) if values else column
