"""Reads and writes rows of whole tables with the drivers, in the same form for SQLite and PostgreSQL.

Rows are tuples of the columns in the order of their names. Values are None, int, float, str and bytes: booleans are 0
and 1, timestamps integers, JSON its text. So both databases give the same values, and the same digests.
"""

import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import asyncpg
from sqlalchemy import JSON, Boolean, LargeBinary, String, Table

from fieldgate.db.database import BUSY_TIMEOUT_MS, Database, create_private_file
from fieldgate.db.table_digests import Row, sqlite_value

Key = tuple[Any, ...]

_COPY_SECONDS = 600  # for one batch


class TableShape(NamedTuple):
    """What copying needs to know about a table."""

    name: str
    columns: tuple[str, ...]  # in the order of their names
    key: tuple[str, ...]
    booleans: frozenset[str]
    strings: frozenset[str]
    blobs: frozenset[str]
    json: frozenset[str]
    large: tuple[str, ...]  # columns that can be large
    self_references: tuple[str, ...]  # refer to rows of the same table, maybe later ones
    serial: str | None  # the column whose values the database counts

    @classmethod
    def of(cls, table: Table) -> "TableShape":
        columns = sorted(table.columns, key=lambda column: column.name)
        serial = table.autoincrement_column
        return cls(
            name=table.name,
            columns=tuple(column.name for column in columns),
            key=tuple(column.name for column in table.primary_key),
            booleans=frozenset(column.name for column in columns if isinstance(column.type, Boolean)),
            strings=frozenset(column.name for column in columns if isinstance(column.type, String)),
            blobs=frozenset(column.name for column in columns if isinstance(column.type, LargeBinary)),
            json=frozenset(column.name for column in columns if isinstance(column.type, JSON)),
            large=tuple(
                column.name
                for column in columns
                if isinstance(column.type, JSON)
                or (isinstance(column.type, LargeBinary | String) and column.type.length is None)
            ),
            self_references=tuple(
                column.name for column in columns if any(each.column.table is table for each in column.foreign_keys)
            ),
            serial=None if serial is None else serial.name,
        )

    def key_of(self, row: Row) -> Key:
        return tuple(row[self.columns.index(name)] for name in self.key)


class TableReader(Protocol):
    """One state of a database."""

    async def fetch(self, sql: str, *values: Any) -> Sequence[Row]: ...

    async def rows(self, shape: TableShape, after: Key | None, limit: int) -> Sequence[Row]:
        """The next rows, in the order of the primary key."""

    async def largest_row(self, shape: TableShape) -> int:
        """About how many bytes the largest row has."""

    async def last_serial(self, shape: TableShape) -> int:
        """The last number that the database counted for new rows, 0 if none."""


class TableWriter(Protocol):
    """A connection that writes rows."""

    async def fetch(self, sql: str, *values: Any) -> Sequence[Row]: ...

    @property
    def transaction(self) -> Any:
        """A context manager that begins a transaction, and commits it."""

    async def insert(self, shape: TableShape, rows: Sequence[Row]) -> None: ...

    async def set_serial(self, shape: TableShape, last: int) -> None: ...


@asynccontextmanager
async def open_reader(database: Database) -> AsyncIterator[TableReader]:
    """Open one state of the database: all reads in the block see it, whatever is written meanwhile."""
    if database.is_sqlite:
        connection = _open_sqlite(database)
        try:
            connection.execute("PRAGMA query_only = ON")
            connection.execute("BEGIN")
            yield _SqliteTables(connection)
        finally:
            connection.close()
        return
    postgres = await database.connect()
    try:
        await postgres.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        yield _PostgresTables(postgres)
    finally:
        postgres.terminate()


@asynccontextmanager
async def open_writer(database: Database) -> AsyncIterator[TableWriter]:
    if database.is_sqlite:
        connection = _open_sqlite(database)
        try:
            yield _SqliteTables(connection)
        finally:
            connection.close()
        return
    postgres = await database.connect()
    try:
        yield _PostgresTables(postgres)
    finally:
        with suppress(Exception):
            await postgres.close()


def _open_sqlite(database: Database) -> sqlite3.Connection:
    file = Path(str(database.url.database))
    create_private_file(str(file))
    connection = sqlite3.connect(file, isolation_level=None)
    connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


class _SqliteTables:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    async def fetch(self, sql: str, *values: Any) -> Sequence[Row]:
        return self._connection.execute(sql, values).fetchall()

    async def rows(self, shape: TableShape, after: Key | None, limit: int) -> Sequence[Row]:
        key = _quoted(shape.key)
        places = ", ".join("?" * len(shape.key))
        later = "" if after is None else f"WHERE ({key}) > ({places})"
        columns = ", ".join(sqlite_value(name, is_json=name in shape.json) for name in shape.columns)
        sql = f'SELECT {columns} FROM "{shape.name}" {later} ORDER BY {key} LIMIT {limit}'  # noqa: S608
        return await self.fetch(sql, *(after or ()))

    async def largest_row(self, shape: TableShape) -> int:
        lengths = " + ".join(f'coalesce(length("{column}"), 0)' for column in shape.large) or "0"
        rows = await self.fetch(f'SELECT max({lengths}) FROM "{shape.name}"')  # noqa: S608
        return int(rows[0][0] or 0)

    async def last_serial(self, shape: TableShape) -> int:
        counted = await self.fetch("SELECT seq FROM sqlite_sequence WHERE name = ?", shape.name)
        highest = await self.fetch(f'SELECT max("{shape.serial}") FROM "{shape.name}"')  # noqa: S608
        return max(counted[0][0] if counted else 0, highest[0][0] or 0)

    @property
    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    async def insert(self, shape: TableShape, rows: Sequence[Row]) -> None:
        places = ", ".join("?" * len(shape.columns))
        self._connection.executemany(
            f'INSERT INTO "{shape.name}" ({_quoted(shape.columns)}) VALUES ({places})',  # noqa: S608
            rows,
        )

    async def set_serial(self, shape: TableShape, last: int) -> None:
        if (
            last
            and not self._connection.execute(
                "UPDATE sqlite_sequence SET seq = ? WHERE name = ?", (last, shape.name)
            ).rowcount
        ):
            self._connection.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (shape.name, last))


class _PostgresTables:
    def __init__(self, connection: "asyncpg.Connection") -> None:
        self._connection = connection

    async def fetch(self, sql: str, *values: Any) -> Sequence[Row]:
        found: Sequence[Row] = await self._connection.fetch(sql, *values, timeout=_COPY_SECONDS)
        return found

    async def rows(self, shape: TableShape, after: Key | None, limit: int) -> Sequence[Row]:
        # Text is compared byte by byte, as in SQLite.
        key = ", ".join(f'"{name}" COLLATE "C"' if name in shape.strings else f'"{name}"' for name in shape.key)
        places = ", ".join(f"${number}" for number in range(1, len(shape.key) + 1))
        later = "" if after is None else f"WHERE ({key}) > ({places})"
        columns = ", ".join(f'"{name}"::int' if name in shape.booleans else f'"{name}"' for name in shape.columns)
        sql = f'SELECT {columns} FROM "{shape.name}" {later} ORDER BY {key} LIMIT {limit}'  # noqa: S608
        values = [
            bool(value) if name in shape.booleans else value
            for name, value in zip(shape.key, after or (), strict=False)
        ]
        return await self.fetch(sql, *values)

    async def largest_row(self, shape: TableShape) -> int:
        values = [f'"{column}"' if column in shape.blobs else f'"{column}"::text' for column in shape.large]
        lengths = " + ".join(f"coalesce(octet_length({value}), 0)" for value in values)
        rows = await self.fetch(f'SELECT max({lengths or "0"}) FROM "{shape.name}"')  # noqa: S608
        return int(rows[0][0] or 0)

    async def last_serial(self, shape: TableShape) -> int:
        (row,) = await self.fetch("SELECT pg_get_serial_sequence($1, $2)", shape.name, shape.serial)
        if row[0] is None:
            highest = await self.fetch(f'SELECT max("{shape.serial}") FROM "{shape.name}"')  # noqa: S608
            return int(highest[0][0] or 0)
        (row,) = await self.fetch(f"SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {row[0]}")  # noqa: S608
        return int(row[0])

    @property
    def transaction(self) -> Any:
        return self._connection.transaction()

    async def insert(self, shape: TableShape, rows: Sequence[Row]) -> None:
        booleans = [number for number, name in enumerate(shape.columns) if name in shape.booleans]
        if booleans:
            rows = [_with_booleans(row, booleans) for row in rows]
        await self._connection.copy_records_to_table(
            shape.name, columns=shape.columns, records=rows, timeout=_COPY_SECONDS
        )

    async def set_serial(self, shape: TableShape, last: int) -> None:
        if last:
            sql = "SELECT setval(pg_get_serial_sequence($1, $2)::regclass, $3)"
            await self.fetch(sql, shape.name, shape.serial, last)


def _with_booleans(row: Row, places: Sequence[int]) -> Row:
    changed = list(row)
    for place in places:
        if changed[place] is not None:
            changed[place] = bool(changed[place])
    return changed
