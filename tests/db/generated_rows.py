"""Rows for every table, with values that databases treat differently: odd Unicode, large numbers, JSON as text."""

import random
from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Float,
    LargeBinary,
    SmallInteger,
    String,
    Table,
    UniqueConstraint,
)
from sqlalchemy.types import TypeEngine

from fieldgate.db import IDENTITY_TOPIC, Timestamp

TEXTS = (
    "",
    " ",
    "plain",
    "é e\u0301",
    "\u202eright to left\u202c العربية",
    "\U0001f30a\U0010ffff",
    "\ufeff\ufffe\ud7ff\x01\x7f",
    "'\"\\;--\n\r\t",
    "Z",
    "a",
    "_",
)
JSON_TEXTS = (
    "null",
    "[]",
    '{"b":1,  "a" : [true, 1e400, 123456789012345678901234567890]}',
    '"\\u0000\\ud800 \\\\"',
    '{"a":1,"a":2}',
    "0.5",
    "12",
)


Row = dict[str, Any]


def generate_rows(tables: Sequence[Table], seed: int, count: int) -> dict[str, list[Row]]:
    """Rows by table, that refer to each other. Timestamps are numbers, and JSON is text."""
    source = random.Random(seed)
    found: dict[str, list[Row]] = {}
    for table in tables:
        found[table.name] = [
            {column.name: _value(source, column, number, found, count) for column in table.c}
            for number in range(1, count + 1)
        ]
    return found


def _value(
    source: random.Random,
    column: "Column[Any]",
    number: int,
    found: dict[str, list[Row]],
    count: int,
) -> Any:
    is_unique = column.primary_key or column.unique or _is_in_unique(column)
    if column.nullable and source.random() < 0.3:
        return None
    for key in column.foreign_keys:
        referred = key.column.table
        if referred is column.table:
            return source.randint(1, count)  # an id, maybe of a later row
        ids = [row[key.column.name] for row in found[referred.name]]
        return ids[number - 1] if is_unique else source.choice(ids)
    if column.table.name == "changes":
        return f"{IDENTITY_TOPIC}{number}" if is_unique else number
    return _plain_value(source, column.type, number, is_unique)


def _is_in_unique(column: "Column[Any]") -> bool:
    indexes = [index.columns for index in column.table.indexes if index.unique]
    constraints = [
        each.columns for each in column.table.constraints if isinstance(each, UniqueConstraint)
    ]
    return any(column.name in columns for columns in (*indexes, *constraints))


def _plain_value(source: random.Random, kind: TypeEngine[Any], number: int, is_unique: bool) -> Any:
    if isinstance(kind, Boolean):
        return source.random() < 0.5
    if isinstance(kind, JSON):
        return source.choice(JSON_TEXTS)
    if isinstance(kind, Float):
        return source.choice((0.0, -0.5, 1e300, 0.1, 5.0))
    if isinstance(kind, LargeBinary):
        return source.randbytes(source.randint(0, 50)) + (bytes([number]) if is_unique else b"\x00")
    if isinstance(kind, String):
        text = source.choice(TEXTS) + (f"{number}" if is_unique else "")
        return text[-kind.length :] if kind.length else text
    if is_unique:
        return number
    if isinstance(kind, BigInteger | Timestamp):
        return source.choice((0, 1, -1, 2**63 - 1, -(2**63), 1_700_000_000_000_000))
    limit = 2**15 if isinstance(kind, SmallInteger) else 2**31
    return source.choice((0, -limit, limit - 1))
