"""Versions of data, which tell caches whether an entry is still valid.

Data belongs to a topic ("accounts", "events"), and each topic has a version number. A writer increments it in its own
transaction; a reader compares it before using a cached value:

    await data_versions.bump(connection, "events")  # or bump_sync(connection, "events") in a `Database.write`
    if await data_versions.version("events") != cached.version: ...

On SQLite, every process sees a commit at once. On PostgreSQL, the process that wrote does, and the others learn of it
by LISTEN, usually within milliseconds. A process that has not heard from PostgreSQL for `MAX_STALENESS` queries the
versions instead of using those it has. So does one behind a connection pooler, where LISTEN does not work.
"""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress

from sqlalchemy import bindparam, func, select
from sqlalchemy.engine import Connection
from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.db.database import Database
from fieldgate.db.tables import topic_versions
from fieldgate.db.upsert import upsert

CHANNEL = "fieldgate_changes"
IDENTITY_TOPIC = "identity"  # its version is a random number that identifies the database and never changes
MAX_STALENESS = 1.0  # seconds without news after which the versions are queried
HEARTBEAT_INTERVAL = 0.4  # seconds between two queries on the listener's connection
RETRY_DELAY = 0.5  # seconds before the listener connects again

_SELECT_VERSIONS = "SELECT topic, version FROM changes"
_NOTIFY = select(func.pg_notify(CHANNEL, bindparam("topic")))

log = logging.getLogger(__name__)


class DataVersions:
    def __init__(self, database: Database) -> None:
        self._database = database
        increment = {"version": topic_versions.c.version + 1}
        self._upsert = upsert(database.dialect, topic_versions, increment).returning(topic_versions.c.version)
        self._versions: dict[str, int] = {}
        self._sqlite_state: int | None = None
        self._last_heard = float("-inf")
        # Versions this process wrote, and the loop time until which they may not have been committed or received.
        self._expected_versions: dict[str, tuple[int, float]] = {}
        self._listener: asyncio.Task[None] | None = None

    async def bump(self, connection: AsyncConnection, *topics: str) -> None:
        """Increment the versions of topics in the writer's transaction."""
        await connection.run_sync(self.bump_sync, *topics)

    def bump_sync(self, connection: Connection, *topics: str) -> None:
        """The same for functions passed to `Database.write`."""
        for topic in sorted(topics):
            version = connection.execute(self._upsert, {"topic": topic, "version": 1}).scalar_one()
            if not self._database.is_sqlite:
                connection.execute(_NOTIFY, {"topic": topic})
                self._expected_versions[topic] = (version, asyncio.get_running_loop().time() + MAX_STALENESS)

    async def versions(self, topics: Sequence[str], *, fresh: bool = False) -> tuple[int, ...]:
        """Return the current versions of topics. On PostgreSQL they can be up to `MAX_STALENESS` seconds old.

        With `fresh` they are current on PostgreSQL, too, at the cost of a query. This is for data that a client writes
        through one process and reads through another.
        """
        if fresh and topics and not self._database.is_sqlite:
            pool = await self._database.postgres_pool()
            found = dict(await pool.fetch(_SELECT_VERSIONS))
            return tuple([found.get(topic, 0) for topic in topics])
        if topics:
            if self._database.is_sqlite:
                self._refresh_from_sqlite()
            elif self._is_stale(topics, asyncio.get_running_loop().time()):
                await self._refresh_from_postgres()
        return tuple([self._versions.get(topic, 0) for topic in topics])

    def _is_stale(self, topics: Sequence[str], loop_time: float) -> bool:
        """Whether the listener is silent, or this process wrote a version that it has not received yet."""
        if loop_time - self._last_heard > MAX_STALENESS:
            return True
        for topic in topics:
            version, until = self._expected_versions.get(topic, (0, 0.0))
            if self._versions.get(topic, 0) < version and loop_time < until:
                return True
        return False

    async def version(self, topic: str) -> int:
        return (await self.versions((topic,)))[0]

    def _refresh_from_sqlite(self) -> None:
        reader = self._database.sqlite_reader()
        state = reader.execute("PRAGMA data_version").fetchone()[0]
        if state != self._sqlite_state:
            self._versions = dict(reader.execute(_SELECT_VERSIONS).fetchall())
            self._sqlite_state = state

    async def _refresh_from_postgres(self) -> None:
        pool = await self._database.postgres_pool()
        self._versions = dict(await pool.fetch(_SELECT_VERSIONS))

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
            except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, TimeoutError) as error:
                self._last_heard = float("-inf")
                log.warning("lost the change listener, querying versions until it is back: %s", type(error).__name__)
                await asyncio.sleep(RETRY_DELAY)

    async def _listen(self) -> None:
        connection = await self._database.connect()
        notified = asyncio.Event()
        try:
            if self._database.is_pooled:
                # Its sessions keep no LISTEN: every reader queries the versions.
                log.info("connected through a connection pooler: data versions are queried for each request")
                connection.terminate()
                await asyncio.Event().wait()
            await connection.add_listener(CHANNEL, lambda *_: notified.set())
            while True:
                # The versions are queried at every notification and every heartbeat, so a notification that is
                # lost or out of order delays them by one heartbeat at most.
                notified.clear()
                queried_at = asyncio.get_running_loop().time()
                self._versions = dict(await connection.fetch(_SELECT_VERSIONS, timeout=MAX_STALENESS / 2))
                self._last_heard = queried_at
                with suppress(TimeoutError):
                    await asyncio.wait_for(notified.wait(), HEARTBEAT_INTERVAL)
        finally:
            connection.terminate()
