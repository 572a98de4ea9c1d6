"""Consistent reads of many rows with the driver itself, where the SQLAlchemy engine would take seconds.

async with snapshot(database) as state:
    version = (await state.rows(select(...)))[0]
    async for batch in state.batches(select(...)): ...
"""

import asyncio
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

from sqlalchemy import Select

from fieldgate.db.async_database import AsyncDatabase

BATCH_SIZE = 2_000  # rows; larger batches are no faster, and fragment memory

Rows = Sequence[Sequence[Any]]


class Snapshot(ABC):
    """Reads that see one state of the data."""

    async def rows(self, statement: Select[Any]) -> Rows:
        return [row async for batch in self.batches(statement) for row in batch]

    @abstractmethod
    def batches(self, statement: Select[Any]) -> AsyncIterator[Rows]: ...


@asynccontextmanager
async def snapshot(database: AsyncDatabase) -> AsyncIterator[Snapshot]:
    """Open a snapshot: all reads in the block see the same state of the data."""
    if database.is_sqlite:
        # One thread executes everything in order, so the connection is never closed during a read, even if the
        # caller was cancelled.
        thread = ThreadPoolExecutor(1)
        connection = await asyncio.wrap_future(thread.submit(_open_read_only, database))
        try:
            yield _SqliteSnapshot(database, connection, thread)
        finally:
            connection.interrupt()  # a statement that is still running: the caller was cancelled
            thread.submit(connection.close)
            thread.shutdown(wait=False)
        return
    postgres = await database.connect()
    try:
        await postgres.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        yield _PostgresSnapshot(database, postgres)
        if database.is_pooled:  # otherwise the pooler would close its connection, too
            await postgres.execute("ROLLBACK")
    finally:
        # Nothing was written, and a regular close would wait for a cancelled statement.
        postgres.terminate()


def _open_read_only(database: AsyncDatabase) -> sqlite3.Connection:
    connection, _ = database.open_sqlite()
    connection.execute("BEGIN")
    return connection


class _SqliteSnapshot(Snapshot):
    def __init__(
        self, database: AsyncDatabase, connection: sqlite3.Connection, thread: ThreadPoolExecutor
    ) -> None:
        self._database = database
        self._connection = connection
        self._thread = thread

    async def batches(self, statement: Select[Any]) -> AsyncIterator[Rows]:
        cursor = await self._run(self._connection.execute, *_compile(self._database, statement))
        while batch := await self._run(cursor.fetchmany, BATCH_SIZE):
            yield batch

    async def _run(self, work: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.wrap_future(self._thread.submit(work, *arguments))


class _PostgresSnapshot(Snapshot):
    def __init__(self, database: AsyncDatabase, connection: Any) -> None:
        self._database = database
        self._connection = connection
        self._cursor_numbers = count()

    async def batches(self, statement: Select[Any]) -> AsyncIterator[Rows]:
        sql, values = _compile(self._database, statement)
        # The driver's own cursor has a prepared statement, which a pooler would leave to other clients.
        cursor = f"batches_{next(self._cursor_numbers)}"
        await self._connection.fetch(f"DECLARE {cursor} NO SCROLL CURSOR FOR {sql}", *values)
        while batch := await self._connection.fetch(f"FETCH {BATCH_SIZE} FROM {cursor}"):
            yield batch
        await self._connection.fetch(f"CLOSE {cursor}")


def _compile(database: AsyncDatabase, statement: Select[Any]) -> tuple[str, list[Any]]:
    """Return the SQL and its values for the driver. Timestamps are integers, so they need no conversion."""
    compiled = statement.compile(
        dialect=database.dialect, compile_kwargs={"render_postcompile": True}
    )
    values = compiled.params
    return str(compiled), [values[name] for name in compiled.positiontup or ()]
