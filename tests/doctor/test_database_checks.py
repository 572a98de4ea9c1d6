"""Checks inside the database, on SQLite and PostgreSQL."""

from datetime import timedelta

import pytest
from sqlalchemy import text

from fieldgate.db import Database, now
from fieldgate.db.tables import Timestamp
from fieldgate.doctor.database_checks import check_database
from fieldgate.doctor.findings import Level


async def problems(database: Database) -> list[str]:
    found = await check_database(database)
    return [f"{each.level}: {each.message} {each.advice}" for each in found if each.level != Level.OK]


async def execute(database: Database, statement: str) -> None:
    async with database.transaction() as connection:
        await connection.execute(text(statement))


async def add_import(database: Database, minutes_ago: int, lease_until: str = "NULL") -> None:
    created = Timestamp.pack(now() - timedelta(minutes=minutes_ago))
    async with database.transaction() as connection:
        await connection.execute(text("INSERT INTO files (id, name, data) VALUES (1, 'a', '')"))
        await connection.execute(
            text(
                "INSERT INTO imports (uid, user_id, status, filename, file_id, name, is_library, desired_type, "
                "messages, created_at, attempts, lease_until) VALUES ('a', -1, 'processing', 'a', 1, '', false, '', "
                f"'{{}}', {created}, 0, {lease_until})"
            )
        )


async def test_healthy_database(database: Database) -> None:
    assert await problems(database) == []
    checks = {finding.check for finding in await check_database(database)}
    assert {"database", "schema", "identity", "clock", "worker", "index"} <= checks


async def test_events_in_another_format(database: Database) -> None:
    await execute(database, "INSERT INTO event_format (format) VALUES (0)")
    (found,) = await problems(database)
    assert "another format than that of this release" in found
    assert "fieldgate migrate" in found


@pytest.mark.parametrize(
    ("revision", "expected"),
    [("0001", "has schema 0001, and"), ("9999", "has schema 9999, and")],
)
async def test_other_schema(database: Database, revision: str, expected: str) -> None:
    await execute(database, f"UPDATE alembic_version SET version_num = '{revision}'")
    (found,) = await problems(database)
    assert found.startswith("error: ")
    assert expected in found


async def test_without_tables(empty_database_url: str) -> None:
    database = Database(empty_database_url)
    (found,) = await problems(database)
    await database.close()
    assert "no tables of Fieldgate" in found


async def test_import_that_waits(database: Database) -> None:
    await add_import(database, minutes_ago=30)
    (found,) = await problems(database)
    assert "1 imports wait, the oldest for 30 minutes" in found
    assert "fieldgate worker" in found


async def test_import_that_is_read(database: Database) -> None:
    await add_import(database, 30, str(Timestamp.pack(now() + timedelta(hours=1))))
    assert await problems(database) == []


async def test_data_from_the_future(database: Database) -> None:
    if database.is_sqlite:
        await add_import(database, minutes_ago=-60)
        (found,) = await problems(database)
        assert "later than the clock" in found


async def test_identity_is_missing(database: Database, database_url: str) -> None:
    await execute(database, "DELETE FROM changes WHERE topic = 'identity'")
    again = Database(database_url)  # the first one remembers the id
    (found,) = await problems(again)
    await again.close()
    assert "has no id" in found


async def test_database_that_is_away() -> None:
    database = Database("postgresql://amina:hunter2@127.0.0.1:9/field")
    (found,) = await problems(database)
    await database.close()
    assert found.startswith("error: The database cannot be used: ")
    assert "hunter2" not in found


async def test_damaged_file(database: Database) -> None:
    if database.is_sqlite:
        await execute(database, "DROP TABLE imports")
        (found,) = await problems(database)
        assert "cannot be used" in found
