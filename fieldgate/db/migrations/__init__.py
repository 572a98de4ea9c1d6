"""Schema migrations, run by Alembic.

On SQLite all revisions are one transaction. On PostgreSQL each is one, so that locks are held for one revision only.
Waits for a lock are short, as a statement that waits for a lock on a table blocks everybody who comes after it. If
others keep the table busy, the revision is tried again.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from fieldgate.db.database import Database

LOCK_TIMEOUT = "2s"  # how long a statement of a migration waits for a lock, and blocks others meanwhile
RETRY_SECONDS = 1.0  # before the next attempt
MAX_ATTEMPTS = 60

_LOCK = 0x0F1E1D6A7E  # any number, the same for every process that migrates
_LOCK_NOT_AVAILABLE = "55P03"

log = logging.getLogger(__name__)


class DataLoss(NamedTuple):
    """Rows whose data the older schema cannot hold."""

    revision: str
    what: str
    rows: int


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    config.set_main_option("path_separator", "os")
    return config


def head_revision() -> str | None:
    """Return the newest revision."""
    return ScriptDirectory.from_config(_config()).get_current_head()


def known_revisions() -> frozenset[str]:
    """All revisions that this release can upgrade from, and the newest."""
    return frozenset(script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions())


async def upgrade_to_head(database: Database) -> None:
    """Upgrade the database to the newest revision. Concurrent upgrades wait for each other."""
    async with _without_timeout(database) as patient, _exclusive(patient):
        await _run(patient, command.upgrade, "head")


async def downgrade_to(database: Database, revision: str) -> None:
    """Downgrade the database to a revision. Data that the older schema has no place for is deleted."""
    async with _without_timeout(database) as patient, _exclusive(patient):
        await _run(patient, command.downgrade, revision)


async def lost_by_downgrade(database: Database, current: str, revision: str) -> list[DataLoss]:
    """Return what a downgrade would delete: rows counted by the queries `LOSES` of each revision."""
    script = ScriptDirectory.from_config(_config())
    lost = []
    async with database.read_transaction() as connection:
        for each in script.iterate_revisions(current, revision):
            for what, query in getattr(each.module, "LOSES", {}).items():
                count = (await connection.execute(text(query))).scalar_one()
                if count:
                    lost.append(DataLoss(each.revision, what, count))
    return lost


def revisions() -> Sequence[str]:
    """Return all revisions, oldest first."""
    script = ScriptDirectory.from_config(_config())
    return [each.revision for each in reversed(list(script.walk_revisions()))]


@asynccontextmanager
async def _exclusive(database: Database) -> AsyncIterator[None]:
    """Keep other processes from migrating at the same time. SQLite has one writer anyway.

    A transaction of its own holds the lock: a lock of the session would be lost behind a connection pooler. It must not
    have a snapshot, for which CREATE INDEX CONCURRENTLY would wait: the driver sends a text without parameters as a
    simple query, which leaves none behind.
    """
    if database.is_sqlite:
        yield
        return
    connection = await database.connect()
    try:
        await connection.execute("BEGIN")
        await connection.execute(f"SELECT pg_advisory_xact_lock({_LOCK})")
        yield
    finally:
        connection.terminate()


@asynccontextmanager
async def _without_timeout(database: Database) -> AsyncIterator[Database]:
    """The same PostgreSQL database, but statements can take as long as they need, for example to build an index."""
    if database.is_sqlite:
        yield database
        return
    patient = Database(database.postgres_dsn, command_timeout=None)
    try:
        yield patient
    finally:
        await patient.close()


async def _run(database: Database, action: Any, revision: str) -> None:
    def migrate(connection: Connection) -> None:
        config = _config()
        config.attributes["connection"] = connection
        config.attributes["lock_timeout"] = LOCK_TIMEOUT
        action(config, revision)

    if database.is_sqlite:
        async with database.transaction() as connection:
            await connection.run_sync(migrate)
        return
    for attempt in range(1, MAX_ATTEMPTS + 1):
        try:
            async with database.connection() as connection:
                await connection.run_sync(migrate)
            return
        except DBAPIError as error:
            if getattr(error.orig, "sqlstate", None) != _LOCK_NOT_AVAILABLE or attempt == MAX_ATTEMPTS:
                raise
            log.info("a table is in use; trying again, attempt %d of %d", attempt + 1, MAX_ATTEMPTS)
            await asyncio.sleep(RETRY_SECONDS)
