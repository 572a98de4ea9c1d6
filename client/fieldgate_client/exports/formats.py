"""The writers of all formats. Their modules and libraries are loaded when they are used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fieldgate_client.exports.column_choice import ColumnChoice
    from fieldgate_client.exports.csv_file import CSVWriter
    from fieldgate_client.exports.frames import PandasBuilder, PolarsBuilder
    from fieldgate_client.exports.geojson import GeoJSONBuilder, GeoJSONWriter, Position
    from fieldgate_client.exports.ndjson import NDJSONWriter
    from fieldgate_client.exports.output_file import Target
    from fieldgate_client.exports.parquet import ParquetWriter
    from fieldgate_client.exports.xlsx import XLSXWriter


def ndjson(target: Target) -> NDJSONWriter:
    from fieldgate_client.exports.ndjson import NDJSONWriter

    return NDJSONWriter(target)


def csv(target: Target, record_type: Any, columns: Sequence[str] | None, *, bom: bool = False) -> CSVWriter:
    from fieldgate_client.exports.csv_file import CSVWriter

    return CSVWriter(target, **_table(record_type, columns), bom=bom)


def xlsx(target: Target, record_type: Any, columns: Sequence[str] | None) -> XLSXWriter:
    from fieldgate_client.exports.xlsx import XLSXWriter

    return XLSXWriter(target, **_table(record_type, columns))


def parquet(target: Target, record_type: Any, columns: Sequence[str] | None) -> ParquetWriter:
    from fieldgate_client.exports.parquet import ParquetWriter

    return ParquetWriter(target, **_table(record_type, columns))


def geojson(target: Target, positions: Mapping[int, Position]) -> GeoJSONWriter:
    from fieldgate_client.exports.geojson import GeoJSONWriter

    return GeoJSONWriter(target, positions)


def geojson_dict(positions: Mapping[int, Position]) -> GeoJSONBuilder:
    from fieldgate_client.exports.geojson import GeoJSONBuilder

    return GeoJSONBuilder(positions)


def pandas_frame(record_type: Any, columns: Sequence[str] | None, *, flatten: bool = True) -> PandasBuilder:
    from fieldgate_client.exports.frames import PandasBuilder

    return PandasBuilder(**_table(record_type, columns, flatten=flatten), flatten=flatten)


def polars_frame(record_type: Any, columns: Sequence[str] | None, *, flatten: bool = True) -> PolarsBuilder:
    from fieldgate_client.exports.frames import PolarsBuilder

    return PolarsBuilder(**_table(record_type, columns, flatten=flatten), flatten=flatten)


class _Table(TypedDict):
    expected: dict[str, int]
    choice: ColumnChoice


def _table(record_type: Any, columns: Sequence[str] | None, *, flatten: bool = True) -> _Table:
    """The columns of a typed list and those that the caller chose. A type can name those that come first."""
    from fieldgate_client.exports.column_choice import ColumnChoice, choose_columns
    from fieldgate_client.exports.column_types import expected_kinds

    leading: tuple[str, ...] = getattr(record_type, "leading_columns", ())
    if not flatten:
        leading = (*dict.fromkeys(name.partition(".")[0] for name in leading),)
    return {
        "expected": expected_kinds(record_type, flatten=flatten),
        "choice": ColumnChoice(choose_columns(columns), leading),
    }
