"""A database: SQLite in a file, or PostgreSQL.

database = AsyncDatabase("sqlite:///data/fieldgate.db")
async with database.transaction() as connection:
    await connection.execute(users.insert().values(...))
uid = await database.write(lambda connection: connection.execute(...).scalar_one())
rows = await database.read(lambda connection: connection.execute(...).all())
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import (
    URL,
    BigInteger,
    ColumnElement,
    Executable,
    event,
    literal,
    make_url,
    type_coerce,
)
from sqlalchemy.engine import Connection, Engine, Row
from sqlalchemy.engine.interfaces import Dialect, ExceptionContext
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine

from fieldgate.db.database import (
    READ_THREADS,
    Database,
    Interrupt,
    Read,
    Write,
    check_url,
    sqlite_file,
)
from fieldgate.db.database_identity import SELECT_IDENTITY, DatabaseIdentity, OpenFiles
from fieldgate.db.json_text import JSON_OPTIONS
from fieldgate.db.outages import DatabaseGone, is_broken_connection
from fieldgate.db.postgres_url import PostgresURL
from fieldgate.db.sqlite_engine import BUSY_TIMEOUT_MS, open_read_only, register_sqlite_events
from fieldgate.db.tables import ClockTime, Timestamp, now
from fieldgate.overload import WAIT_SECONDS
from fieldgate.runtime.work_threads import WorkThreads

if TYPE_CHECKING:
    import asyncpg  # not at run time: not loaded when SQLite is used

MAX_POOL_CONNECTIONS = 8  # per process, for PreparedQuery; the SQLAlchemy engine has its own pool
MAX_ENGINE_CONNECTIONS = 7
ENGINE_CACHED_STATEMENTS = 100  # of a connection of the engine; its default

CONNECT_TIMEOUT = 5  # seconds to get a connection from the pool
COMMAND_TIMEOUT = 30  # seconds per statement

Result = TypeVar("Result")
Work = Callable[[Connection], Result]


class AsyncDatabase:
    def __init__(
        self,
        database_url: str,
        *,
        is_pooled: bool = False,
        command_timeout: float | None = COMMAND_TIMEOUT,
        busy_timeout_ms: int = BUSY_TIMEOUT_MS,
    ) -> None:
        """`is_pooled`: a connection pooler is in front of PostgreSQL, so that sessions keep no state."""
        self.sync = Database(
            database_url,
            is_pooled=is_pooled,
            statement_timeout=command_timeout,
            busy_timeout_ms=busy_timeout_ms,
        )
        self._threads = WorkThreads(READ_THREADS, WAIT_SECONDS)
        self.url = _driver_url(database_url)
        file = sqlite_file(database_url)
        self.is_sqlite = file is not None
        self.is_pooled = is_pooled and not self.is_sqlite
        self.identity = self.sync.identity
        self._busy_timeout_ms = busy_timeout_ms
        if file is not None:
            # Without an implicit BEGIN by the driver.
            arguments = {"isolation_level": None, "timeout": busy_timeout_ms / 1000}
            options: dict[str, Any] = {"connect_args": arguments}
        else:
            # The engine opens no connections of its own: it cannot read URLs with several hosts.
            options = {
                "pool_pre_ping": True,
                "pool_timeout": CONNECT_TIMEOUT,
                "pool_size": MAX_ENGINE_CONNECTIONS,
                "max_overflow": 0,
            }
            self.postgres_url = PostgresURL.parse(database_url)
            self._command_timeout = command_timeout
        # Errors are logged, and parameters of a failing statement can be secret.
        self._engine = create_async_engine(
            self.url, hide_parameters=True, **JSON_OPTIONS, **options
        )
        if self.is_sqlite:
            self._opened: list[Any] = []  # connections of the driver that are or were open
            _register_sqlite_events(self._engine.sync_engine, self.identity, self._note_opened)
        else:
            event.listen(self._engine.sync_engine, "do_connect", self._connect_engine)
            event.listen(self._engine.sync_engine, "handle_error", _disconnect_if_broken)
        self._write_engine = self._engine.execution_options(sqlite_begin="IMMEDIATE")
        # On SQLite, every transaction sees one snapshot.
        snapshot_options = (
            {}
            if self.is_sqlite
            else {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        )
        self._read_engine = self._engine.execution_options(**snapshot_options)
        self._pool: asyncpg.Pool | None = None
        self._pool_lock = asyncio.Lock()

    @property
    def dialect(self) -> Dialect:
        return self._engine.dialect

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncConnection]:
        """Begin a transaction that can write. It is committed when the block ends, rolled back if it raises.

        SQLite has one writer at a time: writers of this process wait for a lock here, other processes in SQLite.
        Raises `DatabaseGone` after the commit if the SQLite file was deleted or replaced meanwhile.
        """
        try:
            async with self._write_lock(), self._write_engine.begin() as connection:
                files = (
                    (await connection.get_raw_connection()).info.get(OpenFiles)
                    if self.is_sqlite
                    else None
                )
                yield connection
            self.identity.check_files(files)
        except DatabaseGone:
            await self.drop_connections()
            raise

    @asynccontextmanager
    async def _write_lock(self) -> AsyncIterator[None]:
        """On SQLite, the thread that writes waits for the block, and the block for the thread."""
        if not self.is_sqlite:
            yield
            return
        has_paused, may_go_on = self.sync.sqlite_writer.pause()
        try:
            await asyncio.wrap_future(has_paused)
            yield
        finally:
            may_go_on.set()

    async def in_write(self, function: Write[Result]) -> Result:
        """Run a function in `Database.write`, in a thread.

        It must use nothing but its transaction and its own data. If the caller is cancelled, the write may or may not
        have been committed.
        """
        if not self.is_sqlite:
            return await self._threads.run(lambda: self.sync.write(function))
        future = self.sync.sqlite_writer.submit(function, is_alone=False)
        try:
            return await asyncio.wrap_future(future)
        except DatabaseGone:
            await self.drop_connections()
            raise

    async def in_read(self, function: Read[Result]) -> Result:
        """Run a function in `Database.read`, in a thread. If the caller is cancelled, a running statement ends."""
        interrupt = Interrupt()
        return await self._threads.run(
            lambda: self.sync.read(function, interrupt),
            interrupt.set,
        )

    async def write(self, write: Work[Result]) -> Result:
        """The same for functions that take a connection."""
        return await self.in_write(lambda transaction: write(transaction.connection))

    async def read(self, read: Work[Result]) -> Result:
        return await self.in_read(lambda transaction: read(transaction.connection))

    @asynccontextmanager
    async def read_transaction(self) -> AsyncIterator[AsyncConnection]:
        """Begin a read-only transaction that sees one snapshot of the data. On SQLite, `read` takes less time."""
        async with self._read_engine.begin() as connection:
            yield connection

    async def all(self, query: Executable) -> Sequence[Row[Any]]:
        """Return all rows of a query, in a read transaction of its own."""
        return await self.read(lambda connection: connection.execute(query).all())

    async def first(self, query: Executable) -> Row[Any] | None:
        """Return the first row of a query, or None."""
        return await self.read(lambda connection: connection.execute(query).first())

    async def scalar(self, query: Executable) -> Any:
        """Return the first value of the first row of a query, or None."""
        row = await self.first(query)
        return None if row is None else row[0]

    def current_time(self, offset: timedelta = timedelta(0)) -> ColumnElement[datetime]:
        """Return the current time plus an offset, as an SQL expression.

        On PostgreSQL it is the server's clock, so that several machines agree. All users of an SQLite file are on one
        machine, so its clock is used.
        """
        if self.is_sqlite:
            return literal(now() + offset, Timestamp)
        later = type_coerce(ClockTime(), BigInteger) + literal(
            offset // timedelta(microseconds=1), BigInteger
        )
        return type_coerce(later, Timestamp)

    def sqlite_reader(self) -> sqlite3.Connection:
        """Return a read-only connection of the driver, for queries of microseconds on the event loop.

        In WAL mode, readers do not wait for writers, so a lookup by key takes less time than a switch to a thread.
        Fetch all rows at once: while a cursor is open, later statements see the same state as it does.
        """
        return self.sync.lookup_connection

    def commit_state(self) -> object:
        """Return what differs after each commit of any connection to the SQLite file, until the reader is another one.

        The reader never writes, so no commit is its own. A statement of it that follows sees this state or a later one.
        """
        return self.sqlite_reader().execute("PRAGMA data_version").fetchone()[0]

    def open_sqlite(self) -> tuple[sqlite3.Connection, OpenFiles]:
        """Open a read-only connection of the driver. Raises `DatabaseGone` if the database is not the one it was."""
        return open_read_only(Path(str(self.url.database)), self.identity, self._busy_timeout_ms)

    async def check_files(self) -> None:
        """Raise `DatabaseGone` if the files of an SQLite database are not those that were opened."""
        try:
            self.identity.check_files()
        except DatabaseGone:
            await self.drop_connections()
            raise

    async def drop_connections(self) -> None:
        """Close all connections. Those in use are closed when they are given back."""
        self.sync.drop_connections()
        if self._pool is not None:
            await self._pool.expire_connections()
        await self._engine.dispose()

    async def postgres_pool(self) -> "asyncpg.Pool":
        """Return a pool of the driver's own connections, without the overhead of the SQLAlchemy engine."""
        import asyncpg

        if self._pool is None:
            async with self._pool_lock:
                if self._pool is None:
                    self._pool = await asyncpg.create_pool(
                        min_size=1,
                        max_size=MAX_POOL_CONNECTIONS,
                        reset=_skip_reset,
                        connect=self.connect,
                    )
        return self._pool

    @asynccontextmanager
    async def pooled_connection(self) -> AsyncIterator["asyncpg.Connection"]:
        """Take a connection of the pool for one query. A connection that is broken is not given back."""
        pool = await self.postgres_pool()
        async with pool.acquire(timeout=CONNECT_TIMEOUT) as connection:
            try:
                yield connection
            except Exception as error:
                if is_broken_connection(error):
                    connection.terminate()
                raise

    async def connect(self, *_: object, **__: object) -> "asyncpg.Connection":
        """Open a connection of the driver. Arguments, which pools pass, are ignored: the URL holds all options."""
        from fieldgate.db.postgres_connections import open_connection

        connection = await open_connection(
            self.postgres_url.text, is_pooled=self.is_pooled, command_timeout=self._command_timeout
        )
        try:
            self.identity.check(await _postgres_identity(connection))
        except BaseException:
            connection.terminate()
            raise
        return connection

    def _connect_engine(self, dialect: Any, *_: object) -> Any:
        """Open a connection for the engine, which has a cache of prepared statements, too. A pooler forbids it."""
        size = 0 if self.is_pooled else ENGINE_CACHED_STATEMENTS
        return dialect.dbapi.connect(
            async_creator_fn=self.connect, prepared_statement_cache_size=size
        )

    @property
    def address(self) -> str:
        """For messages: the path of an SQLite file, or the URL of a PostgreSQL database without its password."""
        if self.is_sqlite:
            return str(Path(str(self.url.database)).absolute())
        return self.postgres_url.address

    async def close(self) -> None:
        await asyncio.to_thread(self.sync.close)
        await asyncio.to_thread(self._threads.close)
        if self._pool is not None:
            await self._pool.close()
            self._pool = None
        await self._engine.dispose()
        if self.is_sqlite:
            # SQLAlchemy loses a connection if the task that opens it is cancelled before the connection is set up.
            for connection in self._opened:
                await connection.close()
            self._opened.clear()

    def _note_opened(self, connection: Any) -> None:
        self._opened = [
            each for each in self._opened if each._connection is not None
        ]  # None: it was closed
        self._opened.append(connection.driver_connection)


def _driver_url(database_url: str) -> URL:
    """The URL for SQLAlchemy, which chooses the driver. `ValueError`, without the password, if it is for none."""
    url = check_url(database_url)
    if url is None:
        return make_url("postgresql+asyncpg://")
    return url.set(drivername="sqlite+aiosqlite")


def _register_sqlite_events(
    engine: Engine, identity: DatabaseIdentity, on_open: Callable[[Any], None]
) -> None:
    """`on_open` is called with each new connection, before a task that is cancelled can lose it."""
    register_sqlite_events(engine, identity, on_open)
    event.listen(engine, "begin", _begin_sqlite)


async def _postgres_identity(connection: "asyncpg.Connection") -> int | None:
    import asyncpg

    try:
        found: int | None = await connection.fetchval(SELECT_IDENTITY)
    except asyncpg.UndefinedTableError:
        return None
    return found


def _disconnect_if_broken(context: ExceptionContext) -> None:
    """Drop a connection whose driver lost track of its state: it would fail every time."""
    if is_broken_connection(context.original_exception):
        context.is_disconnect = True


def _begin_sqlite(connection: Connection) -> None:
    mode = connection.get_execution_options().get("sqlite_begin", "DEFERRED")
    connection.exec_driver_sql(f"BEGIN {mode}")


async def _skip_reset(connection: "asyncpg.Connection") -> None:
    """Do nothing: single statements leave no state behind, and a reset would be a round trip."""
