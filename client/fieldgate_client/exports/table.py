"""Records on disk until all of them are there: the columns of a table must be known before its first row is written.

Which columns a table has, and in which order, is found while the rows arrive.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from importlib import import_module
from itertools import islice
from typing import IO, Any

import msgspec
from msgspec import inspect

from fieldgate_client.errors import ExportLimit, MissingExtra, UnknownName
from fieldgate_client.exports.flatten import Cell, Row, decode_record, flatten

DATE_CHARS = 10
_TIME_LENGTHS = range(DATE_CHARS, 33)
MAX_COLUMNS = 16_384  # as in Excel. It also bounds memory, whatever field names a server sends.
_MAX_NAME_CHARS = 100  # of an unknown name in a message

ExpectedColumns = dict[str, type]  # the columns of a typed list, with the types of their values
_SCALARS: dict[type, type] = {
    inspect.BoolType: bool,
    inspect.IntType: int,
    inspect.FloatType: float,
    inspect.DateTimeType: datetime,
}


class Table:
    """Raw records in a temporary file, and the columns of their rows.

    Columns are in the order in which they were found; those of an object stay together. A field that is null or empty
    in one record and an object in another has a column of its own at first. It is left out at the end if it stayed
    empty. `expected` are used for lists and objects that are empty in all records, and for a list without records.

    If columns are chosen, the table has these, in their order; otherwise all, and the leading ones of the type first. A
    chosen name is a column, or a group: `countries` is all columns that begin with `countries.`. It must be in a record
    or expected. What cannot be known may be chosen: fields of an object that is null or empty in all records, and
    fields of a list without records.
    """

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
        self._leading = leading if is_flat else [name.partition(".")[0] for name in leading]
        self._chosen = check_chosen(chosen)
        self._has_value: dict[str, bool] = {}  # by the names of all columns
        self._max_records = max_records
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="fieldgate-", dir=folder)  # noqa: SIM115 -- `__exit__`

    def __enter__(self) -> Table:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, records: list[msgspec.Raw]) -> None:
        for record in records:
            self._add_columns(self._row(record))
        self._file.write(to_lines(records))
        self.count += len(records)
        if self._max_records is not None and self.count > self._max_records:
            raise ExportLimit(
                f"A sheet of Excel has at most {self._max_records:,} records and a header, and this list is longer. "
                "Use to_csv or to_parquet, or filter the list."
            )

    def _add_columns(self, row: Row) -> None:
        known = self._has_value
        for name, value in row.items():
            if value is not None:
                known[name] = True
            elif name not in known:
                known[name] = False
        if len(known) > MAX_COLUMNS:
            raise ExportLimit(
                f"The records have more than {MAX_COLUMNS:,} different fields, too many for the columns of a table. "
                "to_ndjson keeps all of them."
            )

    def columns(self) -> list[str]:
        """The columns of the table when all records are there. Raises `UnknownName` for chosen columns that are not."""
        columns = self._all()
        if not self._chosen:
            first = [name for name in self._leading if name in columns]
            return [*dict.fromkeys([*first, *columns])]
        selected = {name: self._select(name, columns) for name in self._chosen}
        if unknown := [name for name, found in selected.items() if not found]:
            names = ", ".join(name[:_MAX_NAME_CHARS] for name in unknown)
            raise UnknownName(f"The records have no column {names}.")
        return [*dict.fromkeys(column for found in selected.values() for column in found)]

    def _select(self, name: str, columns: list[str]) -> list[str]:
        """The columns that a chosen name stands for."""
        for names in (columns, [*self.expected]):
            if found := [each for each in names if each == name or each.startswith(f"{name}.")]:
                return found
        is_possible = any(
            self._has_value.get(parent) is False and parent in columns for parent in _parents(name)
        )
        return [name] if is_possible or not (columns or self.expected) else []

    def _all(self) -> list[str]:
        parents = {parent for name in self._has_value for parent in _parents(name)}
        groups: dict[str, list[str]] = {}
        for name, has_value in self._has_value.items():
            group = groups.setdefault(name.partition(".")[0], [])
            if has_value:
                group.append(name)
            elif name not in parents:
                group += [each for each in self.expected if each.startswith(f"{name}.")] or [name]
        return [name for group in groups.values() for name in group] or [*self.expected]

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
        lines = b"".join(
            [bytes(each).replace(b"\r", b" ").replace(b"\n", b" ") + b"\n" for each in records]
        )
    return lines


def load_library(module: str, extra: str) -> Any:
    """A library that is an optional extra of this package."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtra(module, extra) from None


def parse_time(value: Cell) -> datetime | None:
    """A date or time of ISO 8601 in UTC; None if it is something else, or more exact than microseconds."""
    if (
        not isinstance(value, str)
        or len(value) not in _TIME_LENGTHS
        or value[4] != "-"
        or value[7] != "-"
    ):
        return None
    if value[19:20] == "." and len(value) > 26 and value[20:27].isdigit():
        return None
    try:
        parsed = msgspec.convert(
            f"{value}T00:00:00" if len(value) == DATE_CHARS else value, datetime
        )
        return (
            parsed.astimezone(timezone.utc)
            if parsed.tzinfo
            else parsed.replace(tzinfo=timezone.utc)
        )
    except (ValueError, OverflowError):  # msgspec.ValidationError is a ValueError
        return None


def check_chosen(names: Sequence[str] | None) -> tuple[str, ...]:
    """The names that a caller gave, without repetitions."""
    if names is None:
        return ()
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise TypeError('columns must be a list of names, such as ["id", "name"].')
    if not names:
        raise ValueError("columns is empty. Leave it out for all columns.")
    return (*dict.fromkeys(names),)


def expected_columns(record_type: Any, *, is_flat: bool = True) -> ExpectedColumns:
    """The columns of a typed list. Empty for lists of dicts."""
    if not (isinstance(record_type, type) and issubclass(record_type, msgspec.Struct)):
        return {}
    info = inspect.type_info(record_type)
    columns: ExpectedColumns = {}
    for field in info.fields if isinstance(info, inspect.StructType) else ():
        name, kind = field.encode_name, _without_none(field.type)
        is_list = isinstance(kind, inspect.ListType)
        inner = kind.item_type if isinstance(kind, inspect.ListType) else kind
        if isinstance(inner, inspect.StructType) and is_flat:
            for each in inner.fields:  # values of lists are joined
                columns[f"{name}.{each.encode_name}"] = (
                    str if is_list else _scalar(_without_none(each.type))
                )
        else:
            columns[name] = (
                object if is_list and not is_flat else str if is_list else _scalar(inner)
            )
    return columns


def _without_none(kind: inspect.Type) -> inspect.Type:
    if not isinstance(kind, inspect.UnionType):
        return kind
    others = [each for each in kind.types if not isinstance(each, inspect.NoneType)]
    return others[0] if len(others) == 1 else kind


def _scalar(kind: inspect.Type) -> type:
    return str if isinstance(kind, inspect.StrType) else _SCALARS.get(type(kind), object)


def _parents(name: str) -> list[str]:
    return [name[:place] for place, character in enumerate(name) if character == "."]
