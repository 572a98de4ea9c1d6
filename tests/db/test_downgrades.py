"""Every migration can be undone: step by step to an empty database, with data, and up again."""

from datetime import UTC, datetime
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import JSON, Boolean, Column, Connection, LargeBinary, MetaData, Table, inspect, select

import fieldgate.accounts.tables
import fieldgate.assets.tables
import fieldgate.events.tables
import fieldgate.imports.tables
import fieldgate.reference.tables  # noqa: F401  (they register their tables)
from fieldgate.db import Database, Timestamp, metadata, migrations
from fieldgate.db.migrations import lost_by_downgrade, revisions
from fieldgate.db.schema import REQUIRED_REVISION, current_revision, downgrade, upgrade

Rows = list[dict[str, Any]]
Content = dict[str, Rows]

# Tables whose rows a downgrade changes on purpose, by the revision that is undone. See the comments there.
CHANGED = {
    "0005": {"changes"},
    "0007": {"deleted_events", "event_syncs"},
    "0008": {"users"},
    "0011": {"event_syncs"},
    "0012": {"changes"},
    "0013": {"changes"},
}


def value_for(column: Column[Any], number: int) -> Any:
    """A value of the column's type; rows with different numbers differ."""
    if isinstance(column.type, Timestamp):
        return datetime(2026, 1, number, tzinfo=UTC)
    if isinstance(column.type, Boolean):
        return number == 1
    if isinstance(column.type, JSON):
        return {"number": number}
    if isinstance(column.type, LargeBinary):
        return bytes([number]) * 4
    return number if column.type.python_type is int else f"v{number}"


def fill(connection: Connection) -> None:
    """Insert two rows into every table, with a value in every column."""
    for table in metadata.sorted_tables:
        if table.name not in {
            "changes",
            "countries",
            "disaster_types",
            "name_orders",
            "rebuilds",
        }:  # migrations fill them
            rows = [{column.name: value_for(column, number) for column in table.columns} for number in (1, 2)]
            if table.name == "deleted_events":
                rows[0]["kept_visibility"] = None
            connection.execute(table.insert(), rows)


def read_content(connection: Connection) -> Content:
    """All rows of all tables, with the values as the driver returns them."""
    found = MetaData()
    found.reflect(connection)
    return {name: _rows(connection, table) for name, table in found.tables.items() if name != "alembic_version"}


def _rows(connection: Connection, table: Table) -> Rows:
    rows = connection.execute(select(table).order_by(*table.primary_key.columns)).mappings()
    return [dict(row) for row in rows]


def read_schema(connection: Connection) -> dict[str, Any]:
    """Columns, keys and indexes of all tables, without defaults, which do not matter to rows that exist."""
    found = inspect(connection)
    return {
        name: (
            {each["name"]: (str(each["type"]), each["nullable"]) for each in found.get_columns(name)},
            found.get_pk_constraint(name)["constrained_columns"],
            sorted((each["name"] or "", tuple(each["column_names"])) for each in found.get_indexes(name)),
            sorted((each["name"] or "", tuple(each["column_names"])) for each in found.get_unique_constraints(name)),
            sorted((each["name"] or "", each["referred_table"]) for each in found.get_foreign_keys(name)),
        )
        for name in found.get_table_names()
    }


async def run_sync(database: Database, work: Any) -> Any:
    async with database.transaction() as connection:
        return await connection.run_sync(work)


def in_common(before: Content, after: Content, undone: str) -> tuple[Content, Content]:
    """Rows of tables and columns that exist before and after, except where the downgrade changes them on purpose."""
    names = (before.keys() & after.keys()) - CHANGED.get(undone, set())
    kept_before: Content = {}
    kept_after: Content = {}
    for name in names:
        columns = {column for row in (*before[name][:1], *after[name][:1]) for column in row}
        for side in (before, after):
            if side[name]:
                columns &= side[name][0].keys()
        for kept, side in ((kept_before, before), (kept_after, after)):
            kept[name] = [{column: row[column] for column in columns} for row in side[name]]
    return kept_before, kept_after


async def test_every_migration_can_be_undone_and_repeated(empty_database_url: str) -> None:
    database = Database(empty_database_url)
    schemas: dict[str, Any] = {}
    for revision in revisions():
        await migrations._run(database, command.upgrade, revision)
        schemas[revision] = await run_sync(database, read_schema)
    await upgrade(database)
    await run_sync(database, fill)
    for revision, before in reversed(list(zip(revisions(), [None, *revisions()][:-1], strict=True))):
        content = await run_sync(database, read_content)
        await downgrade(database, before or "base")
        assert await current_revision(database) == before
        if before is not None:
            assert await run_sync(database, read_schema) == schemas[before], f"the schema after undoing {revision}"
        expected, found = in_common(content, await run_sync(database, read_content), revision)
        assert found == expected, f"rows after undoing {revision}"
    assert await run_sync(database, read_content) == {}

    await upgrade(database)
    assert await current_revision(database) == REQUIRED_REVISION
    differences = await run_sync(database, lambda sync: compare_metadata(MigrationContext.configure(sync), metadata))
    assert differences == []
    await database.close()


@pytest.mark.parametrize("target", ["0014", "0011", "0008"])
async def test_data_survives_a_step_back_and_forth(database: Database, target: str) -> None:
    """What the older schema has a place for is the same afterwards."""
    await run_sync(database, fill)
    before = await run_sync(database, read_content)
    await downgrade(database, target)
    older = await run_sync(database, read_content)
    await upgrade(database)
    after = await run_sync(database, read_content)
    for name in ("users", "tokens", "assets", "asset_versions", "imports", "files", "events", "event_documents"):
        columns = older[name][0].keys()
        kept = [{column: row[column] for column in columns} for row in before[name]]
        assert [{column: row[column] for column in columns} for row in after[name]] == kept, name


async def test_every_loss_is_counted(database: Database) -> None:
    """All queries work on the current schema, and find the rows that were inserted."""
    nothing = await lost_by_downgrade(database, REQUIRED_REVISION, "base")
    assert {each.revision for each in nothing} == {"0004"}, "a new database has nothing else to lose"
    await run_sync(database, fill)
    lost = await lost_by_downgrade(database, REQUIRED_REVISION, "base")
    assert [each.rows for each in lost if each.what in {"events", "users", "imports", "names of tokens"}] == [2] * 4
    with_loss = {each for each in revisions() if counts_loss(each)}
    assert {each.revision for each in lost} == with_loss - {"0012"}, "there the countries are those of the migrations"


def counts_loss(revision: str) -> bool:
    script = ScriptDirectory.from_config(migrations._config()).get_revision(revision)
    return script is not None and bool(getattr(script.module, "LOSES", {}))
