"""A statement compiled once and run on the driver itself, for what every request asks.

find = Lookup(database, select(tokens.c.id).where(tokens.c.hash == bindparam("hash")))
row = await find.first(hash=digest)
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Select

from fieldgate.db.database import CONNECT_TIMEOUT, Database


class Lookup:
    """SQLAlchemy's engine costs more than the query does; values and rows pass here as the driver has them."""

    def __init__(self, database: Database, statement: Select[Any]) -> None:
        compiled = statement.compile(dialect=database.dialect)
        self._database = database
        self._sql = str(compiled)
        self._order: Sequence[str] = compiled.positiontup or ()

    async def first(self, **values: object) -> Sequence[Any] | None:
        """The first row, or None."""
        arguments = [values[name] for name in self._order]
        if self._database.is_sqlite:
            row: Sequence[Any] | None = self._database.sqlite_reader().execute(self._sql, arguments).fetchone()
            return row
        pool = await self._database.postgres_pool()
        async with pool.acquire(timeout=CONNECT_TIMEOUT) as connection:
            found = await connection.fetchrow(self._sql, *arguments)
        return None if found is None else tuple(found)
