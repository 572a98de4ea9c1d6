"""A cache with an upper bound that evicts the least recently used entries.

    pages = BoundedCache[str, bytes](max_size=32 * 1024 * 1024)  # bytes
    pages.put("/", page, size=len(page))
    pages.get("/")

    parsed = BoundedCache[bytes, Request](max_size=1024)  # entries

It is our own class because it is on the path of every request, where cachetools.LRUCache takes twice as long. Threads
share a `SharedResults` instead, which also computes what it does not have:

    totals = SharedResults[Totals](max_size=1024, size_of=lambda _: 1)
    totals.get(key, lambda: read_totals(transaction))
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class BoundedCache(Generic[Key, Value]):
    """Maps keys to values other than None, up to a total size.

    The unit of `max_size` is the caller's: bytes if each `put` passes a size in bytes, entries if none passes a size.
    """

    def __init__(self, max_size: int) -> None:
        self._max_size = max_size
        # One large entry must not evict most of the others.
        self._max_entry_size = max(1, max_size // 2)
        self.used_size = 0  # of all entries
        self._values: OrderedDict[Key, Value] = OrderedDict()
        self._sizes: dict[Key, int] = {}  # only sizes other than 1

    def get(self, key: Key) -> Value | None:
        """Return the value, which is now the most recently used one, or None."""
        value = self._values.get(key)
        if value is not None:
            self._values.move_to_end(key)
        return value

    def put(self, key: Key, value: Value, size: int = 1) -> None:
        """Store a value, replacing an earlier one. An entry larger than half of `max_size` is not stored."""
        if key in self._values:
            self.discard(key)
        if size > self._max_entry_size:
            return
        self._values[key] = value
        if size != 1:
            self._sizes[key] = size
        self.used_size += size
        while self.used_size > self._max_size:
            evicted, _ = self._values.popitem(last=False)
            self.used_size -= self._sizes.pop(evicted, 1)

    def discard(self, key: Key) -> None:
        """Remove an entry if it is there."""
        if self._values.pop(key, None) is not None:
            self.used_size -= self._sizes.pop(key, 1)

    def __len__(self) -> int:
        return len(self._values)


class SharedResults(Generic[Value]):
    """Results of work, for threads. Each is computed once, however many threads ask for it at the same time."""

    def __init__(self, max_size: int, size_of: Callable[[Value], int]) -> None:
        self._results = BoundedCache[Hashable, Value](max_size)
        self._size_of = size_of
        self._lock = Lock()
        self._turns: dict[Hashable, Lock] = {}  # of what is being computed

    def find(self, key: Hashable) -> Value | None:
        """The result, if it is there."""
        with self._lock:
            return self._results.get(key)

    def put(self, key: Hashable, result: Value) -> None:
        with self._lock:
            self._results.put(key, result, size=self._size_of(result))

    def get(self, key: Hashable, compute: Callable[[], Value]) -> Value:
        """The result, computed if it is not there."""
        result = self.find(key)
        if result is not None:
            return result
        with self._lock:
            turn = self._turns.setdefault(key, Lock())
        with turn:
            result = self.find(key)
            if result is None:
                try:
                    result = compute()
                    self.put(key, result)
                finally:
                    with self._lock:
                        self._turns.pop(key, None)
        return result
