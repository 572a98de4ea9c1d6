"""Inserts: of many rows at once, and of rows that may exist, for SQLite and PostgreSQL.

await insert_rows(connection, words, [{"id": 1, ...}, ...])
await connection.execute(upsert(database.dialect, countries), [{"id": 1, "name": "…"}, …])
"""

import sqlite3
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Column, ColumnElement, Table, insert
from sqlalchemy.dialects import sqlite
from sqlalchemy.engine import Connection
from sqlalchemy.engine.interfaces import Dialect
from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.db.lookup import DriverStatement, compile_for_driver


async def insert_rows(
    connection: AsyncConnection, table: Table, rows: Sequence[Mapping[str, object]]
) -> None:
    """Insert rows that all have the same columns.

    Values are passed to the driver as they are: SQLAlchemy's processing of every value would take most of the time.
    """
    if rows:
        await connection.run_sync(insert_rows_sync, table, rows)


def insert_rows_sync(
    connection: Connection, table: Table, rows: Sequence[Mapping[str, object]]
) -> None:
    """The same for functions passed to `AsyncDatabase.write`."""
    if not rows:
        return
    statement = _insert_statement(table, tuple(rows[0]), connection.dialect)
    values = [statement.arguments(row) for row in rows]
    driver = sqlite_driver(connection)
    if driver is not None:
        driver.executemany(statement.sql, values)
    else:
        connection.exec_driver_sql(statement.sql, values)


@lru_cache(maxsize=32)
def _insert_statement(table: Table, columns: tuple[str, ...], dialect: Dialect) -> DriverStatement:
    return compile_for_driver(insert(table).inline(), dialect, columns)


def upsert(
    dialect: Dialect,
    table: Table,
    update: Mapping[str, Any] | None = None,
    where: ColumnElement[bool] | None = None,
    key: Column[Any] | None = None,
) -> Any:
    """Build an INSERT that updates the row if its primary key exists, or its `key`.

    By default all other columns are replaced; `update` names the columns to set instead, as expressions.
    With `where`, only an existing row that matches is updated.
    """
    statement = _insert(dialect, table)
    if update is None:
        update = {
            column.name: statement.excluded[column.name]
            for column in table.c
            if not column.primary_key
        }
    elements = list(table.primary_key) if key is None else [key]
    return statement.on_conflict_do_update(index_elements=elements, set_=update, where=where)


def insert_missing(dialect: Dialect, table: Table) -> Any:
    """Build an INSERT that leaves existing rows unchanged."""
    return _insert(dialect, table).on_conflict_do_nothing()


def _insert(dialect: Dialect, table: Table) -> Any:
    if dialect.name == "sqlite":
        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql  # not loaded when SQLite is used

    return postgresql.insert(table)


def sqlite_driver(connection: Connection) -> sqlite3.Connection | None:
    """Return the driver's connection in a function passed to `AsyncDatabase.write` on SQLite, or None.

    For a short statement, the engine takes several times as long as SQLite.
    """
    driver: Any = connection.connection.driver_connection
    return driver if isinstance(driver, sqlite3.Connection) else None
