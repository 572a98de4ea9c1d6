"""Which schemas a release supports: its own, and that of the next release, if that one says so."""

import pytest
from sqlalchemy import text

from fieldgate.db import Database
from fieldgate.db.data_versions import COMPATIBILITY_TOPIC
from fieldgate.db.migrations import revisions
from fieldgate.db.outages import Outage
from fieldgate.db.readiness import DatabaseReadiness
from fieldgate.db.schema import (
    COMPATIBLE_SINCE,
    REQUIRED_REVISION,
    SchemaStatus,
    UnsupportedSchema,
    read_state,
    upgrade,
)

OWN = int(REQUIRED_REVISION)


async def unready_reason(database: Database) -> Outage | None:
    readiness = DatabaseReadiness(database)
    try:
        return await readiness.unready_reason()
    finally:
        await readiness.monitor.stop()  # it would look at the database again and again


async def set_schema(database: Database, revision: str, compatible_since: int | None) -> None:
    """As if another release had migrated the database."""
    async with database.transaction() as connection:
        await connection.execute(text("UPDATE alembic_version SET version_num = :revision"), {"revision": revision})
        await connection.execute(text("DELETE FROM changes WHERE topic = :topic"), {"topic": COMPATIBILITY_TOPIC})
        if compatible_since is not None:
            await connection.execute(
                text("INSERT INTO changes (topic, version) VALUES (:topic, :since)"),
                {"topic": COMPATIBILITY_TOPIC, "since": compatible_since},
            )


def test_release_is_compatible_with_a_schema_that_exists() -> None:
    assert COMPATIBLE_SINCE in revisions()
    assert COMPATIBLE_SINCE <= REQUIRED_REVISION


@pytest.mark.parametrize(
    ("revision", "compatible_since", "status"),
    [
        (REQUIRED_REVISION, OWN, SchemaStatus.CURRENT),
        (REQUIRED_REVISION, None, SchemaStatus.CURRENT),
        (f"{OWN + 1:04}", OWN, SchemaStatus.COMPATIBLE),
        (f"{OWN + 3:04}", OWN, SchemaStatus.COMPATIBLE),  # the next release has three migrations
        (f"{OWN + 4:04}", OWN + 3, SchemaStatus.NEWER),  # the release after the next
        (f"{OWN + 1:04}", OWN + 1, SchemaStatus.NEWER),  # the next release cannot work side by side
        (f"{OWN + 1:04}", None, SchemaStatus.NEWER),
        (f"{OWN - 1:04}", OWN - 1, SchemaStatus.OLDER),
        ("1a2b3c4d", OWN, SchemaStatus.UNKNOWN),
        ("", OWN, SchemaStatus.UNKNOWN),
    ],
)
async def test_supported_range(
    database: Database, revision: str, compatible_since: int | None, status: SchemaStatus
) -> None:
    await set_schema(database, revision, compatible_since)
    state = await read_state(database)
    assert state == (status, revision)
    is_usable = status in {SchemaStatus.CURRENT, SchemaStatus.COMPATIBLE}
    assert (await unready_reason(database) is None) is is_usable
    if status in {SchemaStatus.NEWER, SchemaStatus.UNKNOWN}:
        with pytest.raises(UnsupportedSchema) as caught:
            await upgrade(database)
        assert "\n" not in str(caught.value)
    elif is_usable:
        assert await upgrade(database) == state


async def test_database_without_tables_is_empty(empty_database_url: str) -> None:
    database = Database(empty_database_url)
    assert await read_state(database) == (SchemaStatus.EMPTY, None)
    assert await unready_reason(database) is Outage.SCHEMA
    await upgrade(database)
    async with database.read_transaction() as connection:
        query = text("SELECT version FROM changes WHERE topic = :topic")
        since = (await connection.execute(query, {"topic": COMPATIBILITY_TOPIC})).scalar_one()
    assert since == int(COMPATIBLE_SINCE), "an upgrade says which releases can use the database"
    await database.close()
