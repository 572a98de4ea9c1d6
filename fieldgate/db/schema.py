"""The schema revision that this release needs, that of a database, and the upgrade.

During a rolling upgrade, processes of the release before work on the schema of the new one. Which releases can do so is
known to the new one only: its upgrade stores `COMPATIBLE_SINCE` in the database, and an older program compares it.
"""

from enum import Enum
from typing import NamedTuple

from sqlalchemy import Connection, case, delete, inspect, select, text

from fieldgate.db.data_versions import COMPATIBILITY_TOPIC
from fieldgate.db.database import Database
from fieldgate.db.tables import topic_versions
from fieldgate.db.upsert import upsert

REQUIRED_REVISION = "0018"  # the newest revision in migrations/versions
UNFINISHED_COPY = "unfinished copy"  # the revision of a database that `fieldgate db copy` is filling
# The oldest program that works on the schema of this release, by the revision that it requires: that of the release
# before. CONTRIBUTING.md has the rules for migrations that make this true.
COMPATIBLE_SINCE = "0015"


class SchemaStatus(Enum):
    CURRENT = "current"
    COMPATIBLE = "compatible"  # of the next release, which declares that this one works on it
    OLDER = "older"
    NEWER = "newer"
    EMPTY = "empty"
    UNKNOWN = "unknown"


class SchemaState(NamedTuple):
    """The schema of a database, seen from this release."""

    status: SchemaStatus
    revision: str | None

    @property
    def is_usable(self) -> bool:
        return self.status in {SchemaStatus.CURRENT, SchemaStatus.COMPATIBLE}

    @property
    def message(self) -> str:
        """What is wrong, and what to do."""
        match self.status:
            case SchemaStatus.OLDER:
                return (
                    f"The database has schema {self.revision}, and this release needs {REQUIRED_REVISION}. "
                    "Run: fieldgate migrate"
                )
            case SchemaStatus.NEWER:
                return (
                    f"The database has schema {self.revision} of a newer release. This release supports "
                    f"{REQUIRED_REVISION}, and the release after it. Install the newer release. To go back instead, "
                    f"run with the newer release: fieldgate migrate --to {REQUIRED_REVISION}"
                )
            case SchemaStatus.UNKNOWN:
                return (
                    f"The database has the unknown schema revision {self.revision!r}. Check that it is a database of "
                    "Fieldgate, or restore a backup."
                )
            case SchemaStatus.EMPTY:
                return "The database has no tables of Fieldgate. Run: fieldgate migrate"
            case _:
                return f"The database has schema {self.revision}."


class UnsupportedSchema(Exception):
    """The schema is outside of the range that this release supports. The text says what to do."""

    def __init__(self, state: SchemaState) -> None:
        super().__init__(state.message)
        self.state = state


async def current_revision(database: Database) -> str | None:
    """Return the revision of the database, None if it has no tables."""
    async with database.read_transaction() as connection:
        if not await connection.run_sync(lambda sync: inspect(sync).has_table("alembic_version")):
            return None
        revision: str | None = (await connection.execute(text("SELECT version_num FROM alembic_version"))).scalar()
        return revision


async def read_state(database: Database) -> SchemaState:
    """Return the schema of the database, and whether this release can use it."""
    revision = await current_revision(database)
    if revision is None:
        return SchemaState(SchemaStatus.EMPTY, None)
    if revision == REQUIRED_REVISION:
        return SchemaState(SchemaStatus.CURRENT, revision)
    if not is_revision(revision):
        return SchemaState(SchemaStatus.UNKNOWN, revision)
    if int(revision) < int(REQUIRED_REVISION):
        return SchemaState(SchemaStatus.OLDER, revision)
    query = select(topic_versions.c.version).where(topic_versions.c.topic == COMPATIBILITY_TOPIC)
    async with database.read_transaction() as connection:
        since = (await connection.execute(query)).scalar()
    is_compatible = since is not None and since <= int(REQUIRED_REVISION)
    return SchemaState(SchemaStatus.COMPATIBLE if is_compatible else SchemaStatus.NEWER, revision)


def is_revision(text: str) -> bool:
    """Whether this has the form of a revision: four digits."""
    return len(text) == len(REQUIRED_REVISION) and text.isascii() and text.isdecimal()


async def upgrade(database: Database) -> SchemaState:
    """Upgrade the database to the required revision, unless it is usable already. Returns the state it had before."""
    state = await read_state(database)
    if state.is_usable:
        return state
    if state.status in {SchemaStatus.NEWER, SchemaStatus.UNKNOWN}:
        raise UnsupportedSchema(state)
    # Imported here because Alembic is slow to load, and most processes never migrate.
    from fieldgate.db.migrations import upgrade_to_head

    # First, so that programs of the release before never see a newer schema without it.
    if state.revision is not None:
        await database.write(_store_compatibility)
    await upgrade_to_head(database)
    await database.write(_store_compatibility)
    return state


async def downgrade(database: Database, revision: str) -> None:
    """Go back to a revision. Data that the older schema has no place for is deleted."""
    from fieldgate.db.migrations import downgrade_to

    await database.write(_delete_compatibility)
    await downgrade_to(database, revision)


def _store_compatibility(connection: Connection) -> None:
    """Store `COMPATIBLE_SINCE`; a later one stays, if two releases migrate at the same time."""
    since = int(COMPATIBLE_SINCE)
    later = case((topic_versions.c.version > since, topic_versions.c.version), else_=since)
    statement = upsert(connection.dialect, topic_versions, {"version": later})
    connection.execute(statement, {"topic": COMPATIBILITY_TOPIC, "version": since})


def _delete_compatibility(connection: Connection) -> None:
    connection.execute(delete(topic_versions).where(topic_versions.c.topic == COMPATIBILITY_TOPIC))
