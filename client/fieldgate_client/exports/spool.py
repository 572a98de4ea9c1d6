"""Records on disk until all of them are there, for formats that need to know columns and types first."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import IO

import msgspec

from fieldgate_client.exports.column_choice import ALL_COLUMNS, ColumnChoice
from fieldgate_client.exports.column_types import ColumnType, KindTracker
from fieldgate_client.exports.columns import Columns
from fieldgate_client.exports.flatten import Row, decode_record, flatten
from fieldgate_client.exports.ndjson import to_lines


class Spool:
    """Raw records in a temporary file, with the columns and types of their rows."""

    def __init__(
        self,
        expected: dict[str, int] | None = None,
        choice: ColumnChoice = ALL_COLUMNS,
        *,
        folder: str | None = None,
        is_flat: bool = True,
    ) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="fieldgate-", dir=folder)  # noqa: SIM115 -- `close`
        self._is_flat = is_flat
        self._columns = Columns(expected, choice)
        self._kinds = KindTracker(expected)
        self.count = 0

    def close(self) -> None:
        self._file.close()

    def types(self) -> dict[str, ColumnType]:
        """The columns of the table with their types."""
        return {name: self._kinds.column_type(name) for name in self._columns.complete()}

    def write(self, records: list[msgspec.Raw]) -> None:
        for record in records:
            row = self._row(record)
            self._columns.add(row)
            self._kinds.add(row)
        self._file.write(to_lines(records))
        self.count += len(records)

    def rows(self) -> Iterator[Row]:
        """The rows, from the beginning. Columns that a record lacks are missing."""
        self._file.seek(0)
        for line in self._file:
            yield self._row(line)

    def batches(self, size: int) -> Iterator[list[Row]]:
        """The rows, some at a time; at least one batch, which may be empty."""
        batch: list[Row] = []
        for row in self.rows():
            batch.append(row)
            if len(batch) == size:
                yield batch
                batch = []
        if batch or not self.count:
            yield batch

    def _row(self, record: bytes | msgspec.Raw) -> Row:
        decoded = decode_record(record)
        return flatten(decoded) if self._is_flat else decoded
