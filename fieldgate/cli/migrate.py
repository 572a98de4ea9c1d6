"""`fieldgate migrate`: upgrade the database schema."""

import asyncio
from pathlib import Path

import click

from fieldgate.cli.common import announce_creation, connect, data_option, in_use, load_settings, mark_database
from fieldgate.db.schema import REQUIRED_REVISION, current_revision, upgrade


@click.command()
@click.option(
    "--new",
    is_flag=True,
    help="Use this SQLite database from now on, or create one, although another one was used here before.",
)
@data_option
def migrate(new: bool, data: Path | None) -> None:
    """Upgrade the database to the schema of this release.

    It is safe to run it again, and on several machines at once. On SQLite, `serve` does it at start-up.
    """
    with in_use(load_settings(data)):
        asyncio.run(_migrate(data, accepts_any=new))


async def _migrate(data: Path | None, *, accepts_any: bool) -> None:
    database = connect(load_settings(data), creates=True, accepts_any=accepts_any)
    try:
        before = await current_revision(database)
        if before is None:
            announce_creation(database)
        await upgrade(database)
        mark_database(database, accepts_any=accepts_any)
    finally:
        await database.close()
    click.echo(
        f"schema {REQUIRED_REVISION}"
        + (" (nothing to do)" if before == REQUIRED_REVISION else f", was {before or 'empty'}")
    )
