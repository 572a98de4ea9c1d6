"""Migrations create the tables that the code uses, on both databases."""

import asyncio
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import text

import fieldgate.accounts.tables
import fieldgate.assets.tables
import fieldgate.events.tables
import fieldgate.imports.tables
import fieldgate.reference.tables  # noqa: F401  (they register their tables)
from fieldgate.db import IDENTITY_TOPIC, Database, DataVersions, metadata
from fieldgate.db.database_readiness import DatabaseReadiness
from fieldgate.db.outages import Outage
from fieldgate.db.schema import (
    REQUIRED_REVISION,
    WITHOUT_REVISION,
    SchemaStatus,
    UnsupportedSchema,
    current_revision,
    read_state,
    upgrade,
)
from tests.conftest import new_database


async def test_migrations_create_the_tables_of_the_code(database: Database) -> None:
    async with database.read_transaction() as connection:
        differences = await connection.run_sync(
            lambda sync: compare_metadata(MigrationContext.configure(sync, opts={"compare_type": True}), metadata)
        )
    assert differences == []


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


@pytest.mark.parametrize("revision", ["0001", "0018", "1a2b3c4d", ""])
async def test_other_schema_is_refused(database: Database, revision: str) -> None:
    async with database.transaction() as connection:
        await connection.execute(text("UPDATE alembic_version SET version_num = :revision"), {"revision": revision})
    await check_refused(database, revision)


@pytest.mark.parametrize("statement", ["DROP TABLE alembic_version", "DELETE FROM alembic_version"])
async def test_tables_without_a_revision_are_refused(database: Database, statement: str) -> None:
    async with database.transaction() as connection:
        await connection.execute(text(statement))
    await check_refused(database, WITHOUT_REVISION)


async def check_refused(database: Database, revision: str) -> None:
    assert await read_state(database) == (SchemaStatus.OTHER, revision)
    assert await unready_reason(database) is Outage.MISSING
    with pytest.raises(UnsupportedSchema, match="start with a new data folder") as caught:
        await upgrade(database)
    assert "\n" not in str(caught.value)


async def test_database_without_tables_is_empty(empty_database_url: str) -> None:
    database = Database(empty_database_url)
    assert await read_state(database) == (SchemaStatus.EMPTY, None)
    assert await unready_reason(database) is Outage.MISSING
    assert (await upgrade(database)).status is SchemaStatus.EMPTY
    assert await read_state(database) == (SchemaStatus.CURRENT, REQUIRED_REVISION)
    assert await unready_reason(database) is None
    await database.close()


async def unready_reason(database: Database) -> Outage | None:
    readiness = DatabaseReadiness(database)
    try:
        return await readiness.unready_reason()
    finally:
        await readiness.stop()  # it would look at the database again and again
