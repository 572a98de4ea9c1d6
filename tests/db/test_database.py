"""Transactions, prepared queries and URLs, on SQLite and PostgreSQL."""

import asyncio
import json
import os
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Column, Integer, MetaData, Table, bindparam, cast, func, select, text
from sqlalchemy.engine import Connection
from sqlalchemy.types import JSON, Text

from fieldgate.db import AsyncDatabase, PreparedQuery, Timestamp
from fieldgate.db.json_text import decode_json, encode_json
from fieldgate.db.postgres_url import PostgresURL
from fieldgate.db.tables import topic_versions
from tests.processes import free_port

INSERT = text("INSERT INTO changes (topic, version) VALUES (:topic, :version)")


async def test_transaction_commits_or_rolls_back(database: AsyncDatabase) -> None:
    async with database.transaction() as connection:
        await connection.execute(INSERT, {"topic": "kept", "version": 1})
    with pytest.raises(RuntimeError):
        async with database.transaction() as connection:
            await connection.execute(INSERT, {"topic": "lost", "version": 1})
            raise RuntimeError
    async with database.read_transaction() as connection:
        topics = (await connection.execute(select(topic_versions.c.topic))).scalars().all()
    assert "kept" in topics
    assert "lost" not in topics


async def test_read_transaction_sees_one_snapshot(database: AsyncDatabase) -> None:
    count = (
        select(func.count())
        .select_from(topic_versions)
        .where(topic_versions.c.topic == "meanwhile")
    )
    async with database.read_transaction() as connection:
        assert (await connection.execute(count)).scalar_one() == 0
        async with database.transaction() as writing:
            await writing.execute(INSERT, {"topic": "meanwhile", "version": 1})
        assert (await connection.execute(count)).scalar_one() == 0
    async with database.read_transaction() as connection:
        assert (await connection.execute(count)).scalar_one() == 1


async def test_prepared_query_sees_the_last_commit(database: AsyncDatabase) -> None:
    find = PreparedQuery(
        database,
        select(topic_versions.c.version, topic_versions.c.topic).where(
            topic_versions.c.topic == bindparam("wanted")
        ),
    )
    assert await find.first(wanted="x") is None
    for version in (1, 2):
        async with database.transaction() as connection:
            await connection.execute(text("DELETE FROM changes"))
            await connection.execute(INSERT, {"topic": "x", "version": version})
        assert tuple(await find.first(wanted="x") or ()) == (version, "x")


async def test_prepared_queries_run_concurrently(database: AsyncDatabase) -> None:
    find = PreparedQuery(
        database,
        select(topic_versions.c.version).where(topic_versions.c.topic == bindparam("wanted")),
    )
    assert await asyncio.gather(*(find.first(wanted=str(n)) for n in range(50))) == [None] * 50


async def test_new_sqlite_files_are_private(tmp_path: Path) -> None:
    file, kept = tmp_path / "fieldgate.db", tmp_path / "kept.db"
    kept.touch()
    kept.chmod(0o640)
    for each in (file, kept):
        database = AsyncDatabase(f"sqlite:///{each}")
        async with database.transaction() as connection:
            await connection.execute(text("CREATE TABLE x (y)"))
        expected = 0o640 if each == kept else 0o600
        modes = [os.stat(f"{each}{suffix}").st_mode for suffix in ("", "-wal", "-shm")]  # noqa: PTH116
        assert [mode & 0o777 for mode in modes] == [expected] * 3
        await database.close()


async def test_sqlite_is_durable_and_checks_foreign_keys(tmp_path: object) -> None:
    database = AsyncDatabase(f"sqlite:///{tmp_path}/new/folder/fieldgate.db")
    async with database.read_transaction() as connection:
        found = {
            name: (await connection.execute(text(f"PRAGMA {name}"))).scalar_one()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
    assert found == {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "busy_timeout": 10_000,
    }
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        database.sqlite_reader().execute("CREATE TABLE x (y)")
    await database.close()


@pytest.mark.parametrize(
    ("url", "driver"),
    [
        ("postgres://u:p%40ss@h/db", "postgresql+asyncpg"),
        ("postgresql://h/db", "postgresql+asyncpg"),
        ("sqlite:////tmp/x.db", "sqlite+aiosqlite"),
    ],
)
def test_accepted_urls(url: str, driver: str) -> None:
    assert AsyncDatabase(url).url.drivername == driver


def test_other_databases_are_refused() -> None:
    with pytest.raises(ValueError, match=r"postgresql://… is needed, not 'mysql'"):
        AsyncDatabase("mysql://h/db")
    with pytest.raises(ValueError, match=r"sqlite:///… or postgresql://… is needed\."):
        AsyncDatabase("second.db")


def test_dsn_keeps_the_password() -> None:
    assert (
        AsyncDatabase("postgres://u:p%40ss@h/db").postgres_url.text == "postgresql://u:p%40ss@h/db"
    )


@given(st.datetimes(timezones=st.just(UTC)))
def test_timestamps_are_exact_to_the_microsecond(timestamp: datetime) -> None:
    assert Timestamp.unpack(Timestamp.pack(timestamp)) == timestamp
    assert (
        Timestamp.pack(timestamp.replace(year=2000) + timedelta(microseconds=1))
        == Timestamp.pack(timestamp.replace(year=2000)) + 1
    )


async def test_a_statement_ends_when_its_reader_is_cancelled(tmp_path: Path) -> None:
    """The work of a client that has left must not go on. It would take half a minute."""
    database = AsyncDatabase(f"sqlite:///{tmp_path}/data.db")
    has_begun, ended = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def begin(number: int) -> int:
        loop.call_soon_threadsafe(has_begun.set)
        return number

    def count(connection: Connection) -> None:
        driver: Any = connection.connection.driver_connection
        driver.create_function("begin_at", 1, begin)
        numbers = (
            "SELECT begin_at(1) UNION ALL SELECT number + 1 FROM numbers WHERE number < 100000000"
        )
        connection.execute(
            text(f"WITH RECURSIVE numbers(number) AS ({numbers}) SELECT count(*) FROM numbers")
        )
        loop.call_soon_threadsafe(ended.set)

    reading = asyncio.create_task(database.read(count))
    await has_begun.wait()
    reading.cancel()
    await asyncio.wait([reading])
    assert reading.cancelled()
    assert not ended.is_set()
    assert (
        await database.read(lambda connection: connection.execute(text("SELECT 1")).scalar_one())
        == 1
    )
    await database.close()


async def test_no_connection_is_lost_if_its_task_is_cancelled(tmp_path: Path) -> None:
    """At whatever step of opening it. The driver warns of a connection that is deleted before it is closed."""
    for steps in range(0, 60, 3):
        database = AsyncDatabase(f"sqlite:///{tmp_path / 'cancelled.db'}")

        async def read(database: AsyncDatabase = database) -> None:
            async with database.read_transaction() as connection:
                await connection.execute(text("SELECT 1"))

        task = asyncio.create_task(read())
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        opened = list(database._opened)
        await database.close()
        assert all(connection._connection is None for connection in opened)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("postgresql://u:se/cret@h/db", "percent-encoded"),
        ("postgresql://u:sec%ret@h/db", "percent-encoded"),
        ("postgresql://u:secret@h:x/db", "port"),
        ("postgresql://u:sec#ret@h/db", "percent-encoded"),
        ("postgresql://u:secret@h/", "name of a database"),
        ("postgresql://u:secret@h/db?secret", "name=value"),
        ("postgresql://u:secret@h/db?nonsense=1", "nonsense"),
        ("mysql://u:secret@h/db", "postgresql://… is needed"),
    ],
)
def test_error_says_what_is_wrong_and_hides_the_password(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        AsyncDatabase(text)
    assert "secret" not in str(caught.value)
    assert "se/cret" not in str(caught.value)


def test_address_for_messages_has_no_password() -> None:
    database = AsyncDatabase(
        "postgresql://u:p%40ss@h1:1,[::1]:5433/db?password=p%40ss&target_session_attrs=read-write"
    )
    assert database.address == "postgresql://u:***@h1:1,[::1]:5433/db"
    assert "p%40ss" in database.postgres_url.text


def test_url_for_commands_has_no_secrets() -> None:
    url = PostgresURL.parse("postgres://u:p%40ss@h1,h2/db?sslpassword=x&password=y&sslmode=require")
    assert url.without_secrets().text == "postgresql://u@h1,h2/db?sslmode=require"


@pytest.mark.parametrize("options", ["", "&target_session_attrs=read-write"])
async def test_second_host_is_used_if_the_first_does_not_answer(
    postgres: str, options: str
) -> None:
    """With a password that has to be encoded; nobody checks it."""
    url = PostgresURL.parse(postgres)
    (socket,) = (
        option.removeprefix("host=") for option in url.options if option.startswith("host=")
    )
    places = f"host=127.0.0.1,{socket}&port={free_port()},5432"
    database = AsyncDatabase(f"postgresql://{url.user}:p%40ss%2F@/{url.database}?{places}{options}")
    connection = await database.connect()
    assert await connection.fetchval("SELECT 1") == 1
    await connection.close()
    await database.close()


table = Table(
    "json_texts", MetaData(), Column("id", Integer, primary_key=True), Column("value", JSON)
)


async def test_columns_have_compact_text(database: AsyncDatabase) -> None:
    value = {"label": ["Où ?", None, 1.5]}
    async with database.transaction() as connection:
        await connection.run_sync(table.metadata.create_all)
        await connection.execute(table.insert().values(id=1, value=value))
        stored, found = (
            await connection.execute(select(cast(table.c.value, Text), table.c.value))
        ).one()
    assert (stored, found) == ('{"label":["Où ?",null,1.5]}', value)


async def test_functions_that_write_store_compact_text(database: AsyncDatabase) -> None:
    await database.write(lambda connection: table.metadata.create_all(connection))
    await database.write(
        lambda connection: connection.execute(table.insert().values(id=1, value={"a": "é"}))
    )
    async with database.read_transaction() as connection:
        assert (
            await connection.execute(select(cast(table.c.value, Text)))
        ).scalar_one() == '{"a":"é"}'


@pytest.mark.parametrize(
    "value", ["\ud800", {"\udfff": 1}, 2**70, float("inf"), "\0", {"1": [True]}]
)
def test_all_that_json_can_store(value: Any) -> None:
    assert decode_json(json.dumps(value)) == value
    if value != float("inf"):
        assert decode_json(encode_json(value)) == value
