"""`fieldgate migrate`: create the tables of the database, and rebuild what is derived from stored events."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
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
from fieldgate.cli.output import progress_bar
from fieldgate.db import AsyncDatabase, DataVersions, sqlite_file
from fieldgate.db.schema import REQUIRED_REVISION, SchemaStatus, read_state
from fieldgate.db.use_lock import DatabaseInUse, exclusive_use
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
    """Create the tables of the database, or upgrade those of an earlier release. Then rebuild the search index and
    documents of stored events, if this release needs that.

    It is safe to run it again. Stop the service first. On SQLite, `serve` does the same at start-up. A database with
    an unknown schema is refused.
    """
    settings = load_settings(data)
    asyncio.run(_upgrade(settings, accepts_any=new))
    rebuild_events(settings)


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


def rebuild_events(settings: Settings) -> None:
    """Rebuild what is derived from stored events, if it has another format than that of this release."""
    file = sqlite_file(settings.database)
    if file is not None and not file.exists():
        return
    with in_use(settings):
        if not _run(settings, _has_other_format):
            return
    began = time.monotonic()
    try:
        with nullcontext() if file is None else exclusive_use(file):
            count = _run(settings, _rebuild)
    except DatabaseInUse:
        raise click.ClickException(
            "Stored events must be rebuilt for this release, and another process uses the database. Stop it first."
        ) from None
    click.echo(f"rebuilt {count} events in {time.monotonic() - began:.1f} s", err=True)


def _run(settings: Settings, work: Callable[[AsyncDatabase], Awaitable[T]]) -> T:
    async def run() -> T:
        database = connect(settings, creates=False)
        try:
            return await work(database)
        finally:
            await database.close()

    return asyncio.run(run())


async def _has_other_format(database: AsyncDatabase) -> bool:
    from fieldgate.events.derived_tables import has_other_format  # here: its imports take a while

    return (await read_state(database)).is_usable and await has_other_format(database)


async def _rebuild(database: AsyncDatabase) -> int:
    from fieldgate.events.derived_tables import rebuild_derived_tables

    with progress_bar() as show:
        return await rebuild_derived_tables(database, DataVersions(database), show)
