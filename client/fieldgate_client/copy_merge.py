"""Merges new records into a copy on disk, record by record.

Memory: the ids of the list take about two bits each, and a record that was requested anew about 130 bytes (its id and
its place in a temporary file). Digests for counting changed records take 8 bytes each.
"""

from __future__ import annotations

import tempfile
from array import array
from bisect import bisect_left
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path
from typing import IO

import msgspec

from fieldgate_client.ndjson_file import BUFFER_BYTES, LineDigest, read_lines, to_line
from fieldgate_client.pages import record_key
from fieldgate_client.seen_keys import Key, SeenKeys


class CopyMerge:
    """A changed record takes the place of the old one; new ones come at the end."""

    def __init__(self, old: Path, new: IO[bytes]) -> None:
        self._old = old
        self._new = new
        self._positions: dict[Key, int] = {}
        self.listed = SeenKeys()  # everything that the list has
        self.added = self.changed = self.deleted = 0

    def __enter__(self) -> CopyMerge:
        self._spool: IO[bytes] = tempfile.TemporaryFile(dir=self._old.parent, prefix=".fieldgate-")
        return self

    def __exit__(self, *_: object) -> None:
        self._spool.close()

    def add(self, records: Iterable[msgspec.Raw]) -> None:
        """Keep records that were requested in full. The last one with a key counts."""
        self._spool.seek(0, 2)
        for record in records:
            line = to_line(record)
            self._positions[record_key(line)[0]] = self._spool.tell()
            self._spool.write(line)

    def has(self, key: Key) -> bool:
        return key in self._positions

    @property
    def is_different(self) -> bool:
        return bool(self.added or self.changed or self.deleted)

    def write(self) -> LineDigest:
        """Write the new file."""
        digest, written = LineDigest(), SeenKeys()
        with self._old.open("rb", buffering=BUFFER_BYTES) as old:
            for line, key, updated_at in read_lines(old):
                if key not in self.listed or not written.add(key):
                    self.deleted += 1
                    continue
                position = self._positions.get(key)
                if position is not None and (current := self._line_at(position)) != line:
                    self.changed += 1
                    line, updated_at = current, record_key(current)[1]
                digest.add(line, updated_at)
                self._new.write(line)
        for key, position in self._positions.items():
            if key in self.listed and written.add(key):
                line = self._line_at(position)
                digest.add(line, record_key(line)[1])
                self._new.write(line)
                self.added += 1
        return digest

    def _line_at(self, position: int) -> bytes:
        self._spool.seek(position)
        return self._spool.readline()


class OldDigests:
    """Which lines a file had, in 8 bytes each."""

    def __init__(self, digests: Iterable[int] = ()) -> None:
        self._sorted = array("Q", sorted(digests))

    @classmethod
    def of_file(cls, path: Path) -> OldDigests:
        found = array("Q")
        with path.open("rb", buffering=BUFFER_BYTES) as file:
            found.extend(_short_digest(line) for line, _, _ in read_lines(file))
        return cls(found)

    def __contains__(self, line: bytes) -> bool:
        digest = _short_digest(line)
        place = bisect_left(self._sorted, digest)
        return place < len(self._sorted) and self._sorted[place] == digest


def _short_digest(line: bytes) -> int:
    return int.from_bytes(blake2b(line, digest_size=8).digest(), "big")
