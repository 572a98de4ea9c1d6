"""A database: SQLite in a file, or PostgreSQL.

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
from fieldgate.db.postgres_url import PostgresURL
from fieldgate.db.tables import Timestamp, now

if TYPE_CHECKING:
    import asyncpg  # not at run time: not loaded when SQLite is used

    from fieldgate.db.postgres_connections import PostgresConnector

BUSY_TIMEOUT_MS = 10_000  # how long an SQLite writer waits for another one
MAX_POOL_CONNECTIONS = 8  # per process, for PreparedQuery; the SQLAlchemy engine has its own pool
ENGINE_CACHED_STATEMENTS = 100  # of a connection of the engine; its default

CONNECT_TIMEOUT = 5  # seconds to get a connection from the pool
COMMAND_TIMEOUT = 30  # seconds per statement

_SQLITE_OPTIONS = {"isolation_level": None}  # no implicit BEGIN by the driver
_SQLITE_PRAGMAS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
    f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}",
)


class Database:
    def __init__(self, database_url: str, *, command_timeout: float | None = COMMAND_TIMEOUT) -> None:
        self.url = _driver_url(database_url)
        file = sqlite_file(database_url)
        self.is_sqlite = file is not None
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            engine_url = self.url
            options: dict[str, Any] = {"connect_args": _SQLITE_OPTIONS}
        else:
            # The engine opens no connections of its own: it does not read URLs as PostgreSQL's programs do.
            engine_url = make_url("postgresql+asyncpg://")
            options = {"pool_pre_ping": True, "pool_timeout": CONNECT_TIMEOUT}
            self._postgres_url = PostgresURL.parse(database_url)
            self._command_timeout = command_timeout
            self._connector: PostgresConnector | None = None
        # Errors are logged, and parameters of a failing statement can be secret.
        self._engine = create_async_engine(engine_url, hide_parameters=True, **options)
        if self.is_sqlite:
            _register_sqlite_events(self._engine.sync_engine)
        else:
            event.listen(self._engine.sync_engine, "do_connect", self._connect_engine)
        self._write_engine = self._engine.execution_options(sqlite_begin="IMMEDIATE")
        # On SQLite, every transaction sees one snapshot.
        snapshot_options = {} if self.is_sqlite else {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        self._read_engine = self._engine.execution_options(**snapshot_options)
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
        """Begin a transaction that can write. It is committed when the block ends, rolled back if it raises.

        SQLite has one writer at a time: writers of this process wait for a lock here, other processes in SQLite.
        """
        async with self._write_lock, self._write_engine.begin() as connection:
            yield connection

    async def write(self, write: Write[Result]) -> Result:
        """Run a short function that writes, commit, and return its result. If it raises, nothing is written.

        On SQLite, functions that wait at the same time run in a thread and are committed together (`GroupCommitter`),
        so a function must use nothing but its connection and its own data. If the caller is cancelled, the write may
        or may not have been committed.
        """
        if self.is_sqlite:
            if self._group_committer is None:
                self._group_committer = GroupCommitter(self._sync_write_engine(), self._write_lock)
            return await self._group_committer.run(write)
        async with self.transaction() as connection:
            return await connection.run_sync(write)

    def _sync_write_engine(self) -> Engine:
        """Return a synchronous engine for the same file: an asynchronous one switches threads for every statement."""
        engine = create_engine(self.url.set(drivername="sqlite"), hide_parameters=True, connect_args=_SQLITE_OPTIONS)
        _register_sqlite_events(engine)
        return engine.execution_options(sqlite_begin="IMMEDIATE")

    @asynccontextmanager
    async def read_transaction(self) -> AsyncIterator[AsyncConnection]:
        """Begin a read-only transaction that sees one snapshot of the data."""
        async with self._read_engine.begin() as connection:
            yield connection

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[AsyncConnection]:
        """Open a connection without a transaction, for migrations, which begin their own."""
        async with self._engine.connect() as connection:
            yield connection

    def current_time(self, offset: timedelta = timedelta(0)) -> ColumnElement[datetime]:
        """Return the current time plus an offset, as an SQL expression.

        On PostgreSQL it is the server's clock, so that several machines agree. All users of an SQLite file are on one
        machine, so its clock is used.
        """
        if self.is_sqlite:
            return literal(now() + offset, Timestamp)
        epoch_microseconds = cast(extract("epoch", func.statement_timestamp()) * 1_000_000, BigInteger)
        return type_coerce(epoch_microseconds + literal(offset // timedelta(microseconds=1), BigInteger), Timestamp)

    def sqlite_reader(self) -> sqlite3.Connection:
        """Return a read-only connection of the driver, for queries of microseconds on the event loop.

        In WAL mode, readers do not wait for writers, so a lookup by key takes less time than a switch to a thread.
        """
        if self._reader is None:
            self._reader = sqlite3.connect(str(self.url.database), isolation_level=None, check_same_thread=False)
            self._reader.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
            self._reader.execute("PRAGMA query_only = ON")
        return self._reader

    async def postgres_pool(self) -> "asyncpg.Pool":
        """Return a pool of the driver's own connections, without the overhead of the SQLAlchemy engine."""
        import asyncpg

        if self._pool is None:
            async with self._pool_lock:
                if self._pool is None:
                    self._pool = await asyncpg.create_pool(
                        min_size=1, max_size=MAX_POOL_CONNECTIONS, reset=_skip_reset, connect=self.connect
                    )
        return self._pool

    async def connect(self, *_: object, **__: object) -> "asyncpg.Connection":
        """Open a connection of the driver. Arguments, which pools pass, are ignored: the URL holds all options."""
        return await self._postgres_connector().connect()

    def _postgres_connector(self) -> "PostgresConnector":
        if self._connector is None:
            from fieldgate.db.postgres_connections import PostgresConnector

            self._connector = PostgresConnector(self._postgres_url, self._command_timeout)
        return self._connector

    def _connect_engine(self, dialect: Any, *_: object) -> Any:
        """Open a connection for the engine, which has a cache of prepared statements, too. A pooler forbids it."""
        connector = self._postgres_connector()
        while True:
            is_pooled = connector.is_pooled
            size = 0 if is_pooled else ENGINE_CACHED_STATEMENTS
            connection = dialect.dbapi.connect(async_creator_fn=self.connect, prepared_statement_cache_size=size)
            if connector.is_pooled is is_pooled:
                return connection
            connection.close()

    @property
    def is_pooled(self) -> bool:
        """Whether a connection pooler is between this process and PostgreSQL, so that sessions keep no state."""
        return not self.is_sqlite and self._connector is not None and self._connector.is_pooled

    @property
    def postgres_dsn(self) -> str:
        """The URL in the form that PostgreSQL's own tools use."""
        return self._postgres_url.to_text(hide_password=False)

    @property
    def address(self) -> str:
        """For messages: the path of an SQLite file, or the URL of a PostgreSQL database without its password."""
        if self.is_sqlite:
            return str(Path(str(self.url.database)).absolute())
        return self._postgres_url.to_text(hide_password=True, with_options=False)

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


def sqlite_file(database_url: str) -> Path | None:
    """The file of an SQLite database, None for PostgreSQL. `ValueError` if the URL is for neither."""
    url = _driver_url(database_url)
    return Path(str(url.database)) if url.get_backend_name() == "sqlite" else None


def _driver_url(database_url: str) -> URL:
    """The URL with the driver, for SQLAlchemy. `ValueError`, without the password, if it is for neither database."""
    scheme = database_url.partition("://")[0].partition("+")[0]
    if scheme in {"postgresql", "postgres"}:
        parts = PostgresURL.parse(database_url)
        hosts, ports = zip(*parts.hosts, strict=True) if parts.hosts else ((), ())
        places = {"host": ",".join(hosts), "port": ",".join(map(str, ports))} if hosts else {}
        return URL.create(
            "postgresql+asyncpg", parts.user or None, parts.password or None, database=parts.database,
            query={**parts.options, **places},
        )  # fmt: skip
    url = make_url(database_url)
    if url.get_backend_name() != "sqlite":
        raise ValueError(f"sqlite:///… or postgresql://… is needed, not {url.get_backend_name()!r}.")
    if not url.database:
        raise ValueError("the name of a database is missing at the end of the address.")
    return url.set(drivername="sqlite+aiosqlite")


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
    """Drop a connection that SQLite opened read-only, since it would stay so when the file becomes writable."""
    if getattr(context.original_exception, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_READONLY:
        context.is_disconnect = True


def _begin_sqlite(connection: Connection) -> None:
    mode = connection.get_execution_options().get("sqlite_begin", "DEFERRED")
    connection.exec_driver_sql(f"BEGIN {mode}")


async def _skip_reset(connection: "asyncpg.Connection") -> None:
    """Do nothing: single statements leave no state behind, and a reset would be a round trip."""
