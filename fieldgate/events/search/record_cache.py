"""Records as callers were shown them lately, so that a page is a join of ready bytes.

They are of one state of the data, and go with it. When another state follows, those that did not change are handed on.
"""

from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence, Set

PER_RECORD = 256  # bytes, beside its own: its key, and its place in the order of use


class Shown:
    """Keeps records by their id, apart for callers who are shown them otherwise, within a bound of memory."""

    def __init__(self, bound: int) -> None:
        self._bound = bound
        self._held = 0
        # Those asked for last come last. Of their records those kept last do: to write down the use of each of fifty
        # takes as long again as to find them.
        self._shelves: OrderedDict[Hashable, OrderedDict[int, bytes]] = OrderedDict()

    @property
    def held(self) -> int:
        """Bytes in use."""
        return self._held

    def get(self, to: Hashable, numbers: Sequence[int]) -> list[bytes | None]:
        """The records of these ids, None where one is not here."""
        shelf = self._shelves.get(to)
        if shelf is None:
            return [None] * len(numbers)
        self._shelves.move_to_end(to)
        return list(map(shelf.get, numbers))

    def put(self, to: Hashable, records: Mapping[int, bytes]) -> None:
        """Keep records, and let go of those kept the longest where memory needs it."""
        shelf = self._shelves.setdefault(to, OrderedDict())
        self._shelves.move_to_end(to)
        for number, record in records.items():
            self._held += _size(record) - _size(shelf.get(number))
            shelf[number] = record
        while self._held > self._bound:
            oldest = next(iter(self._shelves.values()))
            if oldest:
                self._held -= _size(oldest.popitem(last=False)[1])
            else:
                self._shelves.popitem(last=False)

    def hand_on(self, changed: Set[int]) -> "Shown":
        """All but the changed ones, for the state that follows. Nothing stays here, and nothing is kept any more:
        whoever still reads the earlier state must not put its records where those of the later are."""
        following = Shown(self._bound)
        following._held, following._shelves = self._held, self._shelves
        self._bound, self._held, self._shelves = 0, 0, OrderedDict()
        for to, shelf in list(following._shelves.items()):
            for number in shelf.keys() & changed:
                following._held -= _size(shelf.pop(number))
            if not shelf:
                del following._shelves[to]
        return following


def _size(record: bytes | None) -> int:
    return 0 if record is None else len(record) + PER_RECORD
