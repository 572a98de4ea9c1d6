"""Records on disk until all of them are there: the columns of a table must be known before its first row is written."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from importlib import import_module
from itertools import islice
from typing import IO, Any

import msgspec

from fieldgate_client.errors import ExportLimit, MissingExtra
from fieldgate_client.exports.columns import Columns, expected_columns
from fieldgate_client.exports.flatten import Cell, Row, decode_record, flatten

DATE_CHARS = 10
_TIME_LENGTHS = range(DATE_CHARS, 33)


class Table:
    """Raw records in a temporary file, and the columns of their rows."""

    def __init__(
        self,
        record_type: Any,
        chosen: Sequence[str] | None = None,
        *,
        folder: str | None = None,
        is_flat: bool = True,
        max_records: int | None = None,
    ) -> None:
        self.is_flat = is_flat
        self.folder = folder  # of temporary files
        self.expected = expected_columns(record_type, is_flat=is_flat)
        self.count = 0
        leading: Sequence[str] = getattr(record_type, "leading_columns", ())
        if not is_flat:
            leading = [name.partition(".")[0] for name in leading]
        self._columns = Columns(self.expected, chosen, leading)
        self._max_records = max_records
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="fieldgate-", dir=folder)  # noqa: SIM115 -- `__exit__`

    def __enter__(self) -> Table:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, records: list[msgspec.Raw]) -> None:
        for record in records:
            self._columns.add(self._row(record))
        self._file.write(to_lines(records))
        self.count += len(records)
        if self._max_records is not None and self.count > self._max_records:
            raise ExportLimit(
                f"A sheet of Excel has at most {self._max_records:,} records and a header, and this list is longer. "
                "Use to_csv or to_parquet, or filter the list."
            )

    def columns(self) -> list[str]:
        """The columns, when all records are there."""
        return self._columns.complete()

    def rows(self) -> Iterator[Row]:
        """The rows, from the beginning. Columns that a record lacks are missing."""
        self._file.seek(0)
        for line in self._file:
            yield self._row(line)

    def batches(self, size: int) -> Iterator[list[Row]]:
        """The rows, some at a time."""
        rows = self.rows()
        while batch := [*islice(rows, size)]:
            yield batch

    def _row(self, record: bytes | msgspec.Raw) -> Row:
        decoded = decode_record(record)
        return flatten(decoded) if self.is_flat else decoded


def to_lines(records: list[msgspec.Raw]) -> bytes:
    """Newline-delimited JSON: the records as the server sent them, one per line."""
    lines = b"".join([bytes(record) + b"\n" for record in records])
    if lines.count(b"\n") != len(records) or b"\r" in lines:
        # Some servers indent JSON. Line breaks inside of texts are always escaped.
        lines = b"".join([bytes(each).replace(b"\r", b" ").replace(b"\n", b" ") + b"\n" for each in records])
    return lines


def load_library(module: str, extra: str) -> Any:
    """A library that is an optional extra of this package."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtra(module, extra) from None


def parse_time(value: Cell) -> datetime | None:
    """A date or time of ISO 8601 in UTC; None if it is something else, or more exact than microseconds."""
    if not isinstance(value, str) or len(value) not in _TIME_LENGTHS or value[4] != "-" or value[7] != "-":
        return None
    if value[19:20] == "." and len(value) > 26 and value[20:27].isdigit():
        return None
    try:
        parsed = msgspec.convert(f"{value}T00:00:00" if len(value) == DATE_CHARS else value, datetime)
        return parsed.astimezone(timezone.utc) if parsed.tzinfo else parsed.replace(tzinfo=timezone.utc)
    except (ValueError, OverflowError):  # msgspec.ValidationError is a ValueError
        return None
