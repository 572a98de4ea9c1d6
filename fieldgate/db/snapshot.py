"""One state of the data, read on the driver itself: for so many rows that the engine would take seconds to pass them.

async with snapshot(database) as state:
    version = (await state.rows(select(...)))[0]
    async for some in state.batches(select(...)): ...
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any, Protocol

from sqlalchemy import Select

from fieldgate.db.database import BUSY_TIMEOUT_MS, Database

BATCH_SIZE = 2_000  # rows handed over at once: larger ones are no faster, and leave holes in the memory

Rows = Sequence[Sequence[Any]]


class Snapshot(Protocol):
    async def rows(self, statement: Select[Any]) -> Rows: ...

    def batches(self, statement: Select[Any]) -> AsyncIterator[Rows]: ...


@asynccontextmanager
async def snapshot(database: Database) -> AsyncIterator[Snapshot]:
    """All reads in the block see the same state."""
    if database.is_sqlite:
        # A thread of its own does one thing after the other: nothing is closed under what still reads, whoever
        # was cancelled meanwhile.
        thread = ThreadPoolExecutor(1)
        connection = await asyncio.wrap_future(thread.submit(_open_read_only, str(database.url.database)))
        try:
            yield _SqliteSnapshot(database, connection, thread)
        finally:
            thread.submit(connection.close)
            thread.shutdown(wait=False)
        return
    postgres = await database.connect()
    try:
        await postgres.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        yield _PostgresSnapshot(database, postgres)
    finally:
        # Nothing was written. Closing it politely would wait for a statement that nobody waits for any more.
        postgres.terminate()


def _open_read_only(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
    connection.execute("PRAGMA query_only = ON")
    connection.execute("BEGIN")
    return connection


class _SqliteSnapshot:
    def __init__(self, database: Database, connection: sqlite3.Connection, thread: ThreadPoolExecutor) -> None:
        self._database = database
        self._connection = connection
        self._thread = thread

    async def rows(self, statement: Select[Any]) -> Rows:
        cursor = await self._run(self._connection.execute, *_compile(self._database, statement))
        rows: Rows = await self._run(cursor.fetchall)
        return rows

    async def batches(self, statement: Select[Any]) -> AsyncIterator[Rows]:
        cursor = await self._run(self._connection.execute, *_compile(self._database, statement))
        while some := await self._run(cursor.fetchmany, BATCH_SIZE):
            yield some

    async def _run(self, work: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.wrap_future(self._thread.submit(work, *arguments))


class _PostgresSnapshot:
    def __init__(self, database: Database, connection: Any) -> None:
        self._database = database
        self._connection = connection

    async def rows(self, statement: Select[Any]) -> Rows:
        sql, values = _compile(self._database, statement)
        found: Rows = await self._connection.fetch(sql, *values)
        return found

    async def batches(self, statement: Select[Any]) -> AsyncIterator[Rows]:
        sql, values = _compile(self._database, statement)
        cursor = await self._connection.cursor(sql, *values)
        while some := await cursor.fetch(BATCH_SIZE):
            yield some


def _compile(database: Database, statement: Select[Any]) -> tuple[str, list[Any]]:
    """The statement and its values, as the driver takes them; moments are whole microseconds on both sides."""
    compiled = statement.compile(dialect=database.dialect, compile_kwargs={"render_postcompile": True})
    values = compiled.params
    return str(compiled), [values[name] for name in compiled.positiontup or ()]
