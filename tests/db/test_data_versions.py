"""Data versions: between processes, on both databases."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, select

from fieldgate.db import (
    IDENTITY_TOPIC,
    AsyncDatabase,
    CommitCache,
    DataVersions,
    Timestamp,
    now,
    upsert,
)
from fieldgate.db.outages import DatabaseGone
from fieldgate.db.tables import leases, topic_versions
from tests.processes import TIMEOUT_SECONDS


@pytest.fixture
async def data_versions(database: AsyncDatabase) -> DataVersions:
    return DataVersions(database)


async def bump(database: AsyncDatabase, *topics: str) -> list[int]:
    """Write as another process would; return the versions that were stored."""
    async with database.transaction() as connection:
        await DataVersions(database).bump(connection, *topics)
    return await stored_versions(database, *topics)


async def stored_versions(database: AsyncDatabase, *topics: str) -> list[int]:
    async with database.read_transaction() as connection:
        found = (
            await connection.execute(select(topic_versions.c.topic, topic_versions.c.version))
        ).all()
    versions = {row.topic: row.version for row in found}
    return [versions.get(topic, 0) for topic in topics]


async def wait_for_version(data_versions: DataVersions, topic: str, version: int) -> None:
    """Wait until a version is seen. How soon that is depends on the machine, so it is not measured here."""
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while await data_versions.version(topic) != version:
            await asyncio.sleep(0.001)


async def test_versions_are_counted_per_topic(
    database: AsyncDatabase, data_versions: DataVersions
) -> None:
    assert await data_versions.version("events") == 0
    (first,) = await bump(database, "events")
    events, accounts = await bump(database, "events", "accounts")
    assert 0 < first < events
    await wait_for_version(data_versions, "events", events)
    await wait_for_version(data_versions, "accounts", accounts)
    assert await data_versions.version("other") == 0


async def test_versions_include_every_commit(
    database: AsyncDatabase, data_versions: DataVersions
) -> None:
    for _ in range(1, 10):
        (version,) = await bump(database, "imports")
        assert await data_versions.versions(("imports", "other")) == (version, 0)
    assert await data_versions.versions(()) == ()


async def test_sqlite_sees_commits_of_other_processes_at_once(tmp_path: object) -> None:
    from fieldgate.db.schema import upgrade

    writer, reader = (AsyncDatabase(f"sqlite:///{tmp_path}/fieldgate.db") for _ in range(2))
    await upgrade(writer)
    data_versions = DataVersions(reader)
    for _ in range(1, 20):
        (version,) = await bump(writer, "events")
        assert await data_versions.version("events") == version
    await writer.close()
    await reader.close()


async def set_version(database: AsyncDatabase, topic: str, version: int) -> None:
    async with database.transaction() as connection:
        await connection.execute(
            upsert(database.dialect, topic_versions), {"topic": topic, "version": version}
        )


async def test_version_after_a_restored_backup_was_never_used(
    database: AsyncDatabase, data_versions: DataVersions, caplog: pytest.LogCaptureFixture
) -> None:
    (saved,) = await bump(database, "events")
    used = [(await bump(database, "events"))[0] for _ in range(5)]
    await wait_for_version(data_versions, "events", used[-1])
    await set_version(database, "events", saved)  # as a restored backup does
    await wait_for_version(data_versions, "events", saved)
    assert "went back to an earlier state" in caplog.text
    caplog.clear()
    (after,) = await bump(database, "events")
    assert after > used[-1]
    await wait_for_version(data_versions, "events", after)
    assert not caplog.text


async def test_versions_of_another_database_are_refused(
    database: AsyncDatabase, data_versions: DataVersions
) -> None:
    await data_versions.version("events")
    identity = database.identity.value
    assert identity is not None
    await set_version(database, IDENTITY_TOPIC, identity + 1)
    with pytest.raises(DatabaseGone) as raised:
        await wait_for_version(data_versions, "events", -1)
    assert "replaced by another one" in str(raised.value)


class SlowConnection:
    """A connection whose answer comes late."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.has_read = asyncio.Event()
        self.may_answer = asyncio.Event()

    async def fetch(self, query: str) -> Any:
        rows = await self._connection.fetch(query)
        self.has_read.set()
        await self.may_answer.wait()
        return rows


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
async def test_a_late_answer_does_not_hide_a_later_version(
    database: AsyncDatabase, data_versions: DataVersions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two queries, the one that was sent first is answered while the other gives its connection back."""
    pooled_connection = database.pooled_connection
    (before,) = await bump(database, "events")
    async with pooled_connection() as connection:
        slow = SlowConnection(connection)

        @asynccontextmanager
        async def answer_late() -> AsyncIterator[SlowConnection]:
            yield slow

        @asynccontextmanager
        async def give_back_late() -> AsyncIterator[Any]:
            async with pooled_connection() as connection:
                yield connection
            slow.may_answer.set()
            assert await earlier == before

        monkeypatch.setattr(database, "pooled_connection", answer_late)
        earlier = asyncio.create_task(data_versions.version("events"))
        await slow.has_read.wait()
        (after,) = await bump(database, "events")
        monkeypatch.setattr(database, "pooled_connection", give_back_late)
        assert await data_versions.version("events") == after


async def test_writing_process_sees_its_version_at_once(database: AsyncDatabase) -> None:
    data_versions = DataVersions(database)
    for _ in range(1, 21):
        async with database.transaction() as connection:
            await data_versions.bump(connection, "x")
        assert [await data_versions.version("x")] == await stored_versions(database, "x")


async def test_bump_in_a_write_function(database: AsyncDatabase) -> None:
    data_versions = DataVersions(database)
    for _ in range(1, 21):
        await database.write(lambda connection: data_versions.bump_sync(connection, "x", "y"))
        assert await data_versions.versions(("x", "y", "z")) == (
            *await stored_versions(database, "x", "y"),
            0,
        )


async def test_failed_write_function_changes_no_version(
    database: AsyncDatabase, data_versions: DataVersions
) -> None:
    def fail(connection: Connection) -> None:
        data_versions.bump_sync(connection, "x")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        await database.write(fail)
    assert await data_versions.version("x") == 0


async def test_an_end_that_passes_is_a_version_in_every_process(
    database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Nobody writes when it passes. The second end is not seen before the first."""
    one, other = (AsyncDatabase(database_url) for _ in range(2))
    seen = [DataVersions(each, ends=("x", leases.c.expires)) for each in (one, other)]
    ends = [now() + timedelta(milliseconds=after) for after in (50, 150)]
    try:
        for name, end in (
            ("first", ends[0]),
            ("second", ends[1]),
            ("never", now() + timedelta(days=1)),
        ):
            async with one.transaction() as connection:
                await connection.execute(leases.insert().values(name=name, holder="", expires=end))
        (stored,) = await bump(one, "x")
        steps = sorted({stored, *(max(stored, Timestamp.pack(each)) for each in ends)})
        for data_versions in seen:
            found = [await data_versions.version("x")]
            async with asyncio.timeout(TIMEOUT_SECONDS):
                while found[-1] != steps[-1]:
                    found.append(await data_versions.version("x"))
            assert found == sorted(found)
            assert set(found) <= set(steps)
            assert await data_versions.versions(("x", "y")) == (steps[-1], 0)
            assert not caplog.text
        (written,) = await bump(one, "x")
        assert written > steps[-1]
        assert [await each.version("x") for each in seen] == [written, written]
    finally:
        await asyncio.gather(one.close(), other.close())


MAX_ENTRIES = 3
_COMMIT = """
import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as connection:
    connection.execute("INSERT INTO changes (topic, version) VALUES (?, 1)", [sys.argv[2]])
"""


async def commit(database: AsyncDatabase, topic: str) -> None:
    async with database.transaction() as connection:
        await connection.execute(topic_versions.insert(), {"topic": topic, "version": 1})


async def test_value_is_kept_until_the_next_commit(database: AsyncDatabase) -> None:
    cache = CommitCache[str, int](database, MAX_ENTRIES)
    cache.current().put("a", 1)
    assert cache.current().get("a") == (1 if database.is_sqlite else None)
    await commit(database, "first")
    assert cache.current().get("a") is None


async def test_value_read_before_a_commit_is_not_found_after_it(database: AsyncDatabase) -> None:
    """Another request may notice the commit while a value is being read."""
    cache = CommitCache[str, int](database, MAX_ENTRIES)
    before = cache.current()
    await commit(database, "first")
    cache.current()
    before.put("a", 1)
    assert cache.current().get("a") is None


async def test_commit_of_another_process_counts(database: AsyncDatabase) -> None:
    if not database.is_sqlite:
        return  # nothing is cached, see above
    cache = CommitCache[str, int](database, MAX_ENTRIES)
    for topic in ("first", "second"):
        cache.current().put("a", 1)
        assert cache.current().get("a") == 1
        command = [sys.executable, "-c", _COMMIT, str(database.url.database), topic]
        await asyncio.to_thread(subprocess.run, command, check=True, timeout=TIMEOUT_SECONDS)
        assert cache.current().get("a") is None


async def test_new_connection_begins_anew(database: AsyncDatabase) -> None:
    """The versions of two connections cannot be compared: both begin at 1 or so."""
    cache = CommitCache[str, int](database, MAX_ENTRIES)
    cache.current().put("a", 1)
    await database.drop_connections()
    assert cache.current().get("a") is None


async def test_number_of_values_is_limited(database: AsyncDatabase) -> None:
    cache = CommitCache[int, int](database, MAX_ENTRIES)
    for number in range(10):
        cache.current().put(number, number)
    assert len(cache.current()) == (MAX_ENTRIES if database.is_sqlite else 0)
