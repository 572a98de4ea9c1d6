"""Many rows of a table in one go, for what is written by the million.

rows = Bulk(database, words)
await rows.insert(connection, [{"id": 1, ...}, ...])
"""

from collections.abc import Mapping, Sequence
from operator import itemgetter

from sqlalchemy import Table, insert
from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.db.database import Database


class Bulk:
    """SQLAlchemy looks at every value of every row; values pass here as the driver has them, in every column."""

    def __init__(self, database: Database, table: Table) -> None:
        compiled = insert(table).compile(dialect=database.dialect)
        self._sql = str(compiled)
        self._in_order = itemgetter(*(compiled.positiontup or ()))

    async def insert(self, connection: AsyncConnection, rows: Sequence[Mapping[str, object]]) -> None:
        await connection.exec_driver_sql(self._sql, list(map(self._in_order, rows)))
