"""The writers of all formats. Their modules and libraries are loaded when they are used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

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


def csv(target: Target, record_type: Any, *, bom: bool = False) -> CSVWriter:
    from fieldgate_client.exports.csv_file import CSVWriter

    return CSVWriter(target, _expected(record_type), bom=bom)


def xlsx(target: Target, record_type: Any) -> XLSXWriter:
    from fieldgate_client.exports.xlsx import XLSXWriter

    return XLSXWriter(target, _expected(record_type))


def parquet(target: Target, record_type: Any) -> ParquetWriter:
    from fieldgate_client.exports.parquet import ParquetWriter

    return ParquetWriter(target, _expected(record_type))


def geojson(target: Target, positions: Mapping[int, Position]) -> GeoJSONWriter:
    from fieldgate_client.exports.geojson import GeoJSONWriter

    return GeoJSONWriter(target, positions)


def geojson_dict(positions: Mapping[int, Position]) -> GeoJSONBuilder:
    from fieldgate_client.exports.geojson import GeoJSONBuilder

    return GeoJSONBuilder(positions)


def pandas_frame(record_type: Any, *, flatten: bool = True) -> PandasBuilder:
    from fieldgate_client.exports.frames import PandasBuilder

    return PandasBuilder(_expected(record_type, flatten=flatten), flatten=flatten)


def polars_frame(record_type: Any, *, flatten: bool = True) -> PolarsBuilder:
    from fieldgate_client.exports.frames import PolarsBuilder

    return PolarsBuilder(_expected(record_type, flatten=flatten), flatten=flatten)


def _expected(record_type: Any, *, flatten: bool = True) -> dict[str, int]:
    from fieldgate_client.exports.column_types import expected_kinds

    return expected_kinds(record_type, flatten=flatten)
