"""The database of a test by plain SQL, synchronous, beside the service: what HTTP cannot make or does not show.

with write_sql(service, "accounts") as connection:  # the topics whose data changes: the service caches it
    connection.execute(users.update().where(users.c.id == user_id).values(disabled_at=now()))
names = [row.username for row in all_rows(service, select(users))]

The database is given as its URL or as the `Service` that uses it. A transaction blocks the event loop: do not await a
write of the service inside of one on SQLite, which has one writer.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Protocol

from sqlalchemy import Engine, Executable, NullPool, create_engine, event, func, make_url
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection, Row

from fieldgate.db.json_text import decode_json, encode_json
from fieldgate.db.tables import Timestamp, now, topic_versions


class UsesDatabase(Protocol):
    """A running service, see `Service` in `tests/conftest.py`."""

    @property
    def database_url(self) -> str: ...


@contextmanager
def write_sql(database: str | UsesDatabase, *topics: str) -> Iterator[Connection]:
    """Begin a transaction that writes, and commit it. Services notice that the data of topics changed."""
    with _engine(url_of(database)).begin() as connection:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        yield connection
        for topic in sorted(topics):
            raise_version(connection, topic)


@contextmanager
def read_sql(database: str | UsesDatabase) -> Iterator[Connection]:
    """Begin a transaction that only reads. On SQLite it sees one state of the data."""
    with _engine(url_of(database)).connect() as connection:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("BEGIN")
        yield connection


def all_rows(database: str | UsesDatabase, query: Executable) -> Sequence[Row[Any]]:
    with read_sql(database) as connection:
        return connection.execute(query).all()


def first_row(database: str | UsesDatabase, query: Executable) -> Row[Any] | None:
    with read_sql(database) as connection:
        return connection.execute(query).first()


def first_value(database: str | UsesDatabase, query: Executable) -> Any:
    """Return the first value of the first row, or None if there is no row."""
    row = first_row(database, query)
    return None if row is None else row[0]


def raise_version(connection: Connection, topic: str) -> int:
    """Say that data of a topic changed, as each write of a service does. Return the new version of the topic."""
    is_sqlite = connection.dialect.name == "sqlite"
    larger = func.max if is_sqlite else func.greatest
    insert: Any = sqlite.insert if is_sqlite else postgresql.insert
    statement = insert(topic_versions).values(topic=topic, version=Timestamp.pack(now()))
    version = larger(topic_versions.c.version + 1, statement.excluded.version)
    statement = statement.on_conflict_do_update(
        index_elements=[topic_versions.c.topic], set_={"version": version}
    )
    raised = connection.execute(statement.returning(topic_versions.c.version)).scalar_one()
    return int(raised)


def url_of(database: str | UsesDatabase) -> str:
    return database if isinstance(database, str) else database.database_url


@lru_cache(maxsize=32)
def _engine(database_url: str) -> Engine:
    """An engine that keeps no connection open. It keeps compiled statements."""
    url = make_url(database_url)
    is_sqlite = url.get_backend_name() == "sqlite"
    driver = "sqlite" if is_sqlite else "postgresql+psycopg"
    engine = create_engine(
        url.set(drivername=driver),
        poolclass=NullPool,
        json_serializer=encode_json,
        json_deserializer=decode_json,
        connect_args={"isolation_level": None, "timeout": 30} if is_sqlite else {},
    )
    if is_sqlite:
        event.listen(engine, "connect", _set_up_sqlite)
    return engine


def _set_up_sqlite(connection: Any, _record: object) -> None:
    """Without a flush to the disk, which no test needs."""
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = OFF")
