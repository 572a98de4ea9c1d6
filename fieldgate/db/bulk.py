"""Many rows of a table in one go, for what is written by the million.

await insert_rows(connection, words, [{"id": 1, ...}, ...])
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any

from sqlalchemy import Table, insert
from sqlalchemy.engine.interfaces import Dialect
from sqlalchemy.ext.asyncio import AsyncConnection


async def insert_rows(connection: AsyncConnection, table: Table, rows: Sequence[Mapping[str, object]]) -> None:
    """SQLAlchemy looks at every value of every row; values pass here as the driver has them, all rows with the same."""
    if rows:
        sql, in_order = _insert_statement(table, tuple(rows[0]), connection.dialect)
        await connection.exec_driver_sql(sql, list(map(in_order, rows)))


@lru_cache(maxsize=16)
def _insert_statement(table: Table, columns: tuple[str, ...], dialect: Dialect) -> tuple[str, Callable[[Any], Any]]:
    compiled = insert(table).inline().compile(dialect=dialect, column_keys=columns)
    return str(compiled), itemgetter(*(compiled.positiontup or ()))
