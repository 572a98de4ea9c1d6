"""Keys of the records of a list that were already returned, in little memory.

Integer ids take about two bits each if they are dense, so a million of them stay far below a megabyte.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

Key = int | str

_BITS = 8  # a chunk has 256 ids
_MASK = (1 << _BITS) - 1


class SeenKeys:
    def __init__(self) -> None:
        self._chunks: dict[int, int] = {}
        self._hashes: set[bytes] = set()
        self._count = 0

    def copy(self) -> SeenKeys:
        other = SeenKeys()
        other._chunks, other._hashes, other._count = dict(self._chunks), set(self._hashes), self._count
        return other

    def __len__(self) -> int:
        return self._count

    def __contains__(self, key: Key) -> bool:
        if isinstance(key, int):
            return bool(self._chunks.get(key >> _BITS, 0) >> (key & _MASK) & 1)
        return _hash(key) in self._hashes

    def add(self, key: Key) -> bool:
        """Add a key; return whether it is new."""
        return self.add_all([key])[0]

    def add_all(self, keys: Sequence[Key]) -> list[bool]:
        """Add keys; return for each whether it is new. In one loop, as this runs for every record of every list."""
        chunks, hashes = self._chunks, self._hashes
        added = []
        for key in keys:
            if isinstance(key, int):
                chunk, bit = key >> _BITS, 1 << (key & _MASK)
                bits = chunks.get(chunk, 0)
                is_new = not bits & bit
                if is_new:
                    chunks[chunk] = bits | bit
            else:
                hashed = _hash(key)
                is_new = hashed not in hashes
                hashes.add(hashed)
            added.append(is_new)
        self._count += sum(added)
        return added


def _hash(key: str) -> bytes:
    return blake2b(key.encode(errors="surrogatepass"), digest_size=16).digest()
