"""Bulk inserts, for tables that get millions of rows.

await insert_rows(connection, words, [{"id": 1, ...}, ...])
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any

from sqlalchemy import Table, insert
from sqlalchemy.engine import Connection
from sqlalchemy.engine.interfaces import Dialect
from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.db.sqlite_driver import sqlite_driver


async def insert_rows(connection: AsyncConnection, table: Table, rows: Sequence[Mapping[str, object]]) -> None:
    """Insert rows that all have the same columns.

    Values are passed to the driver as they are: SQLAlchemy's processing of every value would take most of the time.
    """
    if rows:
        await connection.run_sync(insert_rows_sync, table, rows)


def insert_rows_sync(connection: Connection, table: Table, rows: Sequence[Mapping[str, object]]) -> None:
    """The same for functions passed to `Database.write`."""
    if rows:
        sql, to_tuple = _insert_statement(table, tuple(rows[0]), connection.dialect)
        values, driver = list(map(to_tuple, rows)), sqlite_driver(connection)
        if driver is not None:
            driver.executemany(sql, values)
        else:
            connection.exec_driver_sql(sql, values)


@lru_cache(maxsize=16)
def _insert_statement(table: Table, columns: tuple[str, ...], dialect: Dialect) -> tuple[str, Callable[[Any], Any]]:
    compiled = insert(table).inline().compile(dialect=dialect, column_keys=columns)
    return str(compiled), itemgetter(*(compiled.positiontup or ()))
