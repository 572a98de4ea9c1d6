"""Checks inside the database, on SQLite and PostgreSQL."""

from datetime import timedelta

import pytest
from sqlalchemy import text

from fieldgate.db import AsyncDatabase, now
from fieldgate.db.tables import Timestamp
from fieldgate.doctor.database_checks import check_database
from fieldgate.doctor.findings import Finding, Level
from tests.data.sql import write_sql


async def findings(database_url: str) -> list[Finding]:
    database = AsyncDatabase(database_url)
    found = await check_database(database)
    await database.close()
    return found


async def problems(database_url: str) -> list[str]:
    found = await findings(database_url)
    return [
        f"{each.level}: {each.message} {each.advice}" for each in found if each.level != Level.OK
    ]


def add_import(
    database_url: str, minutes_ago: int, lease_until: str = "NULL", lease: str = "NULL"
) -> None:
    created = Timestamp.pack(now() - timedelta(minutes=minutes_ago))
    with write_sql(database_url) as connection:
        connection.execute(text("INSERT INTO files (id, name, data) VALUES (1, 'a', '')"))
        connection.execute(
            text(
                "INSERT INTO imports (uid, user_id, status, filename, file_id, name, is_library, asks_if_exists, "
                "desired_type, messages, created_at, attempts, busy_tries, lease, lease_until) "
                "VALUES ('a', -1, 'processing', 'a', 1, '', false, false, '', "
                f"'{{}}', {created}, 0, 0, {lease}, {lease_until})"
            )
        )


async def test_healthy_database(database_url: str) -> None:
    assert await problems(database_url) == []
    checks = {finding.check for finding in await findings(database_url)}
    assert {"database", "schema", "identity", "clock", "worker"} <= checks


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("UPDATE alembic_version SET version_num = '9999'", "has schema 9999, and"),
        ("DELETE FROM changes WHERE topic = 'identity'", "has no id"),
        ("DROP TABLE imports", "cannot be used"),
    ],
)
async def test_broken_database(database_url: str, statement: str, expected: str) -> None:
    with write_sql(database_url) as connection:
        connection.execute(text(statement))
    (found,) = await problems(database_url)
    assert expected in found


async def test_without_tables(empty_database_url: str) -> None:
    (found,) = await problems(empty_database_url)
    assert "no tables of Fieldgate" in found


async def test_import_that_waits(database_url: str) -> None:
    add_import(database_url, minutes_ago=30)
    (found,) = await problems(database_url)
    assert "1 imports wait, the oldest for 30 minutes" in found
    assert "fieldgate worker" in found


async def test_import_that_is_read(database_url: str) -> None:
    add_import(database_url, 30, str(Timestamp.pack(now() + timedelta(hours=1))), "'a'")
    assert await problems(database_url) == []


async def test_data_from_the_future(database_url: str) -> None:
    if database_url.startswith("sqlite"):
        add_import(database_url, minutes_ago=-60)
        (found,) = await problems(database_url)
        assert "later than the clock" in found


async def test_database_that_is_away() -> None:
    (found,) = await problems("postgresql://amina:hunter2@127.0.0.1:9/field")
    assert found.startswith("error: The database cannot be used: ")
    assert "hunter2" not in found
