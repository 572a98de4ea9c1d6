"""Opens connections to PostgreSQL, directly or through a connection pooler such as PgBouncer.

A pooler in transaction mode gives each transaction another connection of the server. What a session keeps there,
prepared statements above all, is gone or somebody else's in the next transaction. So its connections use no statement
twice, and execute each in a transaction: the driver sends a statement and its values in two steps, and they must reach
the same server. A setting says that there is a pooler.
"""

from typing import Any

import asyncpg

from fieldgate.db.outages import UnexpectedPooler

CONNECT_TIMEOUT = 5.0  # seconds, for all hosts of the URL together
_CACHED_STATEMENTS = 100  # of a connection; the driver's default


class PooledConnection(asyncpg.Connection):  # type: ignore[misc]
    """A connection through a pooler in transaction mode."""

    async def fetch(self, query: str, *args: object, **options: Any) -> Any:
        return await self._in_transaction(super().fetch, query, *args, **options)

    async def fetchrow(self, query: str, *args: object, **options: Any) -> Any:
        return await self._in_transaction(super().fetchrow, query, *args, **options)

    async def fetchval(self, query: str, *args: object, **options: Any) -> Any:
        return await self._in_transaction(super().fetchval, query, *args, **options)

    async def set_type_codec(self, typename: str, **options: Any) -> None:
        await self._in_transaction(super().set_type_codec, typename, **options)

    async def _in_transaction(self, work: Any, *args: object, **options: Any) -> Any:
        if self.is_in_transaction():
            return await work(*args, **options)
        async with self.transaction():
            return await work(*args, **options)


async def open_connection(
    url: str, *, is_pooled: bool, command_timeout: float | None
) -> asyncpg.Connection:
    """Open a connection to the first host that answers and has the attributes that the URL asks for."""
    connection = await asyncpg.connect(
        url,
        timeout=CONNECT_TIMEOUT,
        command_timeout=command_timeout,
        statement_cache_size=0 if is_pooled else _CACHED_STATEMENTS,
        connection_class=PooledConnection if is_pooled else asyncpg.Connection,
    )
    try:
        if not is_pooled and await _has_pooler(connection):
            raise UnexpectedPooler
    except BaseException:
        connection.terminate()
        raise
    return connection


async def _has_pooler(connection: asyncpg.Connection) -> bool:
    """Whether the server process is another one than the connection says: a pooler tells clients a number of its own.

    The result is in the status ("SELECT 0"): without parameters the driver sends a text and prepares no statement.
    """
    status = await connection.execute(
        f"SELECT 1 WHERE pg_catalog.pg_backend_pid() = {int(connection.get_server_pid())}"
    )
    return str(status) == "SELECT 0"
