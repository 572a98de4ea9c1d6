"""The schema revision that this release needs, that of a database, and upgrades from one to the other.

A database of an earlier release is upgraded, and keeps its data. Until 0.1 there is one revision, whose name changes
when its tables do, so that databases of before are refused.
"""

import re
from enum import Enum
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection, inspect, text

from fieldgate.db.async_database import AsyncDatabase
from fieldgate.db.outages import DatabaseGone

_FILES = Path(__file__).parent / "migrations" / "versions"


def _read_names() -> tuple[str, ...]:
    """The names of the revisions, oldest first. Loading Alembic to find them would take too long."""
    texts = [file.read_text(encoding="utf-8") for file in sorted(_FILES.glob("*.py"))]
    return tuple(re.findall(r'^revision = "(\w+)"$', "\n".join(texts), re.MULTILINE))


REVISIONS = _read_names()
REQUIRED_REVISION = REVISIONS[-1]
WITHOUT_REVISION = (
    "without a revision"  # of a database that has tables, but does not say of which schema
)


class SchemaStatus(Enum):
    CURRENT = "current"
    EMPTY = "empty"
    OLDER = "older"  # that of an earlier release: it can be upgraded
    OTHER = "other"


class SchemaState(NamedTuple):
    """The schema of a database, seen from this release."""

    status: SchemaStatus
    revision: str | None

    @property
    def is_usable(self) -> bool:
        return self.status is SchemaStatus.CURRENT

    @property
    def problem(self) -> tuple[str, str]:
        """What is wrong, and what to do. Only if it is not usable."""
        if self.status is SchemaStatus.EMPTY:
            return "The database has no tables of Fieldgate.", "Run: fieldgate migrate"
        other = (
            f"The database has schema {self.revision}, and this release needs {REQUIRED_REVISION}."
        )
        if self.status is SchemaStatus.OLDER:
            return other, "Stop the service, make a backup, and run: fieldgate migrate"
        return (
            other,
            "Go on with the version of Fieldgate that wrote it, or export the data with that version and start with a "
            "new data folder or database.",
        )

    @property
    def message(self) -> str:
        return " ".join(self.problem)


class UnsupportedSchema(DatabaseGone):
    """The database has another schema than that of this release. The text says what to do."""

    def __init__(self, state: SchemaState) -> None:
        super().__init__(state.message)
        self.state = state


async def current_revision(database: AsyncDatabase) -> str | None:
    """Return the revision of the database, None if it has no tables."""
    return (await read_state(database)).revision


def _read_revision(connection: Connection) -> str | None:
    tables = inspect(connection)
    if tables.has_table("alembic_version"):
        revision: str | None = connection.execute(
            text("SELECT version_num FROM alembic_version")
        ).scalar()
        if revision is not None:
            return revision
    return WITHOUT_REVISION if tables.has_table("users") or tables.has_table("changes") else None


async def read_state(database: AsyncDatabase) -> SchemaState:
    """Return the schema of the database, and whether this release can use it."""
    async with database.read_transaction() as connection:
        return await connection.run_sync(state_of)


def state_of(connection: Connection) -> SchemaState:
    """Return the schema of the database of a connection."""
    revision = _read_revision(connection)
    if revision is None:
        return SchemaState(SchemaStatus.EMPTY, None)
    if revision == REQUIRED_REVISION:
        return SchemaState(SchemaStatus.CURRENT, revision)
    return SchemaState(
        SchemaStatus.OLDER if revision in REVISIONS else SchemaStatus.OTHER, revision
    )


async def upgrade(database: AsyncDatabase) -> SchemaState:
    """Create the tables, or upgrade those of an earlier release. Returns the state that the database had before."""
    state = await read_state(database)
    if state.status is SchemaStatus.OTHER:
        raise UnsupportedSchema(state)
    if state.status is not SchemaStatus.CURRENT:
        # Imported here because Alembic is slow to load, and most processes never migrate.
        from fieldgate.db.migrations import run_migrations

        async with database.transaction() as connection:
            await connection.run_sync(run_migrations)
    return state
