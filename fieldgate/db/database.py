"""One open database, SQLite in a file or PostgreSQL, behind one small surface.

database = Database("sqlite:///data/fieldgate.db")
async with database.transaction() as connection:
    await connection.execute(users.insert().values(...))
uid = await database.write(lambda connection: connection.execute(...).scalar_one())
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    URL,
    BigInteger,
    ColumnElement,
    cast,
    create_engine,
    event,
    extract,
    func,
    literal,
    make_url,
    type_coerce,
)
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.engine.interfaces import Dialect, ExceptionContext
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine

from fieldgate.db.group_commit import GroupCommitter, Result, Write
from fieldgate.db.tables import Timestamp, now

if TYPE_CHECKING:
    import asyncpg  # not at run time: who has SQLite never loads it

BUSY_TIMEOUT_MS = 10_000  # milliseconds a writer waits for another one on SQLite
MAX_POOL_CONNECTIONS = 8  # connections of one process to PostgreSQL for what every request asks

CONNECT_TIMEOUT = 5  # seconds to reach PostgreSQL, or to get one of our connections to it
COMMAND_TIMEOUT = 30  # seconds a statement may take

_SQLITE_OPTIONS = {"isolation_level": None}  # transactions begin where we say so
_SQLITE_PRAGMAS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
    f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}",
)


class Database:
    def __init__(self, database_url: str) -> None:
        self.url = _driver_url(database_url)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        if self.is_sqlite:
            Path(str(self.url.database)).parent.mkdir(parents=True, exist_ok=True)
            options: dict[str, Any] = {"connect_args": _SQLITE_OPTIONS}
        else:
            # PostgreSQL's own spelling of options (sslmode, host) is understood by the driver, not by the engine.
            options = {"pool_pre_ping": True, "pool_timeout": CONNECT_TIMEOUT, "async_creator": self.connect}
        # Parameters of a failing statement can be secrets, and errors are logged.
        self._engine = create_async_engine(self.url, hide_parameters=True, **options)
        if self.is_sqlite:
            _register_sqlite_events(self._engine.sync_engine)
        self._write_engine = self._engine.execution_options(sqlite_begin="IMMEDIATE")
        # SQLite keeps one state for a transaction as it is.
        one_state = {} if self.is_sqlite else {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        self._read_engine = self._engine.execution_options(**one_state)
        self._write_lock: AbstractAsyncContextManager[Any] = asyncio.Lock() if self.is_sqlite else nullcontext()
        self._group_committer: GroupCommitter | None = None
        self._reader: sqlite3.Connection | None = None
        self._pool: asyncpg.Pool | None = None
        self._pool_lock = asyncio.Lock()

    @property
    def dialect(self) -> Dialect:
        return self._engine.dialect

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncConnection]:
        """A transaction that may write: committed and synced when the block ends, rolled back if it raises.

        SQLite takes one writer at a time: writers of this process queue here, those of others in SQLite.
        """
        async with self._write_lock, self._write_engine.begin() as connection:
            yield connection

    async def write(self, write: Write[Result]) -> Result:
        """The result of a short function that writes, once it is committed and synced. If it raises, nothing stays.

        On SQLite those that wait at the same moment are committed together, in a thread: such a function touches
        nothing but its connection and what is its own. Who is cancelled meanwhile does not learn whether it was made.
        """
        if self.is_sqlite:
            if self._group_committer is None:
                self._group_committer = GroupCommitter(self._sync_write_engine(), self._write_lock)
            return await self._group_committer.run(write)
        async with self.transaction() as connection:
            return await connection.run_sync(write)

    def _sync_write_engine(self) -> Engine:
        """The same file, without the changes of threads that an asynchronous engine needs for every statement."""
        engine = create_engine(self.url.set(drivername="sqlite"), hide_parameters=True, connect_args=_SQLITE_OPTIONS)
        _register_sqlite_events(engine)
        return engine.execution_options(sqlite_begin="IMMEDIATE")

    @asynccontextmanager
    async def read_transaction(self) -> AsyncIterator[AsyncConnection]:
        """A transaction that only reads, and sees one state of the data throughout."""
        async with self._read_engine.begin() as connection:
            yield connection

    def current_time(self, offset: timedelta = timedelta(0)) -> ColumnElement[datetime]:
        """The time, or a later one, for statements that several machines must agree on: PostgreSQL's own clock.

        SQLite is in a file of this machine, and so is everybody who uses it.
        """
        if self.is_sqlite:
            return literal(now() + offset, Timestamp)
        present = cast(extract("epoch", func.statement_timestamp()) * 1_000_000, BigInteger)
        return type_coerce(present + literal(offset // timedelta(microseconds=1), BigInteger), Timestamp)

    def sqlite_reader(self) -> sqlite3.Connection:
        """SQLite's own connection, for reads of microseconds made straight from the event loop.

        In WAL mode a reader waits for nobody, so a look-up by key costs less here than a hop to a thread.
        """
        if self._reader is None:
            self._reader = sqlite3.connect(str(self.url.database), isolation_level=None, check_same_thread=False)
            self._reader.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
            self._reader.execute("PRAGMA query_only = ON")
        return self._reader

    async def postgres_pool(self) -> "asyncpg.Pool":
        """The driver's own connections to PostgreSQL, without the cost of the engine."""
        import asyncpg

        if self._pool is None:
            async with self._pool_lock:
                if self._pool is None:
                    self._pool = await asyncpg.create_pool(
                        min_size=1, max_size=MAX_POOL_CONNECTIONS, reset=_skip_reset, connect=self.connect
                    )
        return self._pool

    async def connect(self, *_: object, **__: object) -> "asyncpg.Connection":
        """A connection of the driver itself to PostgreSQL. Pools pass arguments on; the address holds all of them."""
        import asyncpg

        return await asyncpg.connect(self.postgres_dsn, timeout=CONNECT_TIMEOUT, command_timeout=COMMAND_TIMEOUT)

    @property
    def postgres_dsn(self) -> str:
        """The address as PostgreSQL's own tools write it."""
        return self.url.set(drivername="postgresql").render_as_string(hide_password=False)

    async def close(self) -> None:
        if self._group_committer is not None:
            await self._group_committer.close()
            self._group_committer = None
        if self._reader is not None:
            self._reader.close()
            self._reader = None
        if self._pool is not None:
            await self._pool.close()
            self._pool = None
        await self._engine.dispose()


def _driver_url(database_url: str) -> URL:
    """The address with the driver we use; people write `postgres://` as often as `postgresql://`."""
    url = make_url(database_url.replace("postgres://", "postgresql://", 1))
    drivers = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+asyncpg"}
    if url.get_backend_name() not in drivers:
        raise ValueError(f"sqlite:///… or postgresql://… is needed, not {url.get_backend_name()!r}.")
    if not url.database:
        raise ValueError("the name of a database is missing at the end of the address.")
    return url.set(drivername=drivers[url.get_backend_name()])


def _register_sqlite_events(engine: Engine) -> None:
    event.listen(engine, "connect", _set_pragmas)
    event.listen(engine, "begin", _begin_sqlite)
    event.listen(engine, "handle_error", _disconnect_if_read_only)


def _set_pragmas(connection: Any, record: object) -> None:  # noqa: ARG001
    cursor = connection.cursor()
    for pragma in _SQLITE_PRAGMAS:
        cursor.execute(pragma)
    cursor.close()


def _disconnect_if_read_only(context: ExceptionContext) -> None:
    """A file that may not be written is opened for reading alone, and stays so for as long as the connection lasts."""
    if getattr(context.original_exception, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_READONLY:
        context.is_disconnect = True


def _begin_sqlite(connection: Connection) -> None:
    mode = connection.get_execution_options().get("sqlite_begin", "DEFERRED")
    connection.exec_driver_sql(f"BEGIN {mode}")


async def _skip_reset(connection: "asyncpg.Connection") -> None:
    """Look-ups are single statements that leave nothing behind: no round trip to tidy up after them."""
