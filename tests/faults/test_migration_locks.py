"""A migration does not block those who read and write, even if it has to wait for somebody."""

import asyncio
import time
from collections.abc import Iterator

import asyncpg
import pytest
from alembic import command

from fieldgate.db import Database, migrations
from fieldgate.db.migrations import revisions
from fieldgate.db.schema import REQUIRED_REVISION, current_revision, downgrade, upgrade
from tests.databases import postgres_database
from tests.faults.postgres_cluster import PostgresCluster
from tests.faults.trial_report import TrialReport, TrialResult
from tests.processes import TIMEOUT_SECONDS

EVENTS = 1_000_000
FILL = f"""
INSERT INTO events (id, version, visibility, start, created, updated, facets, is_demo, packed)
    SELECT n, 1, 3, n, n, n, 'v3 s0 c123', false, '\\x80' FROM generate_series(1, {EVENTS}) AS n;
INSERT INTO event_documents (id, version, document) SELECT n, 1, '\\x7b7d' FROM generate_series(1, {EVENTS}) AS n;
INSERT INTO event_words (id, version, names, glide, appeal_codes)
    SELECT n, 1, 'flood', '', ',' FROM generate_series(1, {EVENTS}) AS n;
"""
MAX_WAIT_SECONDS = 5  # more than a busy machine needs, less than a lock for as long as a million rows are written
READ = "SELECT document FROM event_documents JOIN events USING (id) WHERE id = $1"
WRITE = "UPDATE events SET updated = updated + 1 WHERE id = $1"
WAITING = "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'assets'::regclass"


async def test_waiting_migration_lets_others_pass(postgres: str) -> None:
    """A long read holds a table; the migration waits for it, and a third one that comes later does not."""
    async with postgres_database(postgres, is_empty=False) as url:
        database = Database(url)
        await downgrade(database, "0014")  # the next revision alters the table `assets`
        long_reader, short_reader = await asyncpg.connect(url), await asyncpg.connect(url)
        await long_reader.execute("BEGIN")
        await long_reader.fetch("SELECT count(*) FROM assets")
        migration = asyncio.create_task(upgrade(database))
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while not await short_reader.fetch(WAITING):
                await asyncio.sleep(0.01)
            assert await short_reader.fetchval("SELECT count(*) FROM assets") == 0, "while both others are there"
            assert not migration.done()
            await long_reader.execute("COMMIT")
            await migration
        assert await current_revision(database) == REQUIRED_REVISION
        for connection in (long_reader, short_reader):
            await connection.close()
        await database.close()


@pytest.fixture
def cluster() -> Iterator[PostgresCluster]:
    with PostgresCluster(is_durable=False) as cluster:
        yield cluster


class Probe:
    """Executes a statement in a loop on its own connection, and remembers the longest time it took."""

    def __init__(self, url: str, statement: str) -> None:
        self._url = url
        self._statement = statement
        self.longest = 0.0
        self.count = 0

    async def run(self) -> None:
        connection = await asyncpg.connect(self._url)
        try:
            while True:
                began = time.perf_counter()
                await connection.fetch(self._statement, 1 + self.count % EVENTS)
                self.longest = max(self.longest, time.perf_counter() - began)
                self.count += 1
        finally:
            connection.terminate()


@pytest.mark.nightly
async def test_migrations_of_a_million_events(cluster: PostgresCluster, trial_report: TrialReport) -> None:
    """Measures how long reads and writes wait while all revisions run, and an index on events is built."""
    url = cluster.primary.create_database("app")
    database = Database(url, command_timeout=None)
    for revision in [each for each in revisions() if each <= "0005"]:
        await migrations._run(database, command.upgrade, revision)
    cluster.primary.query(FILL, "app")
    reader, writer = Probe(url, READ), Probe(url, WRITE)
    tasks = [asyncio.create_task(probe.run()) for probe in (reader, writer)]
    while not (reader.count and writer.count):
        await asyncio.sleep(0.01)
    reader.longest = writer.longest = 0.0
    for revision in [each for each in revisions() if each > "0005"]:
        await migrations._run(database, command.upgrade, revision)
    connection = await asyncpg.connect(url)
    await connection.execute("CREATE INDEX CONCURRENTLY ix_try ON events (start)", timeout=None)
    await connection.close()
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    assert all(task.cancelled() for task in tasks), "they read and wrote until the end"
    assert await current_revision(database) == REQUIRED_REVISION
    await database.close()
    trial_report.add(
        TrialResult(
            trial="all migrations with 1,000,000 events",
            database="PostgreSQL",
            statuses={"reads": reader.count, "writes": writer.count},
            remark=f"longest read {reader.longest:.2f} s, longest write {writer.longest:.2f} s",
        )
    )
    assert max(reader.longest, writer.longest) < MAX_WAIT_SECONDS, "no revision locks the events while it runs"
