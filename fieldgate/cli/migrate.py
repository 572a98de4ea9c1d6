"""`fieldgate migrate`: create the tables of the database."""

import asyncio
from pathlib import Path

import click

from fieldgate.cli.common import (
    announce_creation,
    connect,
    data_option,
    in_use,
    load_settings,
    mark_database,
    upgrade_schema,
)
from fieldgate.db.schema import REQUIRED_REVISION, SchemaStatus, read_state


@click.command()
@click.option(
    "--new",
    is_flag=True,
    help="Use this SQLite database from now on, or create one, although another one was used here before.",
)
@data_option
def migrate(new: bool, data: Path | None) -> None:
    """Create the tables of the database.

    It is safe to run it again, and on several machines at once. On SQLite, `serve` does it at start-up. A database with
    another schema is refused.
    """
    with in_use(load_settings(data)):
        asyncio.run(_upgrade(data, accepts_any=new))


async def _upgrade(data: Path | None, *, accepts_any: bool) -> None:
    database = connect(load_settings(data), creates=True, accepts_any=accepts_any)
    try:
        before = await read_state(database)
        if before.status is SchemaStatus.EMPTY:
            announce_creation(database)
        await upgrade_schema(database)
        mark_database(database, accepts_any=accepts_any)
    finally:
        await database.close()
    if before.status is SchemaStatus.CURRENT:
        click.echo(f"schema {REQUIRED_REVISION} (nothing to do)")
    else:
        click.echo(f"schema {REQUIRED_REVISION}, was empty")
