"""Types of the columns of Parquet files and data frames, from the values in them.

Text is a time if every value of the column is one, such as 2021-03-04 or 2021-03-04T10:00:00Z. Times become UTC; those
without an offset count as UTC. Columns with several kinds of values are text. So are numbers beyond 64 bits.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timezone
from enum import Enum
from typing import Any

import msgspec

from fieldgate_client.exports.flatten import Cell, Row, to_text

# Kinds of values, as bits.
BOOLEAN, INTEGER, LONG_INTEGER, HUGE_INTEGER, FLOAT, TEXT, TIME, NESTED = (1 << bit for bit in range(8))

_EXACT_IN_FLOAT = 1 << 53
_MAX_INTEGER = 1 << 63
_TIME_LENGTHS = range(10, 33)


class ColumnType(Enum):
    BOOLEAN = "boolean"
    INTEGER = "integer"  # 64 bits
    FLOAT = "float"
    TEXT = "text"
    TIME = "time"  # microseconds, UTC
    NESTED = "nested"  # lists and objects, if records are not flattened


class KindTracker:
    """The kinds of values that each column has. `expected` are kinds that count as seen."""

    def __init__(self, expected: dict[str, int] | None = None) -> None:
        self._kinds = dict(expected or {})

    def add(self, row: Row) -> None:
        kinds = self._kinds
        for name, value in row.items():
            if value is None:
                continue
            known = kinds.get(name, 0)
            if type(value) is str and known & TEXT:
                continue
            kinds[name] = known | kind_of(value)

    def column_type(self, name: str) -> ColumnType:
        return choose_type(self._kinds.get(name, 0))


def kind_of(value: Any) -> int:
    if isinstance(value, str):
        return TEXT if parse_time(value) is None else TIME
    if isinstance(value, bool):
        return BOOLEAN
    if isinstance(value, int):
        if -_EXACT_IN_FLOAT <= value <= _EXACT_IN_FLOAT:
            return INTEGER
        return LONG_INTEGER if -_MAX_INTEGER <= value < _MAX_INTEGER else HUGE_INTEGER
    if isinstance(value, float):
        return FLOAT
    return NESTED


def choose_type(kinds: int) -> ColumnType:
    """The type that can represent all these kinds without loss."""
    if kinds & NESTED:
        return ColumnType.NESTED
    if kinds == BOOLEAN:
        return ColumnType.BOOLEAN
    if kinds and not kinds & ~(INTEGER | LONG_INTEGER):
        return ColumnType.INTEGER
    if kinds & FLOAT and not kinds & ~(INTEGER | FLOAT):
        return ColumnType.FLOAT
    return ColumnType.TIME if kinds == TIME else ColumnType.TEXT


def to_type(value: Cell, kind: ColumnType) -> Any:
    """A value as one of the type of its column."""
    if value is None or kind is ColumnType.NESTED:
        return value
    if kind is ColumnType.TEXT:
        return to_text(value)
    if kind is ColumnType.TIME:
        return parse_time(value)
    return float(value) if kind is ColumnType.FLOAT else value


def parse_time(text: str) -> datetime | None:
    """A date or time of ISO 8601 in UTC; None if it is something else, or more exact than microseconds."""
    if len(text) not in _TIME_LENGTHS or text[4] != "-" or text[7] != "-":
        return None
    if len(text) == 10:
        text += "T00:00:00"
    elif text[10] not in "T " or (text[19:20] == "." and len(text) > 26 and text[20:27].isdigit()):
        return None
    try:
        parsed = msgspec.convert(text, datetime)
        return parsed.astimezone(timezone.utc) if parsed.tzinfo else parsed.replace(tzinfo=timezone.utc)
    except (ValueError, OverflowError):  # msgspec.ValidationError is a ValueError
        return None


def expected_kinds(record_type: Any, *, flatten: bool = True) -> dict[str, int]:
    """The columns of a typed list with the kinds of their values. Empty for lists of dicts."""
    if not (isinstance(record_type, type) and issubclass(record_type, msgspec.Struct)):
        return {}
    import msgspec.inspect as inspect

    columns: dict[str, int] = {}
    for name, type_ in _fields(inspect.type_info(record_type)):
        for inner_name, kind in _inner_columns(type_):
            if not flatten:
                columns[name] = 0 if inner_name else _scalar_kind(type_)
            else:
                columns[f"{name}.{inner_name}" if inner_name else name] = kind
    return columns


def _fields(struct: Any) -> Iterable[tuple[str, Any]]:
    return [(field.encode_name, field.type) for field in struct.fields]


def _inner_columns(type_: Any) -> list[tuple[str, int]]:
    """The columns of one field: the names of inner fields, or an empty name for the field itself."""
    import msgspec.inspect as inspect

    found = [each for each in getattr(type_, "types", (type_,)) if not isinstance(each, inspect.NoneType)]
    only = found[0] if len(found) == 1 else None
    if isinstance(only, inspect.StructType):
        return [(name, _scalar_kind(inner)) for name, inner in _fields(only)]
    if isinstance(only, inspect.ListType):
        if isinstance(only.item_type, inspect.StructType):
            return [(name, TEXT) for name, _ in _fields(only.item_type)]
        return [("", TEXT)]
    return [("", _scalar_kind(type_))]


def _scalar_kind(type_: Any) -> int:
    import msgspec.inspect as inspect

    kinds: dict[type, int] = {
        inspect.BoolType: BOOLEAN,
        inspect.IntType: INTEGER,
        inspect.FloatType: FLOAT,
        inspect.StrType: TEXT,
        inspect.DateTimeType: TIME,
    }
    result = 0
    for each in getattr(type_, "types", (type_,)):
        result |= kinds.get(type(each), 0)
    return result
