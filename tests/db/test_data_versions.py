"""Data versions: between processes on SQLite, by LISTEN on PostgreSQL."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest
from sqlalchemy import Connection

from fieldgate.db import Database, DataVersions
from fieldgate.db.data_versions import MAX_STALENESS


@pytest.fixture
async def data_versions(database: Database) -> AsyncIterator[DataVersions]:
    data_versions = DataVersions(database)
    await data_versions.start()
    yield data_versions
    await data_versions.stop()


async def bump(database: Database, *topics: str) -> None:
    """Write as another process would."""
    async with database.transaction() as connection:
        await DataVersions(database).bump(connection, *topics)


async def wait_for_version(data_versions: DataVersions, topic: str, version: int) -> None:
    """Wait until a version is seen, at most `MAX_STALENESS` seconds."""
    clock = asyncio.get_running_loop().time
    started = clock()
    while await data_versions.version(topic) != version:
        assert clock() - started < MAX_STALENESS, "a change must be seen within MAX_STALENESS"
        await asyncio.sleep(0)


async def test_versions_are_counted_per_topic(database: Database, data_versions: DataVersions) -> None:
    assert await data_versions.version("events") == 0
    await bump(database, "events")
    await bump(database, "events", "accounts")
    await wait_for_version(data_versions, "events", 2)
    await wait_for_version(data_versions, "accounts", 1)
    assert await data_versions.version("other") == 0


async def test_fresh_versions_include_every_commit(database: Database, data_versions: DataVersions) -> None:
    for number in range(1, 10):
        await bump(database, "imports")
        assert await data_versions.versions(("imports", "other"), fresh=True) == (number, 0)
    assert await data_versions.versions((), fresh=True) == ()


async def test_sqlite_sees_commits_of_other_processes_at_once(tmp_path: object) -> None:
    from fieldgate.db.schema import upgrade

    writer, reader = (Database(f"sqlite:///{tmp_path}/fieldgate.db") for _ in range(2))
    await upgrade(writer)
    data_versions = DataVersions(reader)
    for number in range(1, 20):
        await bump(writer, "events")
        assert await data_versions.version("events") == number
    await writer.close()
    await reader.close()


async def test_failed_transaction_changes_no_version(database: Database, data_versions: DataVersions) -> None:
    with pytest.raises(RuntimeError):
        async with database.transaction() as connection:
            await data_versions.bump(connection, "events")
            raise RuntimeError
    assert await data_versions.version("events") == 0


async def test_concurrent_writers_all_count(database: Database, data_versions: DataVersions) -> None:
    await asyncio.gather(*(bump(database, "a", "b") for _ in range(20)))
    await wait_for_version(data_versions, "a", 20)
    await wait_for_version(data_versions, "b", 20)


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
async def test_lost_listener_reconnects(database: Database, data_versions: DataVersions) -> None:
    await bump(database, "events")
    await wait_for_version(data_versions, "events", 1)
    killer = await asyncpg.connect(database.postgres_dsn)
    await killer.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE query LIKE '%FROM changes%' AND pid <> pg_backend_pid()"
    )
    await bump(database, "events")
    await wait_for_version(data_versions, "events", 2)
    # Once versions have been received again, the listener is back.
    while data_versions._last_heard == float("-inf"):
        await asyncio.sleep(0.01)
    await bump(database, "events")
    await wait_for_version(data_versions, "events", 3)
    await killer.close()


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
async def test_versions_are_queried_without_a_listener(database: Database) -> None:
    data_versions = DataVersions(database)
    for number in range(1, 5):
        await bump(database, "events")
        assert await data_versions.version("events") == number


async def test_writing_process_sees_its_version_at_once(database: Database) -> None:
    data_versions = DataVersions(database)
    await data_versions.start()
    for version in range(1, 21):
        async with database.transaction() as connection:
            await data_versions.bump(connection, "x")
        assert await data_versions.version("x") == version
    await data_versions.stop()


async def test_bump_in_a_write_function(database: Database) -> None:
    data_versions = DataVersions(database)
    await data_versions.start()
    for version in range(1, 21):
        await database.write(lambda connection: data_versions.bump_sync(connection, "x", "y"))
        assert await data_versions.versions(("x", "y", "z")) == (version, version, 0)
    await data_versions.stop()


async def test_failed_write_function_changes_no_version(database: Database, data_versions: DataVersions) -> None:
    def fail(connection: Connection) -> None:
        data_versions.bump_sync(connection, "x")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        await database.write(fail)
    assert await data_versions.version("x") == 0
