"""Records that were made for callers, kept within a limit of memory."""

from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from threading import Lock

RECORD_OVERHEAD_BYTES = 320  # of memory for each record, beside its own bytes

Key = tuple[int, int]  # id and version of an event: a changed event has another key


class RecordCache:
    """Records by variant (what they depend on beside the event) and key, for all threads."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self.used_bytes = 0
        self._lock = Lock()
        # Variants are in LRU order, records in FIFO order: moving each of fifty records takes as long as finding them.
        self._variants: OrderedDict[Hashable, OrderedDict[Key, bytes]] = OrderedDict()

    def get(self, variant: Hashable, keys: Sequence[Key]) -> list[bytes | None]:
        """The records of these keys, None for those that are not kept."""
        with self._lock:
            records = self._variants.get(variant)
            if records is None:
                return [None] * len(keys)
            self._variants.move_to_end(variant)
            return list(map(records.get, keys))

    def put(self, variant: Hashable, made: Mapping[Key, bytes]) -> None:
        """Add records. Over the limit, the oldest records of the least recently used variants go."""
        with self._lock:
            records = self._variants.setdefault(variant, OrderedDict())
            self._variants.move_to_end(variant)
            for key, record in made.items():
                self.used_bytes += _entry_bytes(record) - _entry_bytes(records.get(key))
                records[key] = record
            while self.used_bytes > self._max_bytes:
                oldest = next(iter(self._variants.values()))
                if oldest:
                    self.used_bytes -= _entry_bytes(oldest.popitem(last=False)[1])
                else:
                    self._variants.popitem(last=False)


def _entry_bytes(record: bytes | None) -> int:
    return 0 if record is None else len(record) + RECORD_OVERHEAD_BYTES
