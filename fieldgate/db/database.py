"""A database: SQLite in a file, or PostgreSQL. There are three ways to run SQL.

    database = Database("sqlite:///data/fieldgate.db")
    form = database.read(lambda transaction: find_form(transaction, uid))
    database.write(lambda transaction: delete_form(transaction, uid))
    row = database.lookup(FIND_TOKEN, hash=digest)

They block the thread that calls them. A transaction waits for nothing but the database: no other server, no client.
"""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from sqlalchemy import URL, make_url
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import DBAPIError

from fieldgate.db.database_identity import DatabaseIdentity
from fieldgate.db.lookup import Lookup
from fieldgate.db.postgres_url import PostgresURL
from fieldgate.db.sqlite_engine import BUSY_TIMEOUT_MS, create_sqlite_engine, open_read_only
from fieldgate.db.sqlite_writer import SqliteWriter
from fieldgate.db.transactions import (
    ReadTransaction,
    WriteTransaction,
    for_reads,
    for_writes,
    run_in,
)

READ_THREADS = 8  # of a process, which share the interpreter: more would not answer more requests
STATEMENT_TIMEOUT = 30.0  # seconds for one statement of PostgreSQL
_WRITER_BUSY_TIMEOUT_MS = 5  # between two attempts to begin: see `SqliteWriter`
MAX_ATTEMPTS = 3  # of a write that PostgreSQL ends so that another one can go on
_WRITE_AGAIN = {"40001", "40P01"}  # serialization failure, deadlock

Result = TypeVar("Result")
Read = Callable[[ReadTransaction], Result]
Write = Callable[[WriteTransaction], Result]


class Interrupt:
    """Ends a read from another thread: nobody waits for its result any more."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._connection: Any = None  # of the driver
        self._is_set = False

    def set(self) -> None:
        with self._lock:
            self._is_set = True
            if self._connection is not None:
                self._connection.interrupt()

    @contextmanager
    def applies_to(self, connection: Connection) -> Iterator[None]:
        driver = connection.connection.driver_connection
        with self._lock:
            self._connection = driver
            if self._is_set:
                self._connection.interrupt()
        try:
            yield
        finally:
            with self._lock:
                self._connection = None


class Database:
    def __init__(
        self,
        database_url: str,
        *,
        is_pooled: bool = False,
        statement_timeout: float | None = STATEMENT_TIMEOUT,
        busy_timeout_ms: int = BUSY_TIMEOUT_MS,
    ) -> None:
        """`is_pooled`: a connection pooler is in front of PostgreSQL, so that sessions keep no state."""
        self._file = sqlite_file(database_url)
        self.is_sqlite = self._file is not None
        self.identity = DatabaseIdentity(None if self._file is None else str(self._file))
        self._busy_timeout_ms = busy_timeout_ms
        self._writer: SqliteWriter | None = None
        self._reader: sqlite3.Connection | None = None
        if self._file is not None:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self.address = str(self._file.absolute())
            readers = create_sqlite_engine(
                self._file,
                self.identity,
                connections=READ_THREADS,
                busy_timeout_ms=busy_timeout_ms,
                is_read_only=True,
            )
            writer = create_sqlite_engine(
                self._file,
                self.identity,
                connections=1,
                busy_timeout_ms=_WRITER_BUSY_TIMEOUT_MS,
                is_read_only=False,
            )
            self._reads = for_reads(readers)
            self._writes = for_writes(writer)
        else:
            from fieldgate.db.postgres_engine import create_postgres_engine  # not with SQLite

            url = PostgresURL.parse(database_url)
            self.address = url.address
            engine = create_postgres_engine(
                url,
                self.identity,
                is_pooled=is_pooled,
                connections=READ_THREADS,
                statement_timeout=statement_timeout,
            )
            self._reads = for_reads(engine)
            self._writes = for_writes(engine)

    def read(self, function: Read[Result], interrupt: Interrupt | None = None) -> Result:
        """Run a function in one snapshot of the data, and return its result."""
        with _begin(self._reads) as connection:
            transaction = ReadTransaction(connection)
            if interrupt is None:
                return run_in(transaction, function)
            with interrupt.applies_to(connection):
                return run_in(transaction, function)

    def write(self, function: Write[Result], *, is_alone: bool = False) -> Result:
        """Run a function, commit what it wrote, and return its result. If it raises, nothing is written.

        It may run more than once, so it has no other effect than on its transaction. On SQLite it may share its commit
        with others that wait at the same time; one that takes long asks to be alone.
        """
        if self.is_sqlite:
            return self.sqlite_writer.submit(function, is_alone=is_alone).result()
        for attempt in count(1):
            try:
                with _begin(self._writes) as connection:
                    transaction = WriteTransaction(connection)
                    result = run_in(transaction, function)
                    transaction.finish()
                return result
            except DBAPIError as error:
                state = getattr(error.orig, "sqlstate", None)
                if state not in _WRITE_AGAIN or attempt == MAX_ATTEMPTS:
                    raise
        raise AssertionError

    def lookup(self, query: Lookup, **values: object) -> Sequence[Any] | None:
        """Return the first row of a lookup, or None.

        On SQLite it takes microseconds and may run on the event loop, but only there: its connection belongs to one
        thread. Readers do not wait for writers.
        """
        statement = query.compiled(self._reads.dialect)
        arguments = statement.arguments(values)
        if self.is_sqlite:
            row: Sequence[Any] | None = self.lookup_connection.execute(
                statement.sql, arguments
            ).fetchone()
            return row
        return self._look_up_on_postgres(statement.sql, arguments)

    def _look_up_on_postgres(self, sql: str, arguments: Any) -> Sequence[Any] | None:
        """A single statement needs no transaction. It is sent again if its connection broke while it was idle."""
        import psycopg

        for attempt in count(1):
            connection: Any = self._reads.raw_connection()
            try:
                row: Sequence[Any] | None = connection.driver_connection.execute(
                    sql, arguments
                ).fetchone()
                return row
            except psycopg.OperationalError:
                is_broken = connection.driver_connection.closed
                if is_broken:
                    connection.invalidate()
                if not is_broken or attempt == 2:
                    raise
            finally:
                connection.close()
        raise AssertionError

    @property
    def sqlite_writer(self) -> SqliteWriter:
        if self._writer is None:
            seconds = self._busy_timeout_ms / 1000
            self._writer = SqliteWriter(self._writes, Path(self.address), self.identity, seconds)
        return self._writer

    @property
    def lookup_connection(self) -> sqlite3.Connection:
        if self._reader is not None and self.identity.is_lost:
            self._close_reader()
        if self._reader is None:
            self._reader, self.identity.held = open_read_only(
                Path(self.address), self.identity, self._busy_timeout_ms
            )
        return self._reader

    def drop_connections(self) -> None:
        """Close connections, those in use when they are given back. For the thread that makes lookups."""
        self._close_reader()
        self._reads.dispose()
        self._writes.dispose()

    def _close_reader(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None
            self.identity.held = None

    def close(self) -> None:
        """Finish the writes that wait, and close all connections."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        self.drop_connections()


@contextmanager
def _begin(engine: Engine) -> Iterator[Connection]:
    """Begin a transaction. A connection that broke while it was idle is replaced once: nothing has been sent yet."""
    connection = engine.connect()
    try:
        try:
            transaction = connection.begin()
        except DBAPIError as error:
            connection.close()
            if not error.connection_invalidated:
                raise
            connection = engine.connect()
            transaction = connection.begin()
        with transaction:
            yield connection
    finally:
        connection.close()


def sqlite_file(database_url: str) -> Path | None:
    """The file of an SQLite database, None for PostgreSQL. `ValueError` if the URL is for neither."""
    url = check_url(database_url)
    return None if url is None else Path(str(url.database))


def check_url(database_url: str) -> URL | None:
    """The URL of an SQLite file, None for PostgreSQL. `ValueError`, without the password, if it is for neither."""
    scheme = database_url.partition("://")[0].partition("+")[0]
    if scheme in {"postgresql", "postgres"}:
        PostgresURL.parse(database_url)
        return None
    if "://" not in database_url:
        raise ValueError("sqlite:///… or postgresql://… is needed.")
    if scheme != "sqlite":  # first: an error of make_url can have a part of the password
        raise ValueError(f"sqlite:///… or postgresql://… is needed, not {scheme!r}.")
    url = make_url(database_url)
    if not url.database:
        raise ValueError("the name of a database is missing at the end of the address.")
    return url
