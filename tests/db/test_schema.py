"""Migrations create the tables that the code uses, on both databases."""

import asyncio
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, select, text

import fieldgate.accounts.tables
import fieldgate.assets.tables
import fieldgate.events.tables
import fieldgate.imports.tables
import fieldgate.reference.tables  # noqa: F401  (they register their tables)
from fieldgate.db import IDENTITY_TOPIC, Database, DataVersions, metadata, migrations
from fieldgate.db.migrations import head_revision
from fieldgate.db.schema import REQUIRED_REVISION, current_revision, upgrade
from fieldgate.reference.tables import disaster_types
from tests.conftest import new_database


async def test_migrations_create_the_tables_of_the_code(database: Database) -> None:
    async with database.read_transaction() as connection:
        differences = await connection.run_sync(
            lambda sync: compare_metadata(MigrationContext.configure(sync, opts={"compare_type": True}), metadata)
        )
    assert differences == []


def test_required_revision_is_the_newest() -> None:
    assert head_revision() == REQUIRED_REVISION


async def test_every_database_has_its_own_identity(
    database_kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Also databases of tests, which are copies: cached responses must not be shared between them."""
    found: set[int] = set()
    for name in "ab":
        (tmp_path / name).mkdir()
        async with new_database(database_kind, tmp_path / name, request) as address:
            database = Database(address)
            found.update(await DataVersions(database).versions((IDENTITY_TOPIC,)))
            await database.close()
    assert len(found - {0}) == 2


async def test_concurrent_migrations_wait_for_each_other(empty_database_url: str) -> None:
    databases = [Database(empty_database_url) for _ in range(4)]
    assert await current_revision(databases[0]) is None
    await asyncio.gather(*(upgrade(database) for database in databases))
    assert await current_revision(databases[0]) == REQUIRED_REVISION
    for database in databases:
        await database.close()


async def test_revision_3_fills_in_name_keys(empty_database_url: str) -> None:
    database = Database(empty_database_url)
    blank = {"settings": "{}", "tags": "[]", "summary": "{}"}

    def upgrade_to_revision_2(connection: Connection) -> None:
        config = migrations._config()
        config.attributes["connection"] = connection
        command.upgrade(config, "0002")

    async with database.transaction() as connection:
        await connection.run_sync(upgrade_to_revision_2)
        await connection.execute(
            text(
                "INSERT INTO users (id, username, username_key, password_hash, first_name, last_name, is_superuser,"
                " is_ifrc, is_demo, countries, created_at) VALUES (1, 'a', 'a', 'x', '', '', false, false, false,"
                " '[]', 0)"
            )
        )
        await connection.execute(text("INSERT INTO files (id, name, digest, data) VALUES (1, 'f', 'd', 'd')"))
        for number, name in enumerate(("École", "zone")):
            await connection.execute(
                text(
                    "INSERT INTO assets (uid, owner_id, asset_type, name, settings, tags, summary, created_at,"
                    " modified_at) VALUES (:uid, 1, 'survey', :name, :settings, :tags, :summary, 0, 0)"
                ),
                {"uid": f"a{number}", "name": name, **blank},
            )
    await upgrade(database)
    async with database.read_transaction() as connection:
        keys = await connection.execute(text("SELECT name_key FROM assets ORDER BY id"))
        assert keys.scalars().all() == ["école", "zone"]
        assert (await connection.execute(text("SELECT name FROM files"))).scalars().all() == ["f"]
    await database.close()


@pytest.mark.parametrize(
    ("before", "after"), [("Flash Flood", "Pluvial/Flash Flood"), ("Sudden flood", "Sudden flood")]
)
async def test_revision_12_renames_flash_floods(empty_database_url: str, before: str, after: str) -> None:
    """Unless the name came from another server."""
    database = Database(empty_database_url)

    def upgrade_to_revision_10(connection: Connection) -> None:
        config = migrations._config()
        config.attributes["connection"] = connection
        command.upgrade(config, "0010")
        connection.execute(disaster_types.update().where(disaster_types.c.id == 27).values(names={"en": before}))

    async with database.transaction() as connection:
        await connection.run_sync(upgrade_to_revision_10)
    await upgrade(database)
    async with database.read_transaction() as connection:
        names = (await connection.execute(select(disaster_types.c.names).where(disaster_types.c.id == 27))).scalar_one()
    assert names["en"] == after
    assert ("fr" in names) is (before != after)
    await database.close()
