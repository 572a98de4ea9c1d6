"""Parquet files: columns with types, compressed."""

from __future__ import annotations

from typing import Any

import msgspec

from fieldgate_client.errors import MissingExtra
from fieldgate_client.exports.column_choice import ALL_COLUMNS, ColumnChoice
from fieldgate_client.exports.column_types import ColumnType, to_type
from fieldgate_client.exports.output_file import OutputFile, Target
from fieldgate_client.exports.spool import Spool

ROWS_PER_GROUP = 20_000


class ParquetWriter:
    def __init__(
        self, target: Target, expected: dict[str, int] | None = None, choice: ColumnChoice = ALL_COLUMNS
    ) -> None:
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise MissingExtra("pyarrow", "parquet") from None
        self._arrow: Any = pyarrow
        self._output = OutputFile(target)
        self._spool = Spool(expected, choice, folder=self._output.folder)

    def write(self, records: list[msgspec.Raw]) -> None:
        self._spool.write(records)

    def finish(self) -> None:
        arrow = self._arrow
        types = self._spool.types()
        arrow_types = {
            ColumnType.BOOLEAN: arrow.bool_(),
            ColumnType.INTEGER: arrow.int64(),
            ColumnType.FLOAT: arrow.float64(),
            ColumnType.TEXT: arrow.string(),
            ColumnType.TIME: arrow.timestamp("us", tz="UTC"),
        }
        schema = arrow.schema([(name, arrow_types[kind]) for name, kind in types.items()])
        with arrow.parquet.ParquetWriter(self._output.file, schema, compression="zstd") as writer:
            for rows in self._spool.batches(ROWS_PER_GROUP):
                arrays = [
                    arrow.array([to_type(row.get(name), kind) for row in rows], arrow_types[kind])
                    for name, kind in types.items()
                ]
                writer.write_table(arrow.Table.from_arrays(arrays, schema=schema))
        self._output.commit()

    def close(self) -> None:
        self._spool.close()
        self._output.discard()
