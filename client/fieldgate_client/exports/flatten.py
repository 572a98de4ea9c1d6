"""Records as rows of a table. One rule for CSV, Excel, Parquet, GeoJSON and data frames:

- An object becomes one column per field: `dtype.name`.
- A list of objects becomes one column per field with the values joined: `countries.name` is "Chad, Kenya". These
  columns are text, also where the list has one object. A missing value leaves its place empty: "TD, , KE".
- A list of texts or numbers is joined in the same way.
- What is nested deeper is JSON text. Empty lists and empty objects are empty cells.

Every field of a record has a column. A column whose name is taken by a field of the record gets a trailing `_`.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

SEPARATOR = ", "
MAX_DIGITS = 4000  # of integers. Python has a limit of its own for the time that they take.
Cell = Any  # str, int, float, bool or None
Row = dict[str, Cell]

_decode = msgspec.json.decode
_encode = msgspec.json.encode


def decode_record(data: bytes | msgspec.Raw) -> dict[str, Any]:
    """A record of any list. One that is no object gets the only field `value`."""
    try:
        decoded = _decode(data)
    except ValueError:  # 1e999 is valid JSON, but no float; and Python refuses very long integers
        decoded = json.loads(bytes(data), parse_float=_float_or_text, parse_int=_integer_or_text)
    return decoded if isinstance(decoded, dict) else {"value": decoded}


def flatten(record: dict[str, Any]) -> Row:
    """One row."""
    row: Row = {}
    can_collide = "." in "".join(record)
    for name, value in record.items():
        kind = type(value)
        if kind is dict:
            fields = {inner_name: _cell(inner) for inner_name, inner in value.items()}
        elif kind is list and value and all(type(each) is dict for each in value):
            inner_names = dict.fromkeys(inner_name for each in value for inner_name in each)
            fields = {
                inner_name: _joined([each.get(inner_name) for each in value])
                for inner_name in inner_names
            }
        else:
            row[name] = _joined(value) if kind is list else value
            continue
        if not fields:
            row[name] = None
        elif can_collide:
            _add_fields(row, record, name, fields)
        else:
            for inner_name, cell in fields.items():
                row[f"{name}.{inner_name}"] = cell
    return row


def to_text(value: Any) -> str:
    """A value as the text of a cell. Texts are not quoted."""
    kind = type(value)
    if kind is str:
        text: str = value
        return text
    return str(value) if kind is int else _encode(value).decode()


def _add_fields(row: Row, record: dict[str, Any], name: str, fields: Row) -> None:
    for inner_name, cell in fields.items():
        column = f"{name}.{inner_name}"
        while column in record or column in row:
            column += "_"
        row[column] = cell


def _cell(value: Any) -> Cell:
    kind = type(value)
    if kind is list:
        return _joined(value)
    if kind is dict:
        return _encode(value).decode() if value else None
    return value


def _joined(values: list[Any]) -> str | None:
    is_empty = True
    for each in values:
        kind = type(each)
        if kind is dict or kind is list:
            return _encode(values).decode()
        if each is not None:
            is_empty = False
    return (
        None
        if is_empty
        else SEPARATOR.join(["" if each is None else to_text(each) for each in values])
    )


def _integer_or_text(text: str) -> int | str:
    return text if len(text) > MAX_DIGITS else int(text)


def _float_or_text(text: str) -> float | str:
    number = float(text)
    return text if number in (float("inf"), float("-inf")) else number
