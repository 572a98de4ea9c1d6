"""Migrations: what the program `migrate` makes is what the code declares, and a later revision keeps all data."""

import hashlib
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Boolean, Column, Connection, LargeBinary, inspect, select, text
from sqlalchemy.types import JSON, Float, Integer, String

import fieldgate
from fieldgate.db import AsyncDatabase, Timestamp, migrations, sqlite_file
from fieldgate.db.schema import REQUIRED_REVISION, REVISIONS, SchemaStatus, read_state
from fieldgate.db.tables import metadata
from fieldgate.db.use_lock import shared_use

LATER_REVISION = """
import os
import signal

import sqlalchemy as sa
from alembic import op

revision = "0002_test"
down_revision = {down_revision!r}


def upgrade():
    op.add_column("users", sa.Column("motto", sa.Text(), server_default="none", nullable=False))
    op.create_index("ix_users_motto", "users", ["motto"])
    if os.environ.get("KILL_MIGRATION"):
        os.kill(os.getpid(), signal.SIGKILL)
    op.execute("UPDATE users SET motto = username")
"""
# A later release in a process of its own: this code, with one more revision.
LATER_RELEASE = """
import sys
from fieldgate.db import migrations, schema

migrations.REVISION_FOLDERS.append(sys.argv.pop(1))
schema.REVISIONS = (*schema.REVISIONS, "0002_test")
schema.REQUIRED_REVISION = "0002_test"

from fieldgate.cli import main

main()
"""


def run_migrate(address: str, *arguments: str) -> None:
    environment = {**os.environ, "FIELDGATE_DATABASE_URL": address}
    command = [sys.executable, "-m", "fieldgate", "migrate", *arguments]
    subprocess.run(command, env=environment, check=True, capture_output=True)


@pytest.fixture(autouse=True)
def _all_tables() -> None:
    """Load every module that declares tables, also of a package that nothing imports yet."""
    package = Path(fieldgate.__file__).parent
    for path in package.glob("*/tables.py"):
        import_module(f"fieldgate.{path.parent.name}.tables")


def test_revisions_are_those_of_the_files() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    config.set_main_option("path_separator", "os")
    scripts = ScriptDirectory.from_config(config).walk_revisions()
    assert tuple(script.revision for script in scripts)[::-1] == REVISIONS


async def test_a_migrated_database_has_the_declared_tables(empty_database_url: str) -> None:
    run_migrate(empty_database_url)

    def compare(connection: Connection) -> list[Any]:
        # Alembic cannot compare defaults that are empty texts on SQLite.
        options = {
            "compare_type": True,
            "compare_server_default": connection.dialect.name == "postgresql",
        }
        return list(
            compare_metadata(MigrationContext.configure(connection, opts=options), metadata)
        )

    database = AsyncDatabase(empty_database_url)
    async with database.read_transaction() as connection:
        assert await connection.run_sync(compare) == []
    await database.close()


def test_the_first_revision_has_another_name_when_its_tables_change(tmp_path: Path) -> None:
    """Until 0.1 it may change. The digest in its name makes sure that databases of before are refused."""
    run_migrate(f"sqlite:///{tmp_path}/fieldgate.db")
    with sqlite3.connect(tmp_path / "fieldgate.db") as connection:
        rows = connection.execute(
            "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name"
        ).fetchall()
    digest = hashlib.sha256("\n".join(sql for (sql,) in rows).encode()).hexdigest()[:8]
    assert REVISIONS[0] == f"0001_{digest}", "rename the revision in 0001_schema.py"


class OlderDatabase:
    """A database of this release with a row in every table, and a later release that opens it."""

    def __init__(self, database: AsyncDatabase, address: str, folder: Path) -> None:
        self.database = database
        self.address = address
        self.folder = folder
        folder.mkdir()
        (folder / "0002_test.py").write_text(LATER_REVISION.format(down_revision=REQUIRED_REVISION))

    async def fill(self) -> None:
        async with self.database.transaction() as connection:
            for table in metadata.sorted_tables:
                values = {}
                for column in table.columns:
                    values[column.name] = await self._value(connection, column)
                await connection.execute(table.insert().values(values))

    async def _value(self, connection: Any, column: Column[Any]) -> object:
        for key in column.foreign_keys:
            return (
                await connection.execute(select(key.column).order_by(key.column.desc()).limit(1))
            ).scalar()
        return _example(column)

    async def rows(self) -> Mapping[str, list[Any]]:
        async with self.database.read_transaction() as connection:
            return {
                table.name: list(
                    await connection.execute(select(table).order_by(*table.primary_key.columns))
                )
                for table in metadata.sorted_tables
            }

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", LATER_RELEASE, str(self.folder), *arguments]
        own = {**os.environ, "FIELDGATE_DATABASE_URL": self.address, **environment}
        return subprocess.run(command, env=own, capture_output=True, text=True, check=False)

    async def indexes_and_mottos(self) -> tuple[bool, list[Any]]:
        async with self.database.read_transaction() as connection:
            indexes = await connection.run_sync(lambda sync: inspect(sync).get_indexes("users"))
            mottos = (
                (await connection.execute(text("SELECT username = motto FROM users")))
                .scalars()
                .all()
            )
        return "ix_users_motto" in {index["name"] for index in indexes}, list(mottos)


def _example(column: Column[Any]) -> object:
    if isinstance(column.type, Timestamp):
        return datetime(2026, 11, 19, tzinfo=UTC)
    if isinstance(column.type, Boolean):
        return True
    if isinstance(column.type, JSON):
        return {"a": [1, "é"]}
    if isinstance(column.type, LargeBinary):
        return b"\x00\xff"
    if isinstance(column.type, Integer | Float):
        return 9077
    assert isinstance(column.type, String), column
    return "x9077"[: column.type.length]


@pytest.fixture
async def older(database: AsyncDatabase, database_url: str, tmp_path: Path) -> OlderDatabase:
    older = OlderDatabase(database, database_url, tmp_path / "revisions")
    await older.fill()
    return older


async def test_a_later_revision_keeps_all_data(older: OlderDatabase) -> None:
    before = await older.rows()
    assert all(before.values()), "a row in every table"
    refused = older.run("user", "list")
    assert refused.returncode == 1
    assert "run: fieldgate migrate" in refused.stderr
    if older.database.is_sqlite:  # on PostgreSQL, operators stop the services first
        with shared_use(sqlite_file(older.address)):
            assert "another process uses it" in older.run("migrate").stderr
    assert await older.rows() == before
    migrated = older.run("migrate")
    assert migrated.stdout == f"schema 0002_test, was {REQUIRED_REVISION}\n", migrated.stderr
    assert await older.rows() == before
    has_index, mottos = await older.indexes_and_mottos()
    assert has_index
    assert mottos
    assert all(mottos)
    assert older.run("migrate").stdout == "schema 0002_test (nothing to do)\n"
    assert (await read_state(older.database)).status is SchemaStatus.OTHER, (
        "this release refuses it"
    )


@pytest.mark.nightly
async def test_a_migration_that_is_killed_changes_nothing(older: OlderDatabase) -> None:
    before = await older.rows()
    killed = older.run("migrate", KILL_MIGRATION="yes")
    assert killed.returncode == -signal.SIGKILL
    assert await older.rows() == before
    assert (await read_state(older.database)).status is SchemaStatus.CURRENT
    assert older.run("migrate").returncode == 0
    assert await older.rows() == before
    assert all((await older.indexes_and_mottos())[1])
