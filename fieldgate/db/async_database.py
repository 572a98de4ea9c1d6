"""A database: SQLite in a file, or PostgreSQL.

database = AsyncDatabase("sqlite:///data/fieldgate.db")
async with database.transaction() as connection:
    await connection.execute(users.insert().values(...))
uid = await database.write(lambda connection: connection.execute(...).scalar_one())
rows = await database.read(lambda connection: connection.execute(...).all())
"""

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    URL,
    BigInteger,
    ColumnElement,
    Executable,
    create_engine,
    event,
    literal,
    make_url,
    type_coerce,
)
from sqlalchemy.engine import Connection, Engine, Row
from sqlalchemy.engine.interfaces import Dialect, ExceptionContext
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine

from fieldgate.db.database_identity import (
    SELECT_IDENTITY,
    DatabaseIdentity,
    OpenFiles,
    read_write_uri,
)
from fieldgate.db.group_commit import GroupCommitter, Result, Work
from fieldgate.db.json_text import decode_json, encode_json
from fieldgate.db.outages import DatabaseGone, is_broken_connection
from fieldgate.db.postgres_url import PostgresURL
from fieldgate.db.tables import ClockTime, Timestamp, now
from fieldgate.overload import run_interruptible

if TYPE_CHECKING:
    import asyncpg  # not at run time: not loaded when SQLite is used

BUSY_TIMEOUT_MS = 10_000  # how long an SQLite writer waits for another one
MAX_POOL_CONNECTIONS = 8  # per process, for PreparedQuery; the SQLAlchemy engine has its own pool
ENGINE_CACHED_STATEMENTS = 100  # of a connection of the engine; its default

CONNECT_TIMEOUT = 5  # seconds to get a connection from the pool
COMMAND_TIMEOUT = 30  # seconds per statement
WATCH_SECONDS = 0.5  # between two looks at the files of SQLite

_JSON_OPTIONS: dict[str, Any] = {"json_serializer": encode_json, "json_deserializer": decode_json}
_SQLITE_PRAGMAS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
)


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
        # Without an implicit BEGIN by the driver.
        self._sqlite_options: dict[str, Any] = {
            "isolation_level": None,
            "timeout": busy_timeout_ms / 1000,
        }
        self.url = _driver_url(database_url)
        file = sqlite_file(database_url)
        self.is_sqlite = file is not None
        self.is_pooled = is_pooled and not self.is_sqlite
        self.identity = DatabaseIdentity(None if file is None else str(file))
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            options: dict[str, Any] = {"connect_args": self._sqlite_options}
        else:
            # The engine opens no connections of its own: it cannot read URLs with several hosts.
            options = {"pool_pre_ping": True, "pool_timeout": CONNECT_TIMEOUT}
            self.postgres_url = PostgresURL.parse(database_url)
            self._command_timeout = command_timeout
        # Errors are logged, and parameters of a failing statement can be secret.
        self._engine = create_async_engine(
            self.url, hide_parameters=True, **_JSON_OPTIONS, **options
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
        self._write_lock: AbstractAsyncContextManager[Any] = (
            asyncio.Lock() if self.is_sqlite else nullcontext()
        )
        self._group_committer: GroupCommitter | None = None
        self._reader: sqlite3.Connection | None = None
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
            async with self._write_lock, self._write_engine.begin() as connection:
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

    async def write(self, write: Work[Result]) -> Result:
        """Run a short function that writes, commit, and return its result. If it raises, nothing is written.

        On SQLite, functions that wait at the same time run in a thread and are committed together (`GroupCommitter`),
        so a function must use nothing but its connection and its own data. If the caller is cancelled, the write may
        or may not have been committed.
        """
        if self.is_sqlite:
            if self._group_committer is None:
                engine = self._sync_engine.execution_options(sqlite_begin="IMMEDIATE")
                self._group_committer = GroupCommitter(engine, self._write_lock, self.identity)
            try:
                return await self._group_committer.run(write)
            except DatabaseGone:
                await self.drop_connections()
                raise
        async with self.transaction() as connection:
            return await connection.run_sync(write)

    async def read(self, read: Work[Result]) -> Result:
        """Run a function that only reads, in one snapshot of the data, and return its result.

        On SQLite it runs in a thread, so it must use nothing but its connection and its own data. If the caller is
        cancelled, a statement that is running ends.
        """
        if self.is_sqlite:
            reader = _InterruptibleReader(self._sync_engine)
            return await run_interruptible(lambda: reader.run(read), reader.interrupt)
        async with self.read_transaction() as connection:
            return await connection.run_sync(read)

    @cached_property
    def _sync_engine(self) -> Engine:
        """A synchronous engine for the same file: an asynchronous one switches threads for every statement."""
        url, options = self.url.set(drivername="sqlite"), self._sqlite_options
        engine = create_engine(url, hide_parameters=True, connect_args=options, **_JSON_OPTIONS)
        _register_sqlite_events(engine, self.identity)
        return engine

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
        if self._reader is None:
            self._reader, self.identity.held = self.open_sqlite()
        return self._reader

    def commit_state(self) -> object:
        """Return what differs after each commit of any connection to the SQLite file, until the reader is another one.

        The reader never writes, so no commit is its own. A statement of it that follows sees this state or a later one.
        """
        return self.sqlite_reader().execute("PRAGMA data_version").fetchone()[0]

    def _close_reader(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = self.identity.held = None

    def open_sqlite(self) -> tuple[sqlite3.Connection, OpenFiles]:
        """Open a read-only connection of the driver. Raises `DatabaseGone` if the database is not the one it was."""
        self.identity.check_files()
        path, must_exist = str(self.url.database), self.identity.must_exist
        if not must_exist:
            create_private_file(path)
        connection = sqlite3.connect(
            read_write_uri(path) if must_exist else path,
            uri=must_exist,
            check_same_thread=False,
            **self._sqlite_options,
        )
        try:
            connection.execute("PRAGMA query_only = ON")
            return connection, self.identity.opened(_sqlite_identity(connection.cursor()))
        except BaseException:
            connection.close()
            raise

    async def watch(self) -> None:
        """Look at the files of an SQLite database twice a second, and close connections to lost files.

        Reads would be answered from a deleted file for as long as it is open.
        """
        while self.is_sqlite:
            await asyncio.sleep(WATCH_SECONDS)
            with suppress(DatabaseGone):
                await self.check_files()

    async def check_files(self) -> None:
        """Raise `DatabaseGone` if the files of an SQLite database are not those that were opened."""
        try:
            self.identity.check_files()
        except DatabaseGone:
            await self.drop_connections()
            raise

    async def drop_connections(self) -> None:
        """Close all connections. Those in use are closed when they are given back."""
        self._close_reader()
        if self.is_sqlite:
            self._sync_engine.dispose()
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
        if self._group_committer is not None:
            await self._group_committer.close()
            self._group_committer = None
        if self.is_sqlite:
            self._sync_engine.dispose()
        self._close_reader()
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


class _InterruptibleReader:
    """Runs one read on SQLite. Its statement can be ended from another thread, while the connection is its own."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = Lock()
        self._connection: Any = None  # of the driver

    def run(self, read: Work[Result]) -> Result:
        with self._engine.begin() as connection:
            with self._lock:
                self._connection = connection.connection.driver_connection
            try:
                return read(connection)
            finally:
                with self._lock:
                    self._connection = None

    def interrupt(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.interrupt()


def sqlite_file(database_url: str) -> Path | None:
    """The file of an SQLite database, None for PostgreSQL. `ValueError` if the URL is for neither."""
    url = _driver_url(database_url)
    return Path(str(url.database)) if url.get_backend_name() == "sqlite" else None


def _driver_url(database_url: str) -> URL:
    """The URL for SQLAlchemy, which chooses the driver. `ValueError`, without the password, if it is for none."""
    scheme = database_url.partition("://")[0].partition("+")[0]
    if scheme in {"postgresql", "postgres"}:
        PostgresURL.parse(database_url)
        return make_url("postgresql+asyncpg://")
    if "://" not in database_url:
        raise ValueError("sqlite:///… or postgresql://… is needed.")
    if scheme != "sqlite":  # first: an error of make_url can have a part of the password
        raise ValueError(f"sqlite:///… or postgresql://… is needed, not {scheme!r}.")
    url = make_url(database_url)
    if not url.database:
        raise ValueError("the name of a database is missing at the end of the address.")
    return url.set(drivername="sqlite+aiosqlite")


def create_private_file(path: str) -> None:
    """Create the file of a new SQLite database, which no other user of the machine can read. SQLite gives its other
    files the same permissions. An existing file stays as it is, and SQLite reports what cannot be created."""
    if path != ":memory:":
        with suppress(OSError):
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def _register_sqlite_events(
    engine: Engine,
    identity: DatabaseIdentity,
    on_open: Callable[[Any], None] = lambda _connection: None,
) -> None:
    """`on_open` is called with each new connection, before a task that is cancelled can lose it."""

    def connect(
        dialect: Dialect, _record: Any, arguments: list[Any], options: dict[str, Any]
    ) -> Any:
        identity.check_files()
        if not identity.must_exist:
            create_private_file(arguments[0])
        else:
            arguments[0] = read_write_uri(arguments[0])
            options["uri"] = True
        connection = dialect.connect(*arguments, **options)
        on_open(connection)
        return connection

    def set_up(connection: Any, record: Any) -> None:
        cursor = connection.cursor()
        try:
            for pragma in _SQLITE_PRAGMAS:
                cursor.execute(pragma)
            record.info[OpenFiles] = identity.opened(_sqlite_identity(cursor))
            cursor.close()
        except BaseException:
            connection.close()
            raise

    def close_if_lost(connection: object, record: Any) -> None:
        if connection is not None and identity.is_lost:
            record.invalidate()

    event.listen(engine, "do_connect", connect)
    event.listen(engine, "checkin", close_if_lost)
    event.listen(engine, "connect", set_up)
    event.listen(engine, "begin", _begin_sqlite)
    event.listen(engine, "handle_error", _disconnect_if_read_only)


def _sqlite_identity(cursor: Any) -> int | None:
    """The identity of a database, None if it has no tables yet."""
    try:
        cursor.execute(SELECT_IDENTITY)
        row = cursor.fetchone()
    except sqlite3.OperationalError as error:
        if "no such table" not in str(error):
            raise
        return None
    return None if row is None else int(row[0])


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


def _disconnect_if_read_only(context: ExceptionContext) -> None:
    """Drop a connection that SQLite opened read-only, since it would stay so when the file becomes writable."""
    if getattr(context.original_exception, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_READONLY:
        context.is_disconnect = True


def _begin_sqlite(connection: Connection) -> None:
    mode = connection.get_execution_options().get("sqlite_begin", "DEFERRED")
    connection.exec_driver_sql(f"BEGIN {mode}")


async def _skip_reset(connection: "asyncpg.Connection") -> None:
    """Do nothing: single statements leave no state behind, and a reset would be a round trip."""
