"""Types of lists and objects inside of records, for data frames that can nest them.

Values that have no type in common are JSON text.
"""

from __future__ import annotations

from typing import Any

import msgspec

from fieldgate_client.exports.column_types import ColumnType, choose_type, kind_of, to_type

MAX_FIELDS = 1000  # of one object; more is not a record but a dictionary


class NestedType:
    """What is known of the values in one place of the records."""

    def __init__(self) -> None:
        self.kinds = 0  # of values that are neither lists nor objects
        self.item: NestedType | None = None  # of lists
        self.fields: dict[str, NestedType] = {}
        self.has_lists = False
        self.has_objects = False

    @property
    def is_list(self) -> bool:
        return self.has_lists and not self.has_objects and not self.kinds

    @property
    def is_struct(self) -> bool:
        return self.has_objects and not self.has_lists and not self.kinds and 0 < len(self.fields) <= MAX_FIELDS

    @property
    def scalar_type(self) -> ColumnType:
        """Of values that are neither a list nor an object."""
        return ColumnType.TEXT if self.has_lists or self.has_objects else choose_type(self.kinds)


def merge_nested(known: NestedType, value: Any) -> None:
    """Note one more value."""
    if isinstance(value, dict):
        known.has_objects = True
        if len(known.fields) <= MAX_FIELDS:
            for name, inner in value.items():
                merge_nested(known.fields.setdefault(name, NestedType()), inner)
    elif isinstance(value, list):
        known.has_lists = True
        known.item = known.item or NestedType()
        for each in value:
            merge_nested(known.item, each)
    elif value is not None:
        known.kinds |= kind_of(value)


def to_nested(value: Any, known: NestedType) -> Any:
    """A value as one of the type."""
    if value is None:
        return None
    if known.is_list and known.item is not None:
        return [to_nested(each, known.item) for each in value]
    if known.is_struct:
        return {name: to_nested(value.get(name), field) for name, field in known.fields.items()}
    if isinstance(value, dict | list):
        return msgspec.json.encode(value).decode()
    return to_type(value, known.scalar_type)
