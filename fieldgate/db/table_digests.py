"""Digests of tables, which tell whether two databases have the same rows.

The digest of a table is the sum of the digests of its rows, so that rows can be added in any order and in parts. It
does not depend on the kind of database: columns are in the order of their names, and true is 1.
"""

import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

DIGEST_BYTES = 16
# Their rows are made from other rows of the same database. They do not count, and are not copied to another one.
REBUILT_TABLES = frozenset({"event_indexes", "event_index_parts"})
# Made from other rows, too, but copied: a process makes them only together with the others. They do not count either.
_DERIVED_TABLES = frozenset({"name_orders"})
_MODULUS = 1 << (8 * DIGEST_BYTES)
_FETCHED_ROWS = 200  # at a time; a row can have a file of many megabytes

Row = Sequence[Any]
RowsCallback = Callable[[int], None]  # how many rows were read since the last call

_encode = msgspec.msgpack.Encoder().encode


class TableDigest(NamedTuple):
    """The number of rows, and the sum of their digests."""

    rows: int = 0
    total: int = 0

    def with_rows(self, rows: Iterable[Row]) -> "TableDigest":
        """Add rows. Values are None, int, float, str and bytes."""
        count, total = self
        for row in rows:
            digest = hashlib.blake2b(_encode(list(row)), digest_size=DIGEST_BYTES).digest()
            total += int.from_bytes(digest)
            count += 1
        return TableDigest(count, total % _MODULUS)

    @property
    def text(self) -> str:
        return f"{self.total:0{DIGEST_BYTES * 2}x}"


def database_digest(tables: Mapping[str, TableDigest]) -> str:
    """One digest for all tables. Tables without rows do not count, so that a newer schema does not change it."""
    uncounted = REBUILT_TABLES | _DERIVED_TABLES
    counted = [name for name in sorted(tables) if tables[name].rows and name not in uncounted]
    lines = [f"{name} {tables[name].rows} {tables[name].text}\n" for name in counted]
    return hashlib.blake2b("".join(lines).encode(), digest_size=DIGEST_BYTES).hexdigest()


def sqlite_tables(connection: sqlite3.Connection) -> list[str]:
    """The names of the tables, without those of SQLite itself and of Alembic."""
    query = (
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
    )
    return [name for (name,) in connection.execute(query) if name != "alembic_version"]


def sqlite_value(column: str, *, is_json: bool) -> str:
    """The column in a SELECT. JSON that is a number is stored as one, because SQLite does not know the type."""
    return f'CAST("{column}" AS TEXT)' if is_json else f'"{column}"'


def digest_sqlite(connection: sqlite3.Connection, on_rows: RowsCallback) -> dict[str, TableDigest]:
    """The digests of all tables of an SQLite file. The caller holds a transaction."""
    found: dict[str, TableDigest] = {}
    for table in sqlite_tables(connection):
        columns = sorted((row[1], row[2]) for row in connection.execute(f'PRAGMA table_info("{table}")'))
        listed = ", ".join(sqlite_value(name, is_json=kind == "JSON") for name, kind in columns)
        cursor = connection.execute(f'SELECT {listed} FROM "{table}"')  # noqa: S608  (names from the schema)
        digest = TableDigest()
        while rows := cursor.fetchmany(_FETCHED_ROWS):
            digest = digest.with_rows(rows)
            on_rows(len(rows))
        found[table] = digest
    return found
