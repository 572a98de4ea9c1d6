"""The cache that every commit empties."""

import asyncio
import subprocess
import sys

from fieldgate.db import CommitCache, Database
from fieldgate.db.tables import topic_versions
from tests.processes import TIMEOUT_SECONDS

MAX_ENTRIES = 3
_COMMIT = """
import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as connection:
    connection.execute("INSERT INTO changes (topic, version) VALUES (?, 1)", [sys.argv[2]])
"""


async def commit(database: Database, topic: str) -> None:
    async with database.transaction() as connection:
        await connection.execute(topic_versions.insert(), {"topic": topic, "version": 1})


async def test_value_is_kept_until_the_next_commit(database: Database) -> None:
    cache = CommitCache[str, int](database, MAX_ENTRIES)
    cache.current().put("a", 1)
    assert cache.current().get("a") == (1 if database.is_sqlite else None)
    await commit(database, "first")
    assert cache.current().get("a") is None


async def test_value_read_before_a_commit_is_not_found_after_it(database: Database) -> None:
    """Another request may notice the commit while a value is being read."""
    cache = CommitCache[str, int](database, MAX_ENTRIES)
    before = cache.current()
    await commit(database, "first")
    cache.current()
    before.put("a", 1)
    assert cache.current().get("a") is None


async def test_commit_of_another_process_counts(database: Database) -> None:
    if not database.is_sqlite:
        return  # nothing is cached, see above
    cache = CommitCache[str, int](database, MAX_ENTRIES)
    for topic in ("first", "second"):
        cache.current().put("a", 1)
        assert cache.current().get("a") == 1
        command = [sys.executable, "-c", _COMMIT, str(database.url.database), topic]
        await asyncio.to_thread(subprocess.run, command, check=True, timeout=TIMEOUT_SECONDS)
        assert cache.current().get("a") is None


async def test_new_connection_begins_anew(database: Database) -> None:
    """The versions of two connections cannot be compared: both begin at 1 or so."""
    cache = CommitCache[str, int](database, MAX_ENTRIES)
    cache.current().put("a", 1)
    await database.drop_connections()
    assert cache.current().get("a") is None


async def test_number_of_values_is_limited(database: Database) -> None:
    cache = CommitCache[int, int](database, MAX_ENTRIES)
    for number in range(10):
        cache.current().put(number, number)
    assert len(cache.current()) == (MAX_ENTRIES if database.is_sqlite else 0)
