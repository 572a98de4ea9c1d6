"""Opens databases for a copy. Statements may take any time, and nothing is kept between connections."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import NullPool, create_engine, event
from sqlalchemy.engine import Connection, Engine

from fieldgate.db.database import sqlite_file
from fieldgate.db.postgres_url import PostgresURL
from fieldgate.db.sqlite_engine import BUSY_TIMEOUT_MS, create_private_file

CONNECT_TIMEOUT = 5  # seconds, for each host of the URL


def open_engine(database_url: str) -> Engine:
    """Parameters of a failing statement are hidden: errors are shown, and they can be secret."""
    file = sqlite_file(database_url)
    if file is None:
        return _postgres_engine(PostgresURL.parse(database_url))
    return _sqlite_engine(file)


def _postgres_engine(url: PostgresURL) -> Engine:
    import psycopg  # not loaded between two SQLite files

    def connect() -> Any:
        # A connection pooler may be in front of the server, so no statement is prepared.
        return psycopg.connect(url.text, connect_timeout=CONNECT_TIMEOUT, prepare_threshold=None)

    return create_engine(
        "postgresql+psycopg://", creator=connect, poolclass=NullPool, hide_parameters=True
    )


def _sqlite_engine(file: Path) -> Engine:
    create_private_file(str(file))
    engine = create_engine(
        f"sqlite:///{file}",
        connect_args={"isolation_level": None, "timeout": BUSY_TIMEOUT_MS / 1000},
        poolclass=NullPool,
        hide_parameters=True,
    )

    @event.listens_for(engine, "connect")
    def set_up(connection: Any, _record: Any) -> None:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA foreign_keys = ON")

    return engine


@contextmanager
def begin_read(engine: Engine) -> Iterator[Connection]:
    """Begin a transaction that sees one state of the data."""
    with engine.connect() as connection:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("BEGIN")
        else:
            connection.execution_options(
                isolation_level="REPEATABLE READ", postgresql_readonly=True
            )
        yield connection


@contextmanager
def begin_write(engine: Engine) -> Iterator[Connection]:
    """Begin a transaction that is committed in the end, and rolled back after an error."""
    with engine.begin() as connection:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        yield connection
