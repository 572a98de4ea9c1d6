"""The three ways to run SQL: `read`, `write` and `lookup`, on SQLite and PostgreSQL."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import bindparam, func, select, text
from sqlalchemy.exc import DBAPIError

from fieldgate.db import Database, Lookup, ReadTransaction, WriteTransaction
from fieldgate.db.database import Interrupt
from fieldgate.db.log_entries import LogEntry, LogObject
from fieldgate.db.outages import DatabaseGone, Outage, outage_of
from fieldgate.db.tables import log, log_counts, topic_versions
from fieldgate.identity import OPERATOR

INSERT = text("INSERT INTO changes (topic, version) VALUES (:topic, :version)")
ADD = text("UPDATE changes SET version = version + 1 WHERE topic = :topic")
SELECT_TOPICS = select(topic_versions.c.topic)
FIND_VERSION = Lookup(
    select(topic_versions.c.version, topic_versions.c.topic).where(
        topic_versions.c.topic == bindparam("wanted")
    )
)
ENTRY = LogEntry(log_type="access", action="download", object=LogObject("asset", "a1", "Form"))

only_on_sqlite = pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
only_on_postgresql = pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)


@pytest.fixture
def opened(database_url: str) -> Iterator[Database]:
    database = Database(database_url)
    yield database
    database.close()


def insert(transaction: WriteTransaction, topic: str, version: int = 1) -> str:
    transaction.execute(INSERT, {"topic": topic, "version": version})
    return topic


def topics(transaction: ReadTransaction) -> set[str]:
    return set(transaction.execute(SELECT_TOPICS).scalars())


def version_of(database: Database, topic: str) -> int:
    row = database.lookup(FIND_VERSION, wanted=topic)
    assert row is not None
    return int(row[0])


def test_write_commits_or_changes_nothing(opened: Database) -> None:
    def fail(transaction: WriteTransaction) -> None:
        insert(transaction, "lost")
        transaction.changed("lost topic")
        transaction.log(OPERATOR, ENTRY)
        raise RuntimeError

    assert opened.write(lambda transaction: insert(transaction, "kept")) == "kept"
    with pytest.raises(RuntimeError):
        opened.write(fail)
    assert opened.read(topics) >= {"kept"}
    assert not opened.read(topics) & {"lost", "lost topic"}
    assert opened.read(lambda reading: reading.execute(select(func.count(log.c.id))).scalar()) == 0


def test_read_sees_one_snapshot(opened: Database) -> None:
    def read(transaction: ReadTransaction) -> tuple[set[str], set[str]]:
        before = topics(transaction)
        opened.write(lambda writing: insert(writing, "meanwhile"))
        return before, topics(transaction)

    before, after = opened.read(read)
    assert before == after
    assert "meanwhile" in opened.read(topics)


def test_read_cannot_write(opened: Database) -> None:
    with pytest.raises(DBAPIError):
        opened.read(lambda transaction: transaction.execute(ADD, {"topic": "x"}))


def test_write_collects_topics_and_entries_of_the_log(opened: Database) -> None:
    """Each kind is one statement, at the end: other writers wait for the rows of topics until the commit."""

    def write(transaction: WriteTransaction) -> None:
        transaction.changed("b", "a")
        transaction.log(OPERATOR, ENTRY)
        insert(transaction, "between")
        transaction.changed("a", "c")
        transaction.log(OPERATOR, ENTRY, ENTRY)
        assert not topics(transaction) & {"a", "b", "c"}

    before = opened.write(lambda transaction: transaction.now)
    opened.write(write)
    versions = opened.read(lambda transaction: transaction.versions("a", "b", "c", "without data"))
    assert versions[3] == 0
    for version in versions[:3]:
        assert datetime.fromtimestamp(version / 1_000_000, UTC) >= before - timedelta(
            milliseconds=1
        )
    entries = opened.read(lambda transaction: transaction.execute(select(log)).all())
    assert [entry.object_uid for entry in entries] == ["a1"] * 3
    counted = opened.read(
        lambda reading: reading.execute(select(func.sum(log_counts.c.entries))).scalar()
    )
    assert counted == 3
    opened.write(lambda transaction: transaction.changed("a"))
    assert version_of(opened, "a") > versions[0]


def test_version_rises_though_the_clock_was_set_back(opened: Database) -> None:
    future = 4_000_000_000_000_000
    opened.write(lambda transaction: insert(transaction, "ahead", future))
    opened.write(lambda transaction: transaction.changed("ahead"))
    assert version_of(opened, "ahead") == future + 1


def test_lookup_returns_the_first_row_or_none(opened: Database) -> None:
    opened.write(lambda transaction: insert(transaction, "there", 7))
    assert tuple(opened.lookup(FIND_VERSION, wanted="there") or ()) == (7, "there")
    assert opened.lookup(FIND_VERSION, wanted="not there") is None


def test_time_of_a_transaction_does_not_change(opened: Database) -> None:
    first, second = opened.read(lambda transaction: (transaction.now, transaction.now))
    assert first == second
    assert first.tzinfo is UTC
    assert abs(first - datetime.now(UTC)) < timedelta(minutes=1)


def test_concurrent_writes_are_all_stored(opened: Database) -> None:
    opened.write(lambda transaction: insert(transaction, "counter", 0))
    with ThreadPoolExecutor(8) as threads:
        for _ in range(200):
            threads.submit(
                opened.write,
                lambda transaction: transaction.execute(ADD, {"topic": "counter"}).rowcount,
            )
    assert version_of(opened, "counter") == 200


def test_interrupted_read_ends(opened: Database) -> None:
    """The work of a client that has left must not go on. It would take minutes."""
    interrupt = Interrupt()
    if opened.is_sqlite:
        numbers = "SELECT 1 AS n UNION ALL SELECT n + 1 FROM numbers WHERE n < 10000000000"
        long = text(f"WITH RECURSIVE numbers(n) AS ({numbers}) SELECT count(*) FROM numbers")
    else:
        long = text("SELECT pg_sleep(600)")
    has_begun = threading.Event()

    def read(transaction: ReadTransaction) -> None:
        has_begun.set()
        transaction.execute(long)

    with ThreadPoolExecutor(1) as threads:
        reading = threads.submit(opened.read, read, interrupt)
        has_begun.wait()
        while not reading.done():  # the statement may not have begun
            interrupt.set()
        with pytest.raises(DBAPIError):
            reading.result()
    assert "identity" in opened.read(topics)


@only_on_sqlite
def test_waiting_writes_share_a_commit(opened: Database, database_url: str) -> None:
    """One that asks to be alone shares none, and keeps its place."""
    order: list[str] = []
    savepoints: dict[str, Any] = {}
    may_go_on = threading.Event()

    def write(name: str) -> Any:
        def run(transaction: WriteTransaction) -> None:
            order.append(name)
            savepoints[name] = transaction.connection

        return run

    blocked = opened.sqlite_writer.submit(lambda _: may_go_on.wait(), is_alone=True)
    futures = [
        opened.sqlite_writer.submit(write(name), is_alone=name.startswith("long"))
        for name in ("a", "b", "long", "c", "d")
    ]
    may_go_on.set()
    for future in (blocked, *futures):
        future.result()
    assert order == ["a", "b", "long", "c", "d"]
    assert savepoints["a"] is savepoints["b"]
    assert savepoints["long"] is not savepoints["b"]
    assert savepoints["c"] is savepoints["d"]
    assert savepoints["c"] is not savepoints["long"]


@only_on_sqlite
@pytest.mark.parametrize("suffix", ["", "-wal"])
def test_commit_into_a_deleted_file_is_an_error(
    opened: Database, database_url: str, suffix: str
) -> None:
    """What is written there is lost when the file is closed, so it must not be acknowledged."""
    opened.write(lambda transaction: insert(transaction, "kept"))
    Path(database_url.removeprefix("sqlite:///") + suffix).unlink()
    with pytest.raises(DatabaseGone):
        opened.write(lambda transaction: insert(transaction, "lost"))
    with pytest.raises(DatabaseGone):
        opened.lookup(FIND_VERSION, wanted="kept")
    with pytest.raises(DatabaseGone):
        opened.write(lambda transaction: insert(transaction, "later"))


def _end_sessions(database: Database) -> None:
    """End all other sessions of the database, as a restart of the server does."""
    others = "datname = current_database() AND pid <> pg_backend_pid()"
    end = text(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}")
    database.write(lambda transaction: transaction.execute(end).all())


@only_on_postgresql
def test_connections_that_broke_while_idle_are_replaced(
    opened: Database, database_url: str
) -> None:
    other = Database(database_url)
    opened.write(lambda transaction: insert(transaction, "there", 7))
    with ThreadPoolExecutor(4) as threads:  # so that there are several idle connections
        list(threads.map(lambda _: opened.read(topics), range(20)))
    for use in (
        lambda: opened.read(topics),
        lambda: opened.write(lambda transaction: transaction.execute(ADD, {"topic": "there"})),
        lambda: opened.lookup(FIND_VERSION, wanted="there"),
    ):
        _end_sessions(other)
        use()
    assert version_of(opened, "there") == 8
    other.close()


@only_on_postgresql
def test_statement_that_breaks_later_is_not_repeated(opened: Database, database_url: str) -> None:
    """Whether what came before was done is not known to the function."""
    other = Database(database_url)
    calls: list[int] = []

    def write(transaction: WriteTransaction) -> None:
        calls.append(1)
        insert(transaction, "half")
        _end_sessions(other)
        insert(transaction, "done")

    with pytest.raises(DBAPIError) as raised:
        opened.write(write)
    assert outage_of(raised.value) is Outage.UNREACHABLE
    assert len(calls) == 1
    assert not opened.read(topics) & {"half", "done"}
    other.close()


@only_on_postgresql
def test_write_that_loses_a_deadlock_runs_again(opened: Database) -> None:
    for topic in ("left", "right"):
        opened.write(lambda transaction, topic=topic: insert(transaction, topic, 0))  # type: ignore[misc]
    both_began = threading.Barrier(2, timeout=30)
    calls: list[str] = []

    def write(first: str, second: str) -> Any:
        def run(transaction: WriteTransaction) -> None:
            transaction.execute(ADD, {"topic": first})
            calls.append(first)
            if calls.count(first) == 1:
                both_began.wait()
            transaction.execute(ADD, {"topic": second})

        return run

    with ThreadPoolExecutor(2) as threads:
        writes = [
            threads.submit(opened.write, write("left", "right")),
            threads.submit(opened.write, write("right", "left")),
        ]
        for future in writes:
            future.result()
    assert len(calls) > 2, "one of them ran again"
    assert (version_of(opened, "left"), version_of(opened, "right")) == (2, 2)


@only_on_postgresql
def test_statement_without_an_answer_ends(database_url: str) -> None:
    """The server is asked to end it, so that its locks are released."""
    database = Database(database_url, statement_timeout=0.5)
    with pytest.raises(DBAPIError) as raised:
        database.read(lambda transaction: transaction.execute(text("SELECT pg_sleep(600)")))
    assert outage_of(raised.value) in {Outage.UNREACHABLE, Outage.BUSY}
    running = text("SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep(600)%'")
    for _ in range(1000):
        if database.read(lambda transaction: transaction.execute(running).scalar_one()) == 0:
            break
    else:
        pytest.fail("the server still executes it")
    database.close()
