"""A cache of rendered records, so that a page is a join of ready bytes.

It belongs to one state of the index. The next state takes over the records that did not change.
"""

from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence, Set

RECORD_OVERHEAD_BYTES = 256  # of memory per record, beside its own bytes


class RecordCache:
    """Records by variant (language and scope) and id, within a memory limit."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._used_bytes = 0
        # Variants are in LRU order, records in FIFO order: moving each of fifty records takes as long as finding them.
        self._variants: OrderedDict[Hashable, OrderedDict[int, bytes]] = OrderedDict()

    @property
    def used_bytes(self) -> int:
        """Bytes in use."""
        return self._used_bytes

    def get(self, variant: Hashable, ids: Sequence[int]) -> list[bytes | None]:
        """The records of these ids, None for those not cached."""
        records_by_id = self._variants.get(variant)
        if records_by_id is None:
            return [None] * len(ids)
        self._variants.move_to_end(variant)
        return list(map(records_by_id.get, ids))

    def put(self, variant: Hashable, records: Mapping[int, bytes]) -> None:
        """Add records. Evicts the oldest records of the least recently used variants over the limit."""
        records_by_id = self._variants.setdefault(variant, OrderedDict())
        self._variants.move_to_end(variant)
        for number, record in records.items():
            self._used_bytes += _entry_bytes(record) - _entry_bytes(records_by_id.get(number))
            records_by_id[number] = record
        while self._used_bytes > self._max_bytes:
            oldest = next(iter(self._variants.values()))
            if oldest:
                self._used_bytes -= _entry_bytes(oldest.popitem(last=False)[1])
            else:
                self._variants.popitem(last=False)

    def transfer_unchanged(self, changed_ids: Set[int]) -> "RecordCache":
        """Move all but the changed records to a cache for the next state. This one is empty then, and stays so:
        readers of the earlier state must not add to the later one."""
        following = RecordCache(self._max_bytes)
        following._used_bytes, following._variants = self._used_bytes, self._variants
        self._max_bytes, self._used_bytes, self._variants = 0, 0, OrderedDict()
        for variant, records_by_id in list(following._variants.items()):
            for number in records_by_id.keys() & changed_ids:
                following._used_bytes -= _entry_bytes(records_by_id.pop(number))
            if not records_by_id:
                del following._variants[variant]
        return following


def _entry_bytes(record: bytes | None) -> int:
    return 0 if record is None else len(record) + RECORD_OVERHEAD_BYTES
