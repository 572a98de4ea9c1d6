"""Records on disk until all of them are there, for formats that need to know the columns first."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from typing import IO, Any

import msgspec

from fieldgate_client.exports.flatten import flatten


class Spool:
    """Raw records in a temporary file, with the columns of their rows in the order in which they were seen.

    A column stands after the one that it followed in the record, so that columns of an object stay together.
    """

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="fieldgate-")  # noqa: SIM115 -- closed by `__exit__`
        self._columns: list[str] = []
        self._known: set[str] = set()
        self.count = 0

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    @property
    def columns(self) -> list[str]:
        return self._columns

    def write(self, records: Iterable[msgspec.Raw]) -> None:
        decode = msgspec.json.decode
        for record in records:
            data = bytes(record)
            self._file.write(data.replace(b"\n", b" ") + b"\n")  # line breaks in texts are escaped in JSON
            self.count += 1
            decoded = decode(data)
            row = flatten(decoded) if isinstance(decoded, dict) else {"value": decoded}
            if not row.keys() <= self._known:
                self._add_columns([*row])

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows, from the beginning. Columns that a record lacks are missing."""
        self._file.seek(0)
        for line in self._file:
            decoded = msgspec.json.decode(line)
            yield flatten(decoded) if isinstance(decoded, dict) else {"value": decoded}

    def _add_columns(self, names: list[str]) -> None:
        position = 0
        for name in names:
            if name in self._known:
                position = self._columns.index(name) + 1
            else:
                self._columns.insert(position, name)
                self._known.add(name)
                position += 1
