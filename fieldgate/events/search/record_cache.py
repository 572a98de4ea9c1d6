"""Records as callers were shown them lately, so that a page is a join of ready bytes.

They are of one state of the data, and go with it. When another state follows, those that did not change are handed on.
"""

from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence, Set

RECORD_OVERHEAD_BYTES = 256  # bytes, beside its own: its key, and its place in the order of use


class RecordCache:
    """Keeps records by their id, apart for callers who are shown them otherwise, within a bound of memory."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._used_bytes = 0
        # Those asked for last come last. Of their records those kept last do: to write down the use of each of fifty
        # takes as long again as to find them.
        self._variants: OrderedDict[Hashable, OrderedDict[int, bytes]] = OrderedDict()

    @property
    def used_bytes(self) -> int:
        """Bytes in use."""
        return self._used_bytes

    def get(self, variant: Hashable, ids: Sequence[int]) -> list[bytes | None]:
        """The records of these ids, None where one is not here."""
        shelf = self._variants.get(variant)
        if shelf is None:
            return [None] * len(ids)
        self._variants.move_to_end(variant)
        return list(map(shelf.get, ids))

    def put(self, variant: Hashable, records: Mapping[int, bytes]) -> None:
        """Keep records, and let go of those kept the longest where memory needs it."""
        shelf = self._variants.setdefault(variant, OrderedDict())
        self._variants.move_to_end(variant)
        for number, record in records.items():
            self._used_bytes += _entry_bytes(record) - _entry_bytes(shelf.get(number))
            shelf[number] = record
        while self._used_bytes > self._max_bytes:
            oldest = next(iter(self._variants.values()))
            if oldest:
                self._used_bytes -= _entry_bytes(oldest.popitem(last=False)[1])
            else:
                self._variants.popitem(last=False)

    def transfer_unchanged(self, changed_ids: Set[int]) -> "RecordCache":
        """All but the changed ones, for the state that follows. Nothing stays here, and nothing is kept any more:
        whoever still reads the earlier state must not put its records where those of the later are."""
        following = RecordCache(self._max_bytes)
        following._used_bytes, following._variants = self._used_bytes, self._variants
        self._max_bytes, self._used_bytes, self._variants = 0, 0, OrderedDict()
        for to, shelf in list(following._variants.items()):
            for number in shelf.keys() & changed_ids:
                following._used_bytes -= _entry_bytes(shelf.pop(number))
            if not shelf:
                del following._variants[to]
        return following


def _entry_bytes(record: bytes | None) -> int:
    return 0 if record is None else len(record) + RECORD_OVERHEAD_BYTES
