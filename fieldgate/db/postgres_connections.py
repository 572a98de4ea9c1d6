"""Opens connections to PostgreSQL: one of several hosts, directly or through a connection pooler such as PgBouncer.

Hosts are tried in the order of the URL, each with its own timeout: a host that is switched off does not use up the time
of the next one.

A pooler in transaction mode gives each transaction another connection of the server. What a session keeps there,
prepared statements above all, is gone or somebody else's in the next transaction. It is recognized by the process
number: the pooler tells the client another one than the server has. Its connections use no statement twice, and execute
each in a transaction: the driver sends a statement and its values in two steps, and they must reach the same server.
"""

import random
from collections.abc import Sequence
from typing import Any

import asyncpg

from fieldgate.db.postgres_url import PostgresURL

CONNECT_TIMEOUT = 5.0  # seconds in all, if the URL has no `connect_timeout` for each host
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


class PostgresConnector:
    """Opens connections for one URL, and remembers what it learned about the server."""

    def __init__(self, url: PostgresURL, command_timeout: float | None) -> None:
        self._url = url
        self._command_timeout = command_timeout
        self._last_host: tuple[str, int] | None = None
        self.is_pooled = False  # of the last connection

    async def connect(self) -> asyncpg.Connection:
        """Open a connection to the first host that answers and has the attributes that the URL asks for."""
        failure: Exception = OSError("there is no host")
        for number, host in enumerate(self._ordered_hosts()):
            try:
                connection = await self._connect_to(host)
            except _NEXT_HOST as error:
                # The error of a host that answered says more than that of one that did not.
                failure = error if number == 0 or isinstance(error, asyncpg.PostgresError) else failure
                continue
            self._last_host = host
            return connection
        raise failure

    def _ordered_hosts(self) -> Sequence[tuple[str, int] | None]:
        """The hosts in the order in which they are tried.

        If the URL asks for an attribute, for example `read-write`, the host that had it last is tried first: it most
        likely still has it, and the others may be off. Without one, the order of the URL is a preference.
        """
        hosts: list[tuple[str, int] | None] = list(self._url.hosts) or [None]
        if self._url.is_balanced:
            random.shuffle(hosts)
        elif self._last_host in hosts and self._url.options.get("target_session_attrs", "any") != "any":
            hosts.sort(key=lambda host: host != self._last_host)
        return hosts

    async def _connect_to(self, host: tuple[str, int] | None) -> asyncpg.Connection:
        while True:
            is_pooled = self.is_pooled
            connection = await asyncpg.connect(
                self._url.driver_dsn(host),
                timeout=self._url.connect_timeout or max(1.0, CONNECT_TIMEOUT / max(len(self._url.hosts), 1)),
                command_timeout=self._command_timeout,
                statement_cache_size=0 if is_pooled else _CACHED_STATEMENTS,
                connection_class=PooledConnection if is_pooled else asyncpg.Connection,
            )
            try:
                self.is_pooled = await _is_pooled(connection)
            except BaseException:
                connection.terminate()
                raise
            if self.is_pooled is is_pooled:
                return connection
            connection.terminate()


# A host that cannot be reached, is starting or stopping, has too many connections, or lacks the attributes.
_NEXT_HOST = (
    OSError,
    TimeoutError,
    asyncpg.CannotConnectNowError,
    asyncpg.TooManyConnectionsError,
    asyncpg.ConnectionDoesNotExistError,
    asyncpg.TargetServerAttributeNotMatched,
)


async def _is_pooled(connection: asyncpg.Connection) -> bool:
    """Whether the server process is another one than the connection says.

    The result is in the status ("SELECT 0"): without parameters the driver sends a text and prepares no statement.
    """
    status = await connection.execute(
        f"SELECT 1 WHERE pg_catalog.pg_backend_pid() = {int(connection.get_server_pid())}"
    )
    return str(status) == "SELECT 0"
