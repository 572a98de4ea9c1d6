"""Who tells caches that data changed: between processes on SQLite, by LISTEN on PostgreSQL."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest
from sqlalchemy import Connection

from fieldgate.db import Database, DataVersions
from fieldgate.db.data_versions import MAX_STALENESS


@pytest.fixture
async def changes(database: Database) -> AsyncIterator[DataVersions]:
    changes = DataVersions(database)
    await changes.start()
    yield changes
    await changes.stop()


async def bump(database: Database, *topics: str) -> None:
    """A write by another process, as far as the reader can tell."""
    async with database.transaction() as connection:
        await DataVersions(database).bump(connection, *topics)


async def eventually(changes: DataVersions, topic: str, version: int) -> float:
    """How long it took until the version was seen; at most the stated bound."""
    clock = asyncio.get_running_loop().time
    began = clock()
    while await changes.version(topic) != version:
        assert clock() - began < MAX_STALENESS, "a change must be seen within the stated bound"
        await asyncio.sleep(0)
    return clock() - began


async def test_versions_count_up_by_topic(database: Database, changes: DataVersions) -> None:
    assert await changes.version("events") == 0
    await bump(database, "events")
    await bump(database, "events", "accounts")
    await eventually(changes, "events", 2)
    await eventually(changes, "accounts", 1)
    assert await changes.version("other") == 0


async def test_who_asks_sees_a_commit_at_once(database: Database, changes: DataVersions) -> None:
    for number in range(1, 10):
        await bump(database, "imports")
        assert await changes.versions(("imports", "other"), fresh=True) == (number, 0)
    assert await changes.versions((), fresh=True) == ()


async def test_sqlite_sees_a_commit_before_the_next_answer(tmp_path: object) -> None:
    from fieldgate.db.schema import upgrade

    writer, reader = (Database(f"sqlite:///{tmp_path}/fieldgate.db") for _ in range(2))
    await upgrade(writer)
    changes = DataVersions(reader)
    for number in range(1, 20):
        await bump(writer, "events")
        assert await changes.version("events") == number
    await writer.close()
    await reader.close()


async def test_a_write_that_fails_changes_no_version(database: Database, changes: DataVersions) -> None:
    with pytest.raises(RuntimeError):
        async with database.transaction() as connection:
            await changes.bump(connection, "events")
            raise RuntimeError
    assert await changes.version("events") == 0


async def test_writers_at_once_each_count(database: Database, changes: DataVersions) -> None:
    await asyncio.gather(*(bump(database, "a", "b") for _ in range(20)))
    await eventually(changes, "a", 20)
    await eventually(changes, "b", 20)


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
async def test_a_lost_listener_asks_and_comes_back(database: Database, changes: DataVersions) -> None:
    await bump(database, "events")
    await eventually(changes, "events", 1)
    killer = await asyncpg.connect(database.postgres_dsn)
    await killer.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE query LIKE '%FROM changes%' AND pid <> pg_backend_pid()"
    )
    await bump(database, "events")
    await eventually(changes, "events", 2)
    # Once it is heard of again, it listens again: the next change arrives without a question being asked.
    while changes._last_heard == float("-inf"):
        await asyncio.sleep(0.01)
    await bump(database, "events")
    await eventually(changes, "events", 3)
    await killer.close()


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
async def test_without_a_listener_every_question_is_asked(database: Database) -> None:
    changes = DataVersions(database)
    for number in range(1, 5):
        await bump(database, "events")
        assert await changes.version("events") == number


async def test_the_process_that_wrote_sees_it_at_once(database: Database) -> None:
    changes = DataVersions(database)
    await changes.start()
    for version in range(1, 21):
        async with database.transaction() as connection:
            await changes.bump(connection, "x")
        assert await changes.version("x") == version
    await changes.stop()


async def test_a_short_write_tells_it_as_well(database: Database) -> None:
    changes = DataVersions(database)
    await changes.start()
    for version in range(1, 21):
        await database.write(lambda connection: changes.bump_sync(connection, "x", "y"))
        assert await changes.versions(("x", "y", "z")) == (version, version, 0)
    await changes.stop()


async def test_a_short_write_that_fails_changes_no_version(database: Database, changes: DataVersions) -> None:
    def fail(connection: Connection) -> None:
        changes.bump_sync(connection, "x")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        await database.write(fail)
    assert await changes.version("x") == 0
