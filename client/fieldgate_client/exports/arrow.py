"""Parquet files and data frames, with types that know missing values. pyarrow finds the types of the columns.

Text is a time if every value of the column is one, such as 2021-03-04 or 2021-03-04T10:00:00Z. Times become UTC; those
without an offset count as UTC. Columns whose values have no type in common are text. So are numbers beyond 64 bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any, BinaryIO

from fieldgate_client.exports.flatten import to_text
from fieldgate_client.exports.table import Table, load_library, parse_time

if TYPE_CHECKING:
    import pandas
    import polars

ROWS_PER_BATCH = 20_000


class ArrowTable:
    """A table as batches of pyarrow, all with the same types. The rows are read twice: first for the types."""

    def __init__(self, table: Table, without: frozenset[str] = frozenset()) -> None:
        self._arrow = arrow = load_library("pyarrow", "parquet")
        self._time = arrow.timestamp("us", tz="UTC")
        self._table = table
        self._types: dict[str, Any] = {
            name: self._expected(table.expected.get(name, object))
            for name in table.columns()
            if name not in without
        }
        for rows in table.batches(ROWS_PER_BATCH):
            for name, known in self._types.items():
                self._types[name] = self._common(
                    known, self._infer([row.get(name) for row in rows])
                )
        text = arrow.string()
        self._types = {
            name: text if kind == arrow.null() or not _has_fields(kind) else kind
            for name, kind in self._types.items()
        }
        self.schema = arrow.schema([*self._types.items()])

    def batches(self) -> Iterator[Any]:
        for rows in self._table.batches(ROWS_PER_BATCH):
            arrays = [
                self._array([row.get(name) for row in rows], kind)
                for name, kind in self._types.items()
            ]
            yield self._arrow.Table.from_arrays(arrays, schema=self.schema)

    def whole(self) -> Any:
        return self._arrow.concat_tables([self.schema.empty_table(), *self.batches()])

    def _expected(self, kind: type) -> Any:
        arrow = self._arrow
        known = {
            bool: arrow.bool_(),
            int: arrow.int64(),
            float: arrow.float64(),
            str: arrow.string(),
        }
        return self._time if kind is datetime else known.get(kind, arrow.null())

    def _infer(self, values: list[Any]) -> Any:
        arrow = self._arrow
        try:
            array = arrow.array(values)
        except (arrow.ArrowException, ValueError, OverflowError):  # several kinds of values
            return arrow.string()
        if array.type == arrow.string() and all(
            value is None or parse_time(value) for value in values
        ):
            return self._time
        return arrow.string() if array.type == arrow.uint64() else array.type

    def _common(self, known: Any, found: Any) -> Any:
        """The type that can represent both."""
        arrow = self._arrow
        schemas = [arrow.schema([("", each)]) for each in (known, found)]
        try:
            return arrow.unify_schemas(schemas, promote_options="permissive").field(0).type
        except arrow.ArrowException:
            return arrow.string()

    def _array(self, values: list[Any], kind: Any) -> Any:
        arrow = self._arrow
        if kind == arrow.string():
            return arrow.array(
                [None if value is None else to_text(value) for value in values], kind
            )
        if kind == arrow.float64():
            return arrow.array([None if value is None else float(value) for value in values], kind)
        if kind == self._time:
            return arrow.array([*map(parse_time, values)], kind)
        return arrow.array(values, kind)


def write_parquet(table: Table, file: BinaryIO) -> None:
    parquet = load_library("pyarrow.parquet", "parquet")
    rows = ArrowTable(table)
    with parquet.ParquetWriter(file, rows.schema, compression="zstd") as writer:
        for batch in rows.batches():
            writer.write_table(batch)


def to_pandas(table: Table) -> pandas.DataFrame:
    """Lists and objects are Python objects in the cells if they are not flattened."""
    library, arrow = load_library("pandas", "pandas"), load_library("pyarrow", "pandas")
    types = {
        arrow.bool_(): library.BooleanDtype(),
        arrow.int64(): library.Int64Dtype(),
        arrow.float64(): library.Float64Dtype(),
        arrow.string(): library.StringDtype(),
    }
    nested = _nested_columns(table)
    flat = ArrowTable(table, frozenset(nested)).whole().to_pandas(types_mapper=types.get)
    if nested:
        for name in nested:
            flat[name] = library.Series([row.get(name) for row in table.rows()], dtype=object)
        flat = flat[table.columns()]
    frame: pandas.DataFrame = flat
    return frame


def to_polars(table: Table) -> polars.DataFrame:
    """Objects are structs and lists are lists if they are not flattened."""
    library = load_library("polars", "polars")
    frame: polars.DataFrame = library.from_arrow(ArrowTable(table).whole())
    return frame


def _nested_columns(table: Table) -> list[str]:
    if table.is_flat:
        return []
    found = {
        name
        for row in table.rows()
        for name, value in row.items()
        if isinstance(value, dict | list)
    }
    return [name for name in table.columns() if name in found]


def _has_fields(kind: Any) -> bool:
    """Whether other libraries know the type: they have no objects without fields, at any depth."""
    inner = [kind.field(number) for number in range(kind.num_fields)]
    is_empty_struct = str(kind).startswith("struct") and not inner
    return not is_empty_struct and all(_has_fields(field.type) for field in inner)
