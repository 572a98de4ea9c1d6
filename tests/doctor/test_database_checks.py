"""Checks inside the database, on SQLite and PostgreSQL."""

from datetime import timedelta

import pytest
from sqlalchemy import text

from fieldgate.db import AsyncDatabase, now
from fieldgate.db.tables import Timestamp
from fieldgate.doctor.database_checks import check_database
from fieldgate.doctor.findings import Level


async def problems(database: AsyncDatabase) -> list[str]:
    found = await check_database(database)
    return [
        f"{each.level}: {each.message} {each.advice}" for each in found if each.level != Level.OK
    ]


async def add_import(
    database: AsyncDatabase, minutes_ago: int, lease_until: str = "NULL", lease: str = "NULL"
) -> None:
    created = Timestamp.pack(now() - timedelta(minutes=minutes_ago))
    async with database.transaction() as connection:
        await connection.execute(text("INSERT INTO files (id, name, data) VALUES (1, 'a', '')"))
        await connection.execute(
            text(
                "INSERT INTO imports (uid, user_id, status, filename, file_id, name, is_library, asks_if_exists, "
                "desired_type, messages, created_at, attempts, busy_tries, lease, lease_until) "
                "VALUES ('a', -1, 'processing', 'a', 1, '', false, false, '', "
                f"'{{}}', {created}, 0, 0, {lease}, {lease_until})"
            )
        )


async def test_healthy_database(database: AsyncDatabase) -> None:
    assert await problems(database) == []
    checks = {finding.check for finding in await check_database(database)}
    assert {"database", "schema", "identity", "clock", "worker", "index"} <= checks


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (
            "INSERT INTO event_format (format) VALUES (0)",
            "another format than that of this release",
        ),
        ("UPDATE alembic_version SET version_num = '9999'", "has schema 9999, and"),
        ("DELETE FROM changes WHERE topic = 'identity'", "has no id"),
        ("DROP TABLE imports", "cannot be used"),
    ],
)
async def test_broken_database(
    database: AsyncDatabase, database_url: str, statement: str, expected: str
) -> None:
    async with database.transaction() as connection:
        await connection.execute(text(statement))
    again = AsyncDatabase(database_url)  # the first one remembers the id
    (found,) = await problems(again)
    await again.close()
    assert expected in found


async def test_without_tables(empty_database_url: str) -> None:
    database = AsyncDatabase(empty_database_url)
    (found,) = await problems(database)
    await database.close()
    assert "no tables of Fieldgate" in found


async def test_import_that_waits(database: AsyncDatabase) -> None:
    await add_import(database, minutes_ago=30)
    (found,) = await problems(database)
    assert "1 imports wait, the oldest for 30 minutes" in found
    assert "fieldgate worker" in found


async def test_import_that_is_read(database: AsyncDatabase) -> None:
    await add_import(database, 30, str(Timestamp.pack(now() + timedelta(hours=1))), "'a'")
    assert await problems(database) == []


async def test_data_from_the_future(database: AsyncDatabase) -> None:
    if database.is_sqlite:
        await add_import(database, minutes_ago=-60)
        (found,) = await problems(database)
        assert "later than the clock" in found


async def test_database_that_is_away() -> None:
    database = AsyncDatabase("postgresql://amina:hunter2@127.0.0.1:9/field")
    (found,) = await problems(database)
    await database.close()
    assert found.startswith("error: The database cannot be used: ")
    assert "hunter2" not in found
