"""Which schema this release needs, which one a database has, and how to get from one to the other."""

from sqlalchemy import inspect, text

from fieldgate.db.database import Database

REQUIRED_REVISION = "0009"  # the newest revision in migrations/versions


async def current_revision(database: Database) -> str | None:
    """The revision the database is at; None before the first."""
    async with database.read_transaction() as connection:
        if not await connection.run_sync(lambda sync: inspect(sync).has_table("alembic_version")):
            return None
        revision: str | None = (await connection.execute(text("SELECT version_num FROM alembic_version"))).scalar()
        return revision


async def upgrade(database: Database) -> None:
    """Bring the database to the needed revision. Costs a question when it is there already."""
    if await current_revision(database) == REQUIRED_REVISION:
        return
    # Imported here: the migrations' library is heavy, and most processes never migrate.
    from fieldgate.db.migrations import upgrade_to_head

    await upgrade_to_head(database)
