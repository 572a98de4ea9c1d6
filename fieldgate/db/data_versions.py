"""Versions of data, which tell caches whether an entry is still valid.

Data belongs to a topic ("accounts", "events"), and each topic has a version number. A writer raises it in its own
transaction; a reader compares it before using a cached value:

    await data_versions.bump(connection, "events")  # or bump_sync(connection, "events") in an `AsyncDatabase.write`
    if await data_versions.version("events") != cached.version: ...

A new version is the time in microseconds, or one more than the version before if that is higher. So versions are in
the order of commits, and none is used twice for different data, also after a backup was restored, unless the clock was
set back as well.

Some data ends at a time that was written before (`ends`). Nobody writes then: once it passed, that time is a version.

On SQLite, every process sees a commit at once. On PostgreSQL, the process that wrote does, and the others learn of it
by LISTEN, usually within milliseconds. A process that has not heard from PostgreSQL for `MAX_STALENESS` queries the
versions instead of using those it has. So does one behind a connection pooler, where LISTEN does not work.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from time import monotonic
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
from fieldgate.db.outages import DatabaseGone, is_unavailable
from fieldgate.db.prepared import PreparedQuery
from fieldgate.db.tables import ClockTime, Timestamp, now, topic_versions
from fieldgate.db.upsert import upsert

CHANNEL = "fieldgate_changes"
IDENTITY_TOPIC = (
    "identity"  # its version is a random number that identifies the database and never changes
)
MAX_STALENESS = 1.0  # seconds without news after which the versions are queried
HEARTBEAT_INTERVAL = 0.4  # seconds between two queries on the listener's connection
RETRY_DELAY = 0.5  # seconds before the listener connects again

_NOTIFY = select(func.pg_notify(CHANNEL, bindparam("topic")))

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
        # Changes when the database went back to an earlier state: then a cache of a higher version is not valid either.
        self.generation = 0
        self._sqlite_state: object = None
        self._sqlite_reader: sqlite3.Connection | None = None
        self._last_heard = float("-inf")
        # Versions this process wrote, and the loop time until which they may not have been committed or received.
        self._expected_versions: dict[str, tuple[int, float]] = {}
        self._listener: asyncio.Task[None] | None = None

    async def bump(self, connection: AsyncConnection, *topics: str) -> None:
        """Raise the versions of topics in the writer's transaction."""
        await connection.run_sync(self.bump_sync, *topics)

    def bump_sync(self, connection: Connection, *topics: str) -> None:
        """The same for functions passed to `AsyncDatabase.write`."""
        for topic in sorted(topics):
            if self._database.is_sqlite:
                self._bump_prepared.execute(connection, topic=topic, version=Timestamp.pack(now()))
                continue
            version = connection.execute(self._upsert, {"topic": topic}).scalar_one()
            connection.execute(_NOTIFY, {"topic": topic})
            self._expected_versions[topic] = (
                version,
                monotonic() + MAX_STALENESS,
            )

    async def versions(self, topics: Sequence[str], *, fresh: bool = False) -> tuple[int, ...]:
        """Return the current versions of topics. On PostgreSQL they can be up to `MAX_STALENESS` seconds old.

        With `fresh` they are current on PostgreSQL, too, at the cost of a query. This is for data that a client writes
        through one process and reads through another.
        """
        if fresh and topics and not self._database.is_sqlite:
            found = await self._query_postgres()
            return tuple([found.get(topic, 0) for topic in topics])
        if topics:
            if self._database.is_sqlite:
                self._refresh_from_sqlite()
            elif self._is_stale(topics, monotonic()):
                await self._refresh_from_postgres()
        return tuple([self._versions.get(topic, 0) for topic in topics])

    def _is_stale(self, topics: Sequence[str], time_now: float) -> bool:
        """Whether the listener is silent, or this process wrote a version that it has not received yet."""
        if time_now - self._last_heard > MAX_STALENESS:
            return True
        for topic in topics:
            version, until = self._expected_versions.get(topic, (0, 0.0))
            if self._versions.get(topic, 0) < version and time_now < until:
                return True
        return False

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

    async def _refresh_from_postgres(self) -> None:
        before = self._versions
        self._receive(await self._query_postgres(), before)

    async def _query_postgres(self) -> dict[str, int]:
        async with self._database.pooled_connection() as connection:
            return dict(await connection.fetch(self._select_versions))

    def _receive(self, found: dict[str, int], before: dict[str, int]) -> None:
        """Use versions that were queried; `before` are those that were known when the query was sent.

        A version that is lower than before means that the database went back to an earlier state, as after a failover
        to a replica that lagged behind, or when a backup was restored: what caches hold may never have existed.
        """
        self._database.identity.check(found.get(IDENTITY_TOPIC))
        if any(found.get(topic, 0) < version for topic, version in before.items()):
            log.warning(
                "the database went back to an earlier state, as from a backup; caches are built again"
            )
            self.generation += 1
            self._expected_versions.clear()
        self._versions = found

    async def start(self) -> None:
        """Start the listener. SQLite needs none."""
        if not self._database.is_sqlite:
            self._listener = asyncio.create_task(self._listen_forever())

    async def stop(self) -> None:
        if self._listener is not None:
            # Before Python 3.12, `wait_for` can swallow a cancellation that arrives together with its result.
            while not self._listener.done():
                self._listener.cancel()
                await asyncio.wait([self._listener], timeout=HEARTBEAT_INTERVAL)
            self._listener = None
            self._last_heard = float("-inf")

    async def _listen_forever(self) -> None:
        import asyncpg  # not at the top: not loaded when SQLite is used

        while True:
            try:
                await self._listen()
            except (
                OSError,
                asyncpg.PostgresError,
                asyncpg.InterfaceError,
                asyncpg.InternalClientError,
                DatabaseGone,
            ) as error:
                if self._last_heard > float("-inf"):  # logged once
                    level = (
                        logging.DEBUG if is_unavailable(error) else logging.WARNING
                    )  # an outage has its own line
                    text = "lost the change listener, querying versions until it is back: %s"
                    log.log(level, text, type(error).__name__)
                self._last_heard = float("-inf")
                await asyncio.sleep(RETRY_DELAY)

    async def _listen(self) -> None:
        connection = await self._database.connect()
        notified = asyncio.Event()
        try:
            if self._database.is_pooled:
                # Its sessions keep no LISTEN: every reader queries the versions.
                log.info(
                    "connected through a connection pooler: data versions are queried for each request"
                )
                connection.terminate()
                await asyncio.Event().wait()
            await connection.add_listener(CHANNEL, lambda *_: notified.set())
            while True:
                # The versions are queried at every notification and every heartbeat, so a notification that is
                # lost or out of order delays them by one heartbeat at most.
                notified.clear()
                queried_at = monotonic()
                before = self._versions
                self._receive(
                    dict(await connection.fetch(self._select_versions, timeout=MAX_STALENESS / 2)),
                    before,
                )
                self._last_heard = queried_at
                with suppress(TimeoutError):
                    async with asyncio.timeout(
                        HEARTBEAT_INTERVAL
                    ):  # not wait_for: it can lose a cancellation
                        await notified.wait()
        finally:
            connection.terminate()


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
