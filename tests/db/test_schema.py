"""Migrations lead to the very tables the code uses, on both databases, however many processes run them."""

import asyncio

from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

import fieldgate.accounts.tables
import fieldgate.assets.tables
import fieldgate.events.tables
import fieldgate.imports.tables
import fieldgate.reference.tables  # noqa: F401  (all of them join the registry)
from fieldgate.db import Database, metadata
from fieldgate.db.migrations import head
from fieldgate.db.schema import NEEDED, current, upgrade


async def test_migrations_make_the_tables_of_the_code(database: Database) -> None:
    async with database.reading() as connection:
        differences = await connection.run_sync(
            lambda sync: compare_metadata(MigrationContext.configure(sync, opts={"compare_type": True}), metadata)
        )
    assert differences == []


def test_the_needed_revision_is_the_newest() -> None:
    assert head() == NEEDED


async def test_processes_that_migrate_at_once_take_turns(database_url: str) -> None:
    databases = [Database(database_url) for _ in range(4)]
    assert await current(databases[0]) is None
    await asyncio.gather(*(upgrade(database) for database in databases))
    assert await current(databases[0]) == NEEDED
    for database in databases:
        await database.close()
