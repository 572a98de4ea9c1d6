"""A table of times by key, in memory that all processes of a server share.

A rate limit needs one number for each caller: the time at which its quota is full again (see `rate_limits.py`). The
table has a fixed size and is a file in the folder of the server's metrics, mapped into memory. A key is stored as a
64-bit hash. The hash is keyed with random bytes of the server start, so nobody can choose addresses that collide.

A key is in one of the `PROBES` slots from its home slot on. A new key takes the slot whose time passed first. If all
of them are still in use, the key with the earliest time is forgotten: the one that used least of its quota.

There is no lock. Reads and writes of aligned 64-bit values are atomic on the processors we run on, so a value is never
mixed from two. Between reading a time and writing a later one, another process can do the same; see `RateMeter`.
"""

import hashlib
import mmap
import os
import secrets
from pathlib import Path

from fieldgate.metrics.stale_folders import RATE_LIMITS_FILE

SLOTS = 1 << 16  # of 16 bytes: 1 MiB for a server
PROBES = 8
NOT_FOUND = -1
_SECRET_BYTES = 16


class ArrivalTable:
    def __init__(self, folder: Path | None, slots: int = SLOTS) -> None:
        """`slots` is a power of two. Without a folder, the table is in the memory of this process only."""
        size = _SECRET_BYTES + 16 * slots
        memory = memoryview(bytearray(_new_content(size)) if folder is None else _map_file(folder, size))
        self._secret = bytes(memory[:_SECRET_BYTES])
        middle = _SECRET_BYTES + 8 * slots
        self.keys = memory[_SECRET_BYTES:middle].cast("Q")
        self.times = memory[middle:].cast("d")
        self.mask = slots - 1

    def hash(self, name: bytes) -> int:
        """The key of a name. It is the same in all processes of the server."""
        return int.from_bytes(hashlib.blake2b(name, digest_size=8, key=self._secret).digest())

    def find(self, key: int) -> int:
        """Return the slot of a key, or `NOT_FOUND`."""
        keys, mask = self.keys, self.mask
        for step in range(PROBES):
            slot = (key + step) & mask
            if keys[slot] == key:
                return slot
        return NOT_FOUND

    def claim(self, key: int, now: float) -> int:
        """Return the slot of a key. If it has none, it gets one, and its time there is `now`."""
        slot = self.find(key)
        if slot == NOT_FOUND:
            slot = min([(key + step) & self.mask for step in range(PROBES)], key=self.times.__getitem__)
            self.times[slot] = now  # first: with the key in place, the time of the former key would count for it
            self.keys[slot] = key
        return slot


def _new_content(size: int) -> bytes:
    return secrets.token_bytes(_SECRET_BYTES) + bytes(size - _SECRET_BYTES)


def _map_file(folder: Path, size: int) -> mmap.mmap:
    """Map the file of the server. The process that comes first creates it, complete at once."""
    target = folder / RATE_LIMITS_FILE
    if not target.exists():
        own = folder / f"{RATE_LIMITS_FILE}-{secrets.token_hex(8)}"
        # All bytes are written: a full disk fails here, not during a request.
        own.write_bytes(_new_content(size))
        try:
            os.link(own, target)
        except FileExistsError:
            pass  # another process was faster
        finally:
            own.unlink()
    with target.open("r+b") as file:
        return mmap.mmap(file.fileno(), size)
