"""Opens SQLite files: the engine of SQLAlchemy, and the settings of each connection.

A database that is deleted or replaced while it is in use stays readable for those who have it open, and everything that
they write is lost. So each connection notes which files it opened (`DatabaseIdentity`).
"""

import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine, event
from sqlalchemy.engine import Engine
from sqlalchemy.engine.interfaces import Dialect, ExceptionContext

from fieldgate.db.database_identity import (
    SELECT_IDENTITY,
    DatabaseIdentity,
    OpenFiles,
    read_write_uri,
)
from fieldgate.db.json_text import JSON_OPTIONS
from fieldgate.db.transactions import begin_transactions

BUSY_TIMEOUT_MS = 10_000  # how long an SQLite writer waits for another one
PRAGMAS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
)


def create_sqlite_engine(
    file: Path,
    identity: DatabaseIdentity,
    *,
    connections: int,
    busy_timeout_ms: int,
    is_read_only: bool,
) -> Engine:
    """Parameters of a failing statement are hidden: errors are logged, and they can be secret."""
    engine = create_engine(
        f"sqlite:///{file}",
        hide_parameters=True,
        connect_args={"isolation_level": None, "timeout": busy_timeout_ms / 1000},
        pool_size=connections,
        max_overflow=0,
        pool_use_lifo=True,
        **JSON_OPTIONS,
    )
    register_sqlite_events(engine, identity)
    if is_read_only:
        event.listen(engine, "connect", _refuse_writes)
    begin_transactions(engine)
    return engine


def register_sqlite_events(
    engine: Engine,
    identity: DatabaseIdentity,
    on_open: Callable[[Any], None] = lambda _connection: None,
) -> None:
    """`on_open` is called with each new connection."""

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
            for pragma in PRAGMAS:
                cursor.execute(pragma)
            record.info[OpenFiles] = identity.opened(select_identity(cursor))
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
    event.listen(engine, "handle_error", _disconnect_if_read_only)


def _refuse_writes(connection: Any, _record: Any) -> None:
    connection.execute("PRAGMA query_only = ON")


def open_read_only(
    file: Path, identity: DatabaseIdentity, busy_timeout_ms: int
) -> tuple[sqlite3.Connection, OpenFiles]:
    """Open a connection of the driver that can only read. `DatabaseGone` if the database is not the one it was."""
    identity.check_files()
    if not identity.must_exist:
        create_private_file(str(file))
    connection = sqlite3.connect(
        read_write_uri(file) if identity.must_exist else file,
        uri=identity.must_exist,
        check_same_thread=False,
        isolation_level=None,
        timeout=busy_timeout_ms / 1000,
    )
    try:
        connection.execute("PRAGMA query_only = ON")
        return connection, identity.opened(select_identity(connection.cursor()))
    except BaseException:
        connection.close()
        raise


def create_private_file(path: str) -> None:
    """Create the file of a new SQLite database, which no other user of the machine can read. SQLite gives its other
    files the same permissions. An existing file stays as it is, and SQLite reports what cannot be created."""
    if path != ":memory:":
        with suppress(OSError):
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def select_identity(cursor: Any) -> int | None:
    """The identity of a database, None if it has no tables yet."""
    try:
        cursor.execute(SELECT_IDENTITY)
        row = cursor.fetchone()
    except sqlite3.OperationalError as error:
        if "no such table" not in str(error):
            raise
        return None
    return None if row is None else int(row[0])


def _disconnect_if_read_only(context: ExceptionContext) -> None:
    """Drop a connection that SQLite opened read-only, since it would stay so when the file becomes writable."""
    if getattr(context.original_exception, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_READONLY:
        context.is_disconnect = True
