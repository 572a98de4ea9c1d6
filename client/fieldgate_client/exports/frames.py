"""Data frames of pandas and polars, with types that know missing values.

Records wait in a temporary file until the types are known, and become columns some thousand at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from fieldgate_client.errors import MissingExtra
from fieldgate_client.exports.column_choice import ALL_COLUMNS, ColumnChoice
from fieldgate_client.exports.column_types import ColumnType, to_type
from fieldgate_client.exports.nested_types import NestedType, merge_nested, to_nested
from fieldgate_client.exports.spool import Spool

if TYPE_CHECKING:
    import pandas
    import polars

ROWS_PER_BATCH = 20_000

_PANDAS_TYPES = {
    ColumnType.BOOLEAN: "boolean",
    ColumnType.INTEGER: "Int64",
    ColumnType.FLOAT: "Float64",
    ColumnType.TEXT: "string",
    ColumnType.NESTED: "object",
}


class PandasBuilder:
    """Lists and objects are Python objects in the cells if they are not flattened."""

    def __init__(
        self, expected: dict[str, int] | None = None, choice: ColumnChoice = ALL_COLUMNS, *, flatten: bool = True
    ) -> None:
        try:
            import pandas as library
        except ImportError:
            raise MissingExtra("pandas", "pandas") from None
        self._library: Any = library
        self._spool = Spool(expected, choice, is_flat=flatten)

    def write(self, records: list[msgspec.Raw]) -> None:
        self._spool.write(records)

    def finish(self) -> pandas.DataFrame:
        types = self._spool.types()
        frames = []
        for rows in self._spool.batches(ROWS_PER_BATCH):
            columns = {
                name: self._column([to_type(row.get(name), kind) for row in rows], kind) for name, kind in types.items()
            }
            frames.append(self._library.DataFrame(columns, index=range(len(rows))))
        frame: pandas.DataFrame = self._library.concat(frames, ignore_index=True)
        return frame

    def close(self) -> None:
        self._spool.close()

    def _column(self, values: list[Any], kind: ColumnType) -> Any:
        if kind is not ColumnType.TIME:
            return self._library.Series(values, dtype=_PANDAS_TYPES[kind])
        import numpy

        times = numpy.array(
            [None if each is None else each.replace(tzinfo=None) for each in values], dtype="datetime64[us]"
        )
        return self._library.Series(times).dt.tz_localize("UTC")


class PolarsBuilder:
    """Objects are structs and lists are lists if they are not flattened."""

    def __init__(
        self, expected: dict[str, int] | None = None, choice: ColumnChoice = ALL_COLUMNS, *, flatten: bool = True
    ) -> None:
        try:
            import polars as library
        except ImportError:
            raise MissingExtra("polars", "polars") from None
        self._library: Any = library
        self._spool = Spool(expected, choice, is_flat=flatten)

    def write(self, records: list[msgspec.Raw]) -> None:
        self._spool.write(records)

    def finish(self) -> polars.DataFrame:
        types = self._spool.types()
        nested = self._nested_types([name for name, kind in types.items() if kind is ColumnType.NESTED])
        frames = []
        for rows in self._spool.batches(ROWS_PER_BATCH):
            columns = []
            for name, kind in types.items():
                if name in nested:
                    values = [to_nested(row.get(name), nested[name]) for row in rows]
                    dtype = self._nested_dtype(nested[name])
                else:
                    values = [to_type(row.get(name), kind) for row in rows]
                    dtype = self._dtype(kind)
                columns.append(self._library.Series(name, values, dtype=dtype, strict=True))
            frames.append(self._library.DataFrame(columns))
        frame: polars.DataFrame = self._library.concat(frames)
        return frame

    def close(self) -> None:
        self._spool.close()

    def _nested_types(self, names: list[str]) -> dict[str, NestedType]:
        found: dict[str, NestedType] = {name: NestedType() for name in names}
        if names:
            for row in self._spool.rows():
                for name, known in found.items():
                    merge_nested(known, row.get(name))
        return found

    def _dtype(self, kind: ColumnType) -> Any:
        library = self._library
        return {
            ColumnType.BOOLEAN: library.Boolean,
            ColumnType.INTEGER: library.Int64,
            ColumnType.FLOAT: library.Float64,
            ColumnType.TEXT: library.String,
            ColumnType.TIME: library.Datetime("us", "UTC"),
        }[kind]

    def _nested_dtype(self, known: NestedType) -> Any:
        if known.is_list and known.item is not None:
            return self._library.List(self._nested_dtype(known.item))
        if known.is_struct:
            return self._library.Struct({name: self._nested_dtype(field) for name, field in known.fields.items()})
        return self._dtype(known.scalar_type)
