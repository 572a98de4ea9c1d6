"""The schema of a database: its tables, its revision, and what happens if it is another one."""

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import text

from fieldgate.db import IDENTITY_TOPIC, AsyncDatabase, DataVersions
from fieldgate.db.database_identity import (
    UnexpectedDatabase,
    check_marker,
    marker_file,
    read_identity,
    read_marker,
    remove_marker,
    write_marker,
)
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
from tests.databases import prepare_database


async def test_partial_indexes(database: AsyncDatabase) -> None:
    """Those of the queue and the trash must not grow with what is done or in use."""
    query = "SELECT name FROM sqlite_master WHERE type = 'index' AND sql LIKE '%WHERE%'"
    if not database.is_sqlite:
        query = "SELECT indexname FROM pg_indexes WHERE indexdef LIKE '%WHERE%'"
    async with database.read_transaction() as connection:
        found = set((await connection.execute(text(query))).scalars())
    assert found == {
        "ix_assets_deleted_at",
        "ix_assets_parent_id",
        "ix_assignments_expires_at",
        "ix_imports_user_id_id_lease_until",
    }


async def test_every_database_has_its_own_identity(
    database_kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Also databases of tests, which are copies: cached responses must not be shared between them."""
    found: set[int] = set()
    for name in "ab":
        (tmp_path / name).mkdir()
        async with new_database(database_kind, tmp_path / name, request) as address:
            database = AsyncDatabase(address)
            found.update(await DataVersions(database).versions((IDENTITY_TOPIC,)))
            await database.close()
    assert len(found - {0}) == 2


async def test_concurrent_migrations_wait_for_each_other(empty_database_url: str) -> None:
    databases = [AsyncDatabase(empty_database_url) for _ in range(4)]
    assert await current_revision(databases[0]) is None
    await asyncio.gather(*(upgrade(database) for database in databases))
    assert await current_revision(databases[0]) == REQUIRED_REVISION
    for database in databases:
        await database.close()


@pytest.mark.parametrize("revision", ["0001", "0018", "1a2b3c4d", ""])
async def test_other_schema_is_refused(database: AsyncDatabase, revision: str) -> None:
    async with database.transaction() as connection:
        await connection.execute(
            text("UPDATE alembic_version SET version_num = :revision"), {"revision": revision}
        )
    await check_refused(database, revision)


@pytest.mark.parametrize("statement", ["DROP TABLE alembic_version", "DELETE FROM alembic_version"])
async def test_tables_without_a_revision_are_refused(
    database: AsyncDatabase, statement: str
) -> None:
    async with database.transaction() as connection:
        await connection.execute(text(statement))
    await check_refused(database, WITHOUT_REVISION)


async def check_refused(database: AsyncDatabase, revision: str) -> None:
    assert await read_state(database) == (SchemaStatus.OTHER, revision)
    assert await unready_reason(database) is Outage.MISSING
    with pytest.raises(UnsupportedSchema, match="start with a new data folder") as caught:
        await upgrade(database)
    assert "\n" not in str(caught.value)


async def test_database_without_tables_is_empty(empty_database_url: str) -> None:
    database = AsyncDatabase(empty_database_url)
    assert await read_state(database) == (SchemaStatus.EMPTY, None)
    assert await unready_reason(database) is Outage.MISSING
    assert (await upgrade(database)).status is SchemaStatus.EMPTY
    assert await read_state(database) == (SchemaStatus.CURRENT, REQUIRED_REVISION)
    assert await unready_reason(database) is None
    await database.close()


async def unready_reason(database: AsyncDatabase) -> Outage | None:
    readiness = DatabaseReadiness(database)
    try:
        return await readiness.unready_reason()
    finally:
        await readiness.stop()  # it would look at the database again and again


async def new_file(folder: Path) -> Path:
    database = AsyncDatabase(f"sqlite:///{folder / 'fieldgate.db'}")
    await prepare_database(database)
    await database.close()
    return folder / "fieldgate.db"


async def test_marker_names_the_database(tmp_path: Path) -> None:
    file = await new_file(tmp_path)
    identity = read_identity(file)
    assert identity is not None
    assert read_marker(file) is None
    check_marker(file, identity)
    check_marker(file, None)
    write_marker(file, identity)
    assert marker_file(file) == tmp_path / "fieldgate.db.id"
    assert read_marker(file) == identity
    check_marker(file, identity)
    for other in (None, identity + 1):
        with pytest.raises(UnexpectedDatabase, match="fieldgate migrate --new"):
            check_marker(file, other)
    remove_marker(file)
    remove_marker(file)
    assert read_marker(file) is None
    assert not marker_file(file).exists()


def test_files_without_an_identity(tmp_path: Path) -> None:
    file = tmp_path / "a file%20?.db"
    assert read_identity(file) is None
    assert not file.exists(), "nothing is created"
    file.touch()
    assert read_identity(file) is None
    marker_file(file).write_text("not a number")
    assert read_marker(file) is None
