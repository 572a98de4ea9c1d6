"""Short writes: each whole or not at all, told when it is committed, and on SQLite committed together."""

import asyncio
import gc
import sqlite3
import threading
import traceback
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, bindparam, event, select, text
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError
from sqlalchemy.pool import Pool

from fieldgate.db import Database, PreparedQuery, is_unavailable
from fieldgate.db.group_commit import GroupCommitter
from fieldgate.db.tables import topic_versions

OURS = 1000  # the version by which rows of these tests are known
INSERT = text(f"INSERT INTO changes (topic, version) VALUES (:topic, {OURS})")
ADD = text("UPDATE changes SET version = version + 1 WHERE topic = 'counter'")

only_on_sqlite = pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)


def insert(*topics: str) -> Callable[[Connection], str]:
    """A write of these rows, which gives back the last one."""

    def write(connection: Connection) -> str:
        for topic in topics:
            connection.execute(INSERT, {"topic": topic})
        return topics[-1]

    return write


def fail(connection: Connection) -> None:
    connection.execute(INSERT, {"topic": "lost"})
    raise RuntimeError("one's own mistake")


async def make_children(database: Database) -> None:
    """Tables whose references are checked at the commit."""
    async with database.transaction() as connection:
        await connection.execute(text("CREATE TABLE parents (id INTEGER PRIMARY KEY)"))
        reference = "REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED"
        await connection.execute(text(f"CREATE TABLE children (parent INTEGER {reference})"))


def orphan(connection: Connection) -> None:
    """A write that is made, and cannot be committed."""
    insert("lost")(connection)
    connection.execute(text("INSERT INTO children (parent) VALUES (7)"))


async def stored(database: Database) -> set[str]:
    async with database.read_transaction() as connection:
        return set(
            (await connection.execute(select(topic_versions.c.topic).where(topic_versions.c.version == OURS))).scalars()
        )


async def told(database: Database, *writes: Callable[[Connection], Any]) -> list[Any]:
    """What comes of writes that wait at the same moment: results, or errors."""
    return await asyncio.gather(*(database.write(write) for write in writes), return_exceptions=True)


async def all_queue() -> None:
    """Let everybody who was begun come to where they wait."""
    for _ in range(5):
        await asyncio.sleep(0)


async def ended(*tasks: asyncio.Task[Any]) -> list[BaseException | None]:
    """What tasks ended with that have nothing to wait for."""
    await all_queue()
    waiting = [task for task in tasks if not task.done()]
    for task in waiting:
        task.cancel()
    assert not waiting
    return [asyncio.CancelledError() if task.cancelled() else task.exception() for task in tasks]


@pytest.fixture(autouse=True)
def _no_commit_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """What shares a commit here does not depend on how busy the machine is."""
    monkeypatch.setattr("fieldgate.db.group_commit.MAX_BATCH_SECONDS", float("inf"))


@pytest.fixture
def sent() -> Iterator[list[str]]:
    """All statements that short writes send to SQLite."""
    statements: list[str] = []

    def follow(connection: Any, record: object) -> None:
        if isinstance(connection, sqlite3.Connection):  # the engine's other connections are wrapped
            connection.set_trace_callback(statements.append)

    event.listen(Pool, "connect", follow)
    yield statements
    event.remove(Pool, "connect", follow)


async def test_a_result_is_told_when_everybody_can_see_the_write(database: Database) -> None:
    find = PreparedQuery(
        database, select(topic_versions.c.version).where(topic_versions.c.topic == bindparam("wanted"))
    )

    async def write(topic: str) -> None:
        assert await database.write(insert(topic)) == topic
        assert await find.first(wanted=topic) is not None

    await asyncio.gather(*(write(f"t{number}") for number in range(50)))


async def test_an_error_reaches_its_caller_alone(database: Database) -> None:
    await database.write(insert("there"))
    found = await told(database, insert("a"), insert("lost", "there"), insert("b"), fail, insert("c"))
    assert [found[0], found[2], found[4]] == ["a", "b", "c"]
    assert isinstance(found[1], IntegrityError)
    assert isinstance(found[3], RuntimeError)
    assert await stored(database) == {"there", "a", "b", "c"}, "of what failed not even the beginning is there"


async def test_any_error_is_told(database: Database) -> None:
    """Also one that a future refuses to carry."""

    def stop(connection: Connection) -> None:
        next(iter(()))

    found = await told(database, stop, insert("a"))
    assert isinstance(found[0], RuntimeError)
    assert isinstance(found[0].__cause__, StopIteration)
    assert found[1] == "a"


async def test_short_and_long_writers_at_once_all_count(database: Database) -> None:
    await database.write(insert("counter"))

    async def long() -> None:
        async with database.transaction() as connection:
            await connection.execute(ADD)

    async def short() -> None:
        await database.write(lambda connection: connection.execute(ADD).rowcount)

    await asyncio.gather(*(writer() for _ in range(30) for writer in (long, short, short)))
    async with database.read_transaction() as connection:
        counted = await connection.execute(select(topic_versions.c.version).where(topic_versions.c.topic == "counter"))
        assert counted.scalar_one() == OURS + 90


@only_on_sqlite
async def test_writes_that_wait_are_committed_together(database: Database, sent: list[str]) -> None:
    await told(database, *(insert(f"t{number}") for number in range(20)))
    assert (sent.count("BEGIN IMMEDIATE"), sent.count("COMMIT")) == (1, 1)
    await database.write(insert("alone"))
    assert sent.count("COMMIT") == 2
    assert len(await stored(database)) == 21


@only_on_sqlite
async def test_those_that_come_during_a_commit_wait_for_the_next_one(database: Database, sent: list[str]) -> None:
    has_begun, may_end = threading.Event(), threading.Event()

    def first(connection: Connection) -> None:
        has_begun.set()
        may_end.wait()
        insert("first")(connection)

    slow = asyncio.create_task(database.write(first))
    await asyncio.to_thread(has_begun.wait)
    later = asyncio.gather(*(database.write(insert(f"t{number}")) for number in range(9)))
    await all_queue()
    may_end.set()
    await asyncio.gather(slow, later)
    assert sent.count("COMMIT") == 2


@only_on_sqlite
@pytest.mark.parametrize(("bound", "value", "commits"), [("MAX_BATCH_WRITES", 4, 3), ("MAX_BATCH_SECONDS", 0.0, 10)])
async def test_a_commit_is_bounded(
    database: Database, sent: list[str], monkeypatch: pytest.MonkeyPatch, bound: str, value: float, commits: int
) -> None:
    monkeypatch.setattr(f"fieldgate.db.group_commit.{bound}", value)
    order: list[int] = []

    def noted(number: int) -> Callable[[Connection], int]:
        def write(connection: Connection) -> int:
            order.append(number)
            insert(f"t{number}")(connection)
            return number

        return write

    assert await told(database, *map(noted, range(10))) == list(range(10))
    assert order == list(range(10)), "first come, first served"
    assert sent.count("COMMIT") == commits
    assert len(await stored(database)) == 10


@only_on_sqlite
async def test_short_and_long_writers_take_turns(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fieldgate.db.group_commit.MAX_BATCH_WRITES", 1)
    order: list[str] = []

    async def long(name: str) -> None:
        async with database.transaction() as connection:
            await connection.execute(INSERT, {"topic": name})
            order.append(name)

    async def short(name: str) -> None:
        order.append(await database.write(insert(name)))

    async with database.transaction():
        shorts = asyncio.gather(*(short(f"short {number}") for number in range(3)))
        await all_queue()
        longs = asyncio.gather(*(long(f"long {number}") for number in range(2)))
        await all_queue()
        assert order == [], "nobody writes while somebody does"
    await asyncio.gather(shorts, longs)
    assert order == ["short 0", "long 0", "long 1", "short 1", "short 2"]


@only_on_sqlite
async def test_who_is_cancelled_while_waiting_writes_nothing(database: Database) -> None:
    async with database.transaction():
        tasks = [asyncio.create_task(database.write(insert(name))) for name in "abc"]
        await all_queue()
        tasks[1].cancel()
    found = await asyncio.gather(*tasks, return_exceptions=True)
    assert (found[0], found[2]) == ("a", "c")
    assert isinstance(found[1], asyncio.CancelledError)
    assert await stored(database) == {"a", "c"}


@only_on_sqlite
async def test_all_that_waited_may_be_cancelled(database: Database, sent: list[str]) -> None:
    async with database.transaction():
        waiting = asyncio.create_task(database.write(insert("a")))
        await all_queue()
        waiting.cancel()
    await asyncio.wait([waiting])
    assert await database.write(insert("b")) == "b"
    assert sent.count("COMMIT") == 1
    assert await stored(database) == {"b"}


@only_on_sqlite
async def test_who_is_cancelled_during_the_write_disturbs_nobody(database: Database) -> None:
    has_begun, may_end = threading.Event(), threading.Event()

    def slow(connection: Connection) -> None:
        has_begun.set()
        may_end.wait()
        insert("slow")(connection)

    tasks = [asyncio.create_task(database.write(write)) for write in (insert("a"), slow, insert("b"))]
    await asyncio.to_thread(has_begun.wait)
    tasks[1].cancel()
    await asyncio.wait([tasks[1]])
    may_end.set()
    assert (await tasks[0], await tasks[2]) == ("a", "b")
    assert tasks[1].cancelled()
    assert await stored(database) == {"a", "slow", "b"}, "it was under way"
    assert await database.write(insert("c")) == "c"


async def test_a_commit_that_is_refused_is_told_to_all_of_it(database: Database) -> None:
    """PostgreSQL commits each for itself; nobody else is concerned there."""
    await make_children(database)
    found = await told(database, insert("a"), orphan, insert("b"))
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
async def test_when_sqlite_gives_up_a_transaction_all_of_it_is_told(database: Database) -> None:
    await database.write(insert("there"))

    def give_up(connection: Connection) -> None:
        connection.execute(text("INSERT OR ROLLBACK INTO changes (topic, version) VALUES ('there', 1)"))

    found = await told(database, insert("a"), give_up, insert("b"))
    assert [type(each) for each in found] == [IntegrityError] * 3
    assert await stored(database) == {"there"}
    assert await database.write(insert("c")) == "c"


@only_on_sqlite
async def test_a_full_disk_is_told_to_whom_it_concerns(database: Database) -> None:
    def leave_little_room(connection: Connection) -> None:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages + 3}")

    def large(connection: Connection) -> None:
        connection.execute(text("CREATE TABLE large AS SELECT zeroblob(1000000) AS data"))

    await database.write(leave_little_room)
    found = await told(database, insert("a"), large, insert("b"))
    assert isinstance(found[1], OperationalError)
    assert is_unavailable(found[1])
    told_good = {each for each in found if isinstance(each, str)}
    assert await stored(database) == told_good
    assert all(is_unavailable(each) for each in found if not isinstance(each, str))


@only_on_sqlite
async def test_a_database_that_is_busy_is_told_to_all_who_wait(database: Database) -> None:
    await database.write(lambda connection: connection.exec_driver_sql("PRAGMA busy_timeout = 0").close())
    other = sqlite3.connect(str(database.url.database), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    found = await told(database, insert("a"), insert("b"))
    assert [type(each) for each in found] == [OperationalError] * 2
    assert all(isinstance(each, DBAPIError) and is_unavailable(each) for each in found)
    other.execute("ROLLBACK")
    assert await told(database, insert("a"), insert("b")) == ["a", "b"]
    other.close()


class FirstTurnFails:
    async def __aenter__(self) -> None:
        if not hasattr(self, "has_failed"):
            self.has_failed = True
            await asyncio.sleep(0)
            raise RuntimeError("no turn")

    async def __aexit__(self, *_: object) -> None:
        pass


@only_on_sqlite
async def test_whatever_ends_the_work_is_told_to_all_who_wait(database: Database) -> None:
    commits = GroupCommitter(database._sync_write_engine(), FirstTurnFails())
    writes = [commits.run(insert(f"t{number}")) for number in range(3)]
    found = await ended(*map(asyncio.create_task, writes))
    assert [str(each) for each in found] == ["no turn"] * 3
    assert await commits.run(insert("a")) == "a"
    assert await stored(database) == {"a"}
    await commits.close()


@only_on_sqlite
@pytest.mark.parametrize("is_begun", [False, True])
async def test_work_that_is_cancelled_alone_leaves_nobody_waiting(database: Database, is_begun: bool) -> None:
    turn = asyncio.Lock()
    commits = GroupCommitter(database._sync_write_engine(), turn)
    async with turn:
        tasks = [asyncio.create_task(commits.run(insert(f"t{number}"))) for number in range(3)]
        await asyncio.sleep(0)
        if is_begun:
            await all_queue()
        assert commits._worker is not None
        commits._worker.cancel()
        found = await ended(*tasks)
    assert [type(each) for each in found] == [asyncio.CancelledError] * 3
    assert await commits.run(insert("a")) == "a"
    assert await stored(database) == {"a"}
    await commits.close()


@only_on_sqlite
async def test_work_that_is_cancelled_during_a_commit_leaves_nobody_waiting(database: Database) -> None:
    commits = GroupCommitter(database._sync_write_engine(), asyncio.Lock())
    has_begun, may_end = threading.Event(), threading.Event()

    def slow(connection: Connection) -> None:
        has_begun.set()
        may_end.wait()
        insert("slow")(connection)

    first = asyncio.create_task(commits.run(slow))
    await asyncio.to_thread(has_begun.wait)
    second = asyncio.create_task(commits.run(insert("next")))
    await all_queue()
    assert commits._worker is not None
    commits._worker.cancel()
    try:
        found = await ended(first, second)
    finally:
        may_end.set()
    assert [type(each) for each in found] == [asyncio.CancelledError] * 2
    assert await commits.run(insert("a")) == "a"
    assert await stored(database) == {"slow", "a"}, "the one was under way, the other not"
    await commits.close()


@only_on_sqlite
async def test_an_error_that_all_are_told_does_not_grow_with_them(database: Database) -> None:
    await make_children(database)

    async def length(write: Callable[[Connection], Any]) -> int:
        try:
            await database.write(write)
        except IntegrityError as error:
            return len(traceback.format_exception(error))
        return 0

    lengths = await asyncio.gather(*(length(write) for write in (insert("a"), orphan, insert("b"), insert("c"))))
    assert lengths[0]
    assert len(set(lengths)) == 1, lengths


class Upload:
    """Something large that a write holds."""


@only_on_sqlite
@pytest.mark.parametrize("way", ["nothing", "its own", "the database's", "the commit's"])
async def test_what_a_failed_write_held_is_let_go_of(database: Database, way: str) -> None:
    """When its error is: a file must not wait for the collector of what refers to itself."""
    await make_children(database)
    await database.write(insert("there"))
    ends = {"nothing": lambda _: None, "its own": fail, "the database's": insert("there"), "the commit's": orphan}
    held: list[weakref.ref[Upload]] = []

    async def take() -> bool:
        upload = Upload()
        held.append(weakref.ref(upload))

        def write(connection: Connection) -> None:
            assert upload
            ends[way](connection)

        try:
            await database.write(write)
        except (RuntimeError, IntegrityError):
            return False
        return True

    gc.collect()
    gc.disable()
    try:
        assert {*await asyncio.gather(take(), take())} == {way == "nothing"}
        await database.write(lambda _: None)  # the thread is done with them as well
        assert [each() for each in held] == [None] * 2
    finally:
        gc.enable()


async def test_closing_waits_for_what_waits(database: Database) -> None:
    thread = await database.write(lambda connection: threading.current_thread())
    writes = asyncio.gather(*(database.write(insert(f"t{number}")) for number in range(40)))
    await all_queue()
    if database.is_sqlite:  # PostgreSQL's connections are closed under who still uses them
        await database.close()
        assert not thread.is_alive()
    await writes
    assert len(await stored(database)) == 40
    assert await database.write(insert("again")) == "again"


async def test_short_writes_are_durable_and_check_references(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path}/new/folder/fieldgate.db")

    def found(connection: Connection) -> dict[str, object]:
        names = ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        return {name: connection.exec_driver_sql(f"PRAGMA {name}").scalar_one() for name in names}

    expected = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 10_000}
    assert await database.write(found) == expected
    await database.close()


def test_an_event_loop_that_ended_early_holds_up_no_other(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path}/fieldgate.db")

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
async def test_a_connection_that_can_only_read_is_let_go(database: Database) -> None:
    """So SQLite opens a file that may not be written for a moment: nobody shall be left with it for ever."""
    await database.write(lambda connection: connection.exec_driver_sql("PRAGMA query_only = ON").close())
    found = await told(database, insert("a"), insert("b"))
    assert [type(each) for each in found] == [OperationalError] * 2
    assert all(is_unavailable(each) for each in found)
    assert await told(database, insert("a"), insert("b")) == ["a", "b"]
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
