"""The schema revision that this release needs, that of a database, and the upgrade."""

from sqlalchemy import inspect, text

from fieldgate.db.database import Database

REQUIRED_REVISION = "0016"  # the newest revision in migrations/versions
UNFINISHED_COPY = "unfinished copy"  # the revision of a database that `fieldgate db copy` is filling


async def current_revision(database: Database) -> str | None:
    """Return the revision of the database, None if it has no tables."""
    async with database.read_transaction() as connection:
        if not await connection.run_sync(lambda sync: inspect(sync).has_table("alembic_version")):
            return None
        revision: str | None = (await connection.execute(text("SELECT version_num FROM alembic_version"))).scalar()
        return revision


async def upgrade(database: Database) -> None:
    """Upgrade the database to the required revision. Takes one query if it already has it."""
    if await current_revision(database) == REQUIRED_REVISION:
        return
    # Imported here because Alembic is slow to load, and most processes never migrate.
    from fieldgate.db.migrations import upgrade_to_head

    await upgrade_to_head(database)
