"""`fieldgate migrate`: create the tables of the database, or upgrade them."""

import asyncio
from pathlib import Path
from typing import TypeVar

import click

from fieldgate.cli.common import (
    announce_creation,
    connect,
    create_tables,
    data_option,
    in_use,
    load_settings,
    mark_database,
    upgrade_older_schema,
)
from fieldgate.db.schema import REQUIRED_REVISION, SchemaStatus, read_state
from fieldgate.settings import Settings

T = TypeVar("T")


@click.command()
@click.option(
    "--new",
    is_flag=True,
    help="Use this SQLite database from now on, or create one, although another one was used here before.",
)
@data_option
def migrate(new: bool, data: Path | None) -> None:
    """Create the tables of the database, or upgrade those of an earlier release.

    It is safe to run it again. Stop the service first. On SQLite, `serve` does the same at start-up. A database with
    an unknown schema is refused.
    """
    settings = load_settings(data)
    asyncio.run(_upgrade(settings, accepts_any=new))


async def _upgrade(settings: Settings, *, accepts_any: bool) -> None:
    database = connect(settings, creates=True, accepts_any=accepts_any)
    try:
        before = await read_state(database)
        await upgrade_older_schema(settings, database)
        with in_use(settings):
            if before.status is SchemaStatus.EMPTY:
                announce_creation(database)
            await create_tables(database)
            mark_database(database, accepts_any=accepts_any)
    finally:
        await database.close()
    if before.status is SchemaStatus.CURRENT:
        click.echo(f"schema {REQUIRED_REVISION} (nothing to do)")
    else:
        click.echo(f"schema {REQUIRED_REVISION}, was {before.revision or 'empty'}")
