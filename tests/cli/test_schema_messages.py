"""A database with another schema gives a message that says what to do."""

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import text

from fieldgate.db import Database
from fieldgate.db.schema import REQUIRED_REVISION
from tests.processes import free_port, run_command

COMMANDS = [
    ("serve",),
    ("worker",),
    ("migrate",),
    ("user", "list"),
]


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
async def test_other_schema_is_a_message(database_url: str, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    database = Database(database_url)
    async with database.transaction() as connection:
        await connection.execute(text("UPDATE alembic_version SET version_num = '0018'"))
    await database.close()
    environment = {"FIELDGATE_DATABASE_URL": database_url, "FIELDGATE_PORT": str(free_port())}
    done = await asyncio.to_thread(run_command, *arguments, data=tmp_path, environment=environment)
    assert (done.returncode, done.stdout) == (1, "")
    expected = f"Error: The database has schema 0018, and this release needs {REQUIRED_REVISION}. "
    assert done.stderr.startswith(expected)
    assert "start with a new data folder" in done.stderr
    assert done.stderr.count("\n") == 1


def test_bad_url_is_a_message_without_the_password(tmp_path: Path) -> None:
    url = "postgresql://u:se/cret@h/db"
    done = run_command("user", "list", data=tmp_path, environment={"FIELDGATE_DATABASE_URL": url})
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: FIELDGATE_DATABASE_URL: a port is not a number")
    assert "cret" not in done.stderr
