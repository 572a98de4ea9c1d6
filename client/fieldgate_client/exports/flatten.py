"""Records as rows of a table. One rule for all tables:

- An object becomes one column per field: `dtype.name`.
- A list of objects becomes one column per field with the values joined: `countries.name` is "Chad, Kenya".
- A list of texts or numbers is joined. What is nested deeper is left as JSON.
"""

from __future__ import annotations

from typing import Any

import msgspec

SEPARATOR = ", "
Cell = Any  # str, int, float, bool or None


def flatten(record: dict[str, Any]) -> dict[str, Cell]:
    """One row."""
    row: dict[str, Cell] = {}
    for name, value in record.items():
        if isinstance(value, dict):
            for inner_name, inner in value.items():
                row[f"{name}.{inner_name}"] = _cell(inner)
        elif isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
            inner_names = dict.fromkeys(inner_name for each in value for inner_name in each)
            for inner_name in inner_names:
                row[f"{name}.{inner_name}"] = _joined([each.get(inner_name) for each in value])
        elif value != []:  # an empty list may be one of objects, so it makes no column
            row[name] = _cell(value)
    return row


def _cell(value: Any) -> Cell:
    if isinstance(value, list):
        return _joined(value)
    if isinstance(value, dict):
        return msgspec.json.encode(value).decode()
    return value


def _joined(values: list[Any]) -> Cell:
    if len(values) == 1 and not isinstance(values[0], dict | list):
        return values[0]
    return SEPARATOR.join(_text(each) for each in values)


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
