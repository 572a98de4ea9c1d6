"""`AsyncDatabase.write` and the group commit of SQLite: atomicity, batching, cancellation and errors."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, bindparam, event, select, text
from sqlalchemy.exc import IntegrityError, OperationalError
from sqlalchemy.pool import Pool

from fieldgate.db import AsyncDatabase, PreparedQuery, is_unavailable
from fieldgate.db.tables import topic_versions

TEST_VERSION = 1000  # marks the rows of these tests
INSERT = text(f"INSERT INTO changes (topic, version) VALUES (:topic, {TEST_VERSION})")
ADD = text("UPDATE changes SET version = version + 1 WHERE topic = 'counter'")

only_on_sqlite = pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)


def insert(*topics: str) -> Callable[[Connection], str]:
    """Return a write that inserts these topics and returns the last one."""

    def write(connection: Connection) -> str:
        for topic in topics:
            connection.execute(INSERT, {"topic": topic})
        return topics[-1]

    return write


def fail(connection: Connection) -> None:
    connection.execute(INSERT, {"topic": "lost"})
    raise RuntimeError("error in the write itself")


async def create_deferred_tables(database: AsyncDatabase) -> None:
    """Create tables whose foreign keys are checked at the commit."""
    async with database.transaction() as connection:
        await connection.execute(text("CREATE TABLE parents (id INTEGER PRIMARY KEY)"))
        reference = "REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED"
        await connection.execute(text(f"CREATE TABLE children (parent INTEGER {reference})"))


def write_orphan(connection: Connection) -> None:
    """A write that succeeds but cannot be committed."""
    insert("lost")(connection)
    connection.execute(text("INSERT INTO children (parent) VALUES (7)"))


async def stored(database: AsyncDatabase) -> set[str]:
    query = select(topic_versions.c.topic).where(topic_versions.c.version == TEST_VERSION)
    async with database.read_transaction() as connection:
        return set((await connection.execute(query)).scalars())


async def run_all(database: AsyncDatabase, *writes: Callable[[Connection], Any]) -> list[Any]:
    """Start writes at the same time and return their results or errors."""
    return await asyncio.gather(
        *(database.write(write) for write in writes), return_exceptions=True
    )


async def let_tasks_queue() -> None:
    """Let all started tasks run until they wait."""
    for _ in range(5):
        await asyncio.sleep(0)


@pytest.fixture
def sent_statements() -> Iterator[list[str]]:
    """All statements that `AsyncDatabase.write` sends to SQLite."""
    statements: list[str] = []

    def follow(connection: Any, record: object) -> None:
        if isinstance(connection, sqlite3.Connection):  # the engine's other connections are wrapped
            connection.set_trace_callback(statements.append)

    event.listen(Pool, "connect", follow)
    yield statements
    event.remove(Pool, "connect", follow)


async def test_result_is_returned_after_the_commit(database: AsyncDatabase) -> None:
    find = PreparedQuery(
        database,
        select(topic_versions.c.version).where(topic_versions.c.topic == bindparam("wanted")),
    )

    async def write(topic: str) -> None:
        assert await database.write(insert(topic)) == topic
        assert await find.first(wanted=topic) is not None

    await asyncio.gather(*(write(f"t{number}") for number in range(50)))


async def test_error_affects_only_its_own_write(database: AsyncDatabase) -> None:
    await database.write(insert("there"))
    found = await run_all(
        database, insert("a"), insert("lost", "there"), insert("b"), fail, insert("c")
    )
    assert [found[0], found[2], found[4]] == ["a", "b", "c"]
    assert isinstance(found[1], IntegrityError)
    assert isinstance(found[3], RuntimeError)
    assert await stored(database) == {"there", "a", "b", "c"}, "failed writes leave nothing behind"


async def test_stop_iteration_is_reported(database: AsyncDatabase) -> None:
    """A future cannot carry a StopIteration."""

    def stop(connection: Connection) -> None:
        next(iter(()))

    found = await run_all(database, stop, insert("a"))
    assert isinstance(found[0], RuntimeError)
    assert isinstance(found[0].__cause__, StopIteration)
    assert found[1] == "a"


async def test_concurrent_writes_and_transactions_are_all_stored(database: AsyncDatabase) -> None:
    await database.write(insert("counter"))

    async def long() -> None:
        async with database.transaction() as connection:
            await connection.execute(ADD)

    async def short() -> None:
        await database.write(lambda connection: connection.execute(ADD).rowcount)

    await asyncio.gather(*(writer() for _ in range(30) for writer in (long, short, short)))
    async with database.read_transaction() as connection:
        counted = await connection.execute(
            select(topic_versions.c.version).where(topic_versions.c.topic == "counter")
        )
        assert counted.scalar_one() == TEST_VERSION + 90


@only_on_sqlite
async def test_waiting_writes_share_a_commit(
    database: AsyncDatabase, sent_statements: list[str]
) -> None:
    await run_all(database, *(insert(f"t{number}") for number in range(20)))
    assert (sent_statements.count("BEGIN IMMEDIATE"), sent_statements.count("COMMIT")) == (1, 1)
    await database.write(insert("alone"))
    assert sent_statements.count("COMMIT") == 2
    assert len(await stored(database)) == 21


@only_on_sqlite
async def test_write_cancelled_while_waiting_is_not_executed(database: AsyncDatabase) -> None:
    async with database.transaction():
        tasks = [asyncio.create_task(database.write(insert(name))) for name in "abc"]
        await let_tasks_queue()
        tasks[1].cancel()
    found = await asyncio.gather(*tasks, return_exceptions=True)
    assert (found[0], found[2]) == ("a", "c")
    assert isinstance(found[1], asyncio.CancelledError)
    assert await stored(database) == {"a", "c"}


@only_on_sqlite
async def test_cancellation_during_a_write_does_not_affect_others(database: AsyncDatabase) -> None:
    has_begun, may_end = threading.Event(), threading.Event()

    def slow(connection: Connection) -> None:
        has_begun.set()
        may_end.wait()
        insert("slow")(connection)

    tasks = [
        asyncio.create_task(database.write(write)) for write in (insert("a"), slow, insert("b"))
    ]
    await asyncio.to_thread(has_begun.wait)
    tasks[1].cancel()
    await asyncio.wait([tasks[1]])
    may_end.set()
    assert (await tasks[0], await tasks[2]) == ("a", "b")
    assert tasks[1].cancelled()
    assert await stored(database) == {"a", "slow", "b"}, "it had already started"
    assert await database.write(insert("c")) == "c"


async def test_failed_commit_is_reported_to_the_whole_batch(database: AsyncDatabase) -> None:
    """PostgreSQL commits each write separately, so only one of them fails there."""
    await create_deferred_tables(database)
    found = await run_all(database, insert("a"), write_orphan, insert("b"))
    assert isinstance(found[1], IntegrityError)
    if database.is_sqlite:
        assert [type(each) for each in found] == [IntegrityError] * 3
        assert await stored(database) == set()
    else:
        assert (found[0], found[2]) == ("a", "b")
        assert await stored(database) == {"a", "b"}
    assert await database.write(insert("c")) == "c"
    assert "c" in await stored(database)


@only_on_sqlite
async def test_full_disk_is_reported_to_the_writes_not_stored(database: AsyncDatabase) -> None:
    def leave_little_room(connection: Connection) -> None:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages + 3}")

    def large(connection: Connection) -> None:
        connection.execute(text("CREATE TABLE large AS SELECT zeroblob(1000000) AS data"))

    await database.write(leave_little_room)
    found = await run_all(database, insert("a"), large, insert("b"))
    assert isinstance(found[1], OperationalError)
    assert is_unavailable(found[1])
    stored_topics = {each for each in found if isinstance(each, str)}
    assert await stored(database) == stored_topics
    assert all(is_unavailable(each) for each in found if not isinstance(each, str))


async def test_close_finishes_queued_writes(database: AsyncDatabase) -> None:
    thread = await database.write(lambda connection: threading.current_thread())
    writes = asyncio.gather(*(database.write(insert(f"t{number}")) for number in range(40)))
    await let_tasks_queue()
    if database.is_sqlite:  # PostgreSQL's connections are closed while in use
        await database.close()
        assert not thread.is_alive()
    await writes
    assert len(await stored(database)) == 40
    assert await database.write(insert("again")) == "again"


def test_database_is_usable_after_its_event_loop_was_cancelled(tmp_path: Path) -> None:
    database = AsyncDatabase(f"sqlite:///{tmp_path}/fieldgate.db")

    def create(connection: Connection) -> None:
        connection.exec_driver_sql("CREATE TABLE something (number INTEGER)")

    async def begin() -> None:
        writing = asyncio.create_task(database.write(create))
        await asyncio.sleep(0)
        assert not writing.done()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    async def write_and_close() -> None:
        await database.write(create)
        await database.close()

    asyncio.run(begin())
    asyncio.run(write_and_close())


@only_on_sqlite
async def test_read_only_connection_is_replaced(database: AsyncDatabase) -> None:
    """SQLite opens a file read-only if it is not writable at that moment, and never changes that."""
    await database.write(
        lambda connection: connection.exec_driver_sql("PRAGMA query_only = ON").close()
    )
    found = await run_all(database, insert("a"), insert("b"))
    assert [type(each) for each in found] == [OperationalError] * 2
    assert all(is_unavailable(each) for each in found)
    assert await run_all(database, insert("a"), insert("b")) == ["a", "b"]
    assert await stored(database) == {"a", "b"}
    async with database.transaction() as connection:
        await connection.exec_driver_sql("PRAGMA query_only = ON")
    with pytest.raises(OperationalError) as raised:
        async with database.transaction() as connection:
            await connection.run_sync(insert("c"))
    assert is_unavailable(raised.value)
    async with database.transaction() as connection:
        await connection.run_sync(insert("c"))
    assert await stored(database) == {"a", "b", "c"}
