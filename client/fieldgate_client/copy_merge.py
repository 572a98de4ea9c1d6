"""Merges new records into a copy on disk, record by record.

Memory: the ids of the list take about two bits each, and a record that was requested again about 130 bytes (its id and
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
from fieldgate_client.pages import read_fields
from fieldgate_client.seen_keys import Key, SeenKeys


class CopyMerge:
    """A changed record takes the place of the old one; new ones come at the end."""

    def __init__(self, old: Path, new: IO[bytes]) -> None:
        self._old = old
        self._new = new
        self._positions: dict[Key, int] = {}
        self.gone = SeenKeys()  # what is known to have left the list
        self.listed: SeenKeys | None = None  # everything that the list has, if that was read
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
            self._positions[read_fields(line).key] = self._spool.tell()
            self._spool.write(line)

    def has(self, key: Key) -> bool:
        return key in self._positions

    @property
    def is_different(self) -> bool:
        return bool(self.added or self.changed or self.deleted)

    def write(self) -> LineDigest:
        """Write the new file from its start."""
        self.added = self.changed = self.deleted = 0
        self._new.seek(0)
        self._new.truncate()
        digest, written = LineDigest(), SeenKeys()
        with self._old.open("rb", buffering=BUFFER_BYTES) as old:
            for line, fields in read_lines(old):
                if not self._is_listed(fields.key) or not written.add(fields.key):
                    self.deleted += 1
                    continue
                position = self._positions.get(fields.key)
                current = line if position is None else self._line_at(position)
                if current != line:
                    self.changed += 1
                    fields = read_fields(current)
                digest.add(current, fields)
                self._new.write(current)
        for key, position in self._positions.items():
            if self._is_listed(key) and written.add(key):
                line = self._line_at(position)
                digest.add(line, read_fields(line))
                self._new.write(line)
                self.added += 1
        return digest

    def _is_listed(self, key: Key) -> bool:
        return key in self.listed if self.listed is not None else key not in self.gone

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
            found.extend(_short_digest(line) for line, _ in read_lines(file))
        return cls(found)

    def __contains__(self, line: bytes) -> bool:
        digest = _short_digest(line)
        place = bisect_left(self._sorted, digest)
        return place < len(self._sorted) and self._sorted[place] == digest


def _short_digest(line: bytes) -> int:
    return int.from_bytes(blake2b(line, digest_size=8).digest(), "big")
