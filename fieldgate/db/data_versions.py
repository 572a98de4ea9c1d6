"""Who tells caches that data changed.

Data belongs to a topic ("accounts", "events"). A writer calls `bump` in its own transaction; a reader asks
`version` before it uses what it has kept:

    await changes.bump(connection, "events")  # or changes.bump_in(connection, "events") in a `Database.write`
    if await changes.version("events") != kept.version: ...

SQLite: every process sees a commit before its next answer. PostgreSQL: the process that wrote as well, the others
by LISTEN, usually within milliseconds; whoever has not heard from the database for `BOUND` asks it instead of trusting
its memory.
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
IDENTITY_TOPIC = "identity"  # a topic whose version is the database's own, and never changes
MAX_STALENESS = 1.0  # seconds after which silence counts as a lost listener
HEARTBEAT_INTERVAL = 0.4  # seconds between two questions to the database on the listener's connection
RETRY_DELAY = 0.5  # seconds before a lost listener is set up again

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
        self._expected_versions: dict[
            str, tuple[int, float]
        ] = {}  # versions this process made, and for how long to expect them
        self._listener: asyncio.Task[None] | None = None

    async def bump(self, connection: AsyncConnection, *topics: str) -> None:
        """Say, as part of the writer's transaction, that data of these topics changes with it."""
        await connection.run_sync(self.bump_sync, *topics)

    def bump_sync(self, connection: Connection, *topics: str) -> None:
        """The same in a function that `Database.write` runs."""
        for topic in sorted(topics):
            version = connection.execute(self._upsert, {"topic": topic, "version": 1}).scalar_one()
            if not self._database.is_sqlite:
                connection.execute(_NOTIFY, {"topic": topic})
                self._expected_versions[topic] = (version, asyncio.get_running_loop().time() + MAX_STALENESS)

    async def versions(self, topics: Sequence[str], *, fresh: bool = False) -> tuple[int, ...]:
        """The topics' versions as of now (SQLite) or of at most `BOUND` seconds ago (PostgreSQL).

        With `asks` they are of now on PostgreSQL as well, for the price of a question: for what somebody writes
        through one process and looks for through another.
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
        """Whether nobody was heard, or we have not heard of what this very process wrote."""
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
        """Begin to listen; only PostgreSQL needs it."""
        if not self._database.is_sqlite:
            self._listener = asyncio.create_task(self._listen_forever())

    async def stop(self) -> None:
        if self._listener is not None:
            # Before Python 3.12 `wait_for` can swallow a cancellation that comes together with what it waits for.
            while not self._listener.done():
                self._listener.cancel()
                await asyncio.wait([self._listener], timeout=HEARTBEAT_INTERVAL)
            self._listener = None
            self._last_heard = float("-inf")

    async def _listen_forever(self) -> None:
        import asyncpg  # here: who has SQLite never loads it

        while True:
            try:
                await self._listen()
            except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, TimeoutError) as error:
                self._last_heard = float("-inf")
                log.warning("change listener lost, asking until it is back: %s", type(error).__name__)
                await asyncio.sleep(RETRY_DELAY)

    async def _listen(self) -> None:
        connection = await self._database.connect()
        news = asyncio.Event()
        try:
            await connection.add_listener(CHANNEL, lambda *_: news.set())
            while True:
                # The versions are read anew at every notice and at every heartbeat, so that a notice that
                # was lost, or came out of order, costs a heartbeat at most.
                news.clear()
                asked = asyncio.get_running_loop().time()
                self._versions = dict(await connection.fetch(_SELECT_VERSIONS, timeout=MAX_STALENESS / 2))
                self._last_heard = asked
                with suppress(TimeoutError):
                    await asyncio.wait_for(news.wait(), HEARTBEAT_INTERVAL)
        finally:
            connection.terminate()
