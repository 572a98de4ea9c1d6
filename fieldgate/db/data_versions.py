"""Versions of data, which tell caches whether an entry is still valid.

Data belongs to a topic ("accounts", "events"), and each topic has a version number. A writer raises it in its own
transaction; a reader compares it before using a cached value:

    await data_versions.bump(connection, "events")  # or bump_sync(connection, "events") in an `AsyncDatabase.write`
    if await data_versions.version("events") != cached.version: ...

A new version is the time in microseconds, or one more than the version before if that is higher. So versions are in
the order of commits, and none is used twice for different data, also after a backup was restored, unless the clock was
set back as well.

Some data ends at a time that was written before (`ends`). Nobody writes then: once it passed, that time is a version.

On SQLite, every process sees a commit at once. PostgreSQL is asked each time.
"""

import logging
import sqlite3
from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Select,
    bindparam,
    case,
    cast,
    extract,
    func,
    literal_column,
    select,
)
from sqlalchemy.engine import Connection
from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.db.async_database import AsyncDatabase
from fieldgate.db.prepared import PreparedQuery
from fieldgate.db.tables import ClockTime, Timestamp, now, topic_versions
from fieldgate.db.upsert import upsert

IDENTITY_TOPIC = (
    "identity"  # its version is a random number that identifies the database and never changes
)
log = logging.getLogger(__name__)


class DataVersions:
    def __init__(
        self, database: AsyncDatabase, ends: tuple[str, Column[Any]] | None = None
    ) -> None:
        """`ends` are a topic and the column of the times at which some of its data ends."""
        self._database = database
        stored, self._select_next_end = (
            select(topic_versions.c.topic, topic_versions.c.version),
            "SELECT NULL",
        )
        if ends is not None:
            topic, times = ends
            is_timed = topic_versions.c.topic == topic
            version = case(
                (is_timed, timed_version(database, topic, times)), else_=topic_versions.c.version
            )
            stored = select(topic_versions.c.topic, version)
            next_end = select(func.min(times)).where(times > ClockTime())
            self._select_next_end = _literal_sql(database, next_end)
        self._select_versions = _literal_sql(database, stored)
        self._next_end: int | None = None  # in microseconds; SQLite only
        self._upsert = _bump_statement(database)
        self._bump_prepared = PreparedQuery(database, self._upsert)
        self._versions: dict[str, int] = {}
        self._sqlite_state: object = None
        self._sqlite_reader: sqlite3.Connection | None = None

    async def bump(self, connection: AsyncConnection, *topics: str) -> None:
        """Raise the versions of topics in the writer's transaction."""
        await connection.run_sync(self.bump_sync, *topics)

    def bump_sync(self, connection: Connection, *topics: str) -> None:
        """The same for functions passed to `AsyncDatabase.write`."""
        for topic in sorted(topics):
            if self._database.is_sqlite:
                self._bump_prepared.execute(connection, topic=topic, version=Timestamp.pack(now()))
                continue
            connection.execute(self._upsert, {"topic": topic})

    async def versions(self, topics: Sequence[str]) -> tuple[int, ...]:
        """Return the current versions of topics."""
        if not topics:
            return ()
        if self._database.is_sqlite:
            self._refresh_from_sqlite()
            versions = self._versions
        else:
            versions = await self._query_postgres()
        return tuple([versions.get(topic, 0) for topic in topics])

    async def version(self, topic: str) -> int:
        return (await self.versions((topic,)))[0]

    def _refresh_from_sqlite(self) -> None:
        reader = self._database.sqlite_reader()
        state = self._database.commit_state()
        is_same = state == self._sqlite_state and reader is self._sqlite_reader
        if not is_same or (self._next_end is not None and Timestamp.pack(now()) >= self._next_end):
            # The next end first: if it passes before the versions are read, they are read once more.
            [(self._next_end,)] = reader.execute(self._select_next_end).fetchall()
            self._receive(dict(reader.execute(self._select_versions).fetchall()), self._versions)
            self._sqlite_state, self._sqlite_reader = state, reader

    async def _query_postgres(self) -> dict[str, int]:
        """Return the versions of all topics.

        A query that was sent earlier can end later, so `_versions` may be older than what this one returns.
        """
        before = self._versions
        async with self._database.pooled_connection() as connection:
            versions = dict(await connection.fetch(self._select_versions))
        self._receive(versions, before)
        return versions

    def _receive(self, found: dict[str, int], before: dict[str, int]) -> None:
        """Use versions that were queried; `before` are those that were known when the query was sent.

        A version that is lower than before means that the database went back to an earlier state, as after a failover
        to a replica that lagged behind, or when a backup was restored. The versions that are lost are not used again.
        """
        self._database.identity.check(found.get(IDENTITY_TOPIC))
        if any(found.get(topic, 0) < version for topic, version in before.items()):
            log.warning("the database went back to an earlier state, as from a backup")
        self._versions = found


def _bump_statement(database: AsyncDatabase) -> Any:
    """Sets the version of a topic to the time in microseconds, on PostgreSQL by the clock of the server."""
    larger = func.max if database.is_sqlite else func.greatest
    version: Any = larger(topic_versions.c.version + 1, literal_column("excluded.version"))
    statement = upsert(database.dialect, topic_versions, {"version": version})
    if not database.is_sqlite:
        time = cast(extract("epoch", func.clock_timestamp()) * 1_000_000, BigInteger)
        statement = statement.values(topic=bindparam("topic"), version=time)
    return statement.returning(topic_versions.c.version)


def timed_version(database: AsyncDatabase, topic: str, ends: Column[Any]) -> ColumnElement[Any]:
    """The version of a topic, or the last of these times that has passed, whichever is later."""
    version = (
        select(topic_versions.c.version)
        .where(topic_versions.c.topic == topic)
        .correlate(None)
        .scalar_subquery()
    )
    passed = select(func.max(ends)).where(ends <= ClockTime()).scalar_subquery()
    if database.is_sqlite:
        return func.max(func.coalesce(version, 0), func.coalesce(passed, 0))
    return func.greatest(version, passed)


def _literal_sql(database: AsyncDatabase, statement: Select[Any]) -> str:
    return str(statement.compile(dialect=database.dialect, compile_kwargs={"literal_binds": True}))
