"""`fieldgate events store-index`: store the index of events, so that the service starts faster."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fieldgate.cli.common import data_option, load_settings, open_database
from fieldgate.runtime.parent_watch import exit_with_parent

if TYPE_CHECKING:
    from fieldgate.events.index_storing import StoreResult


@click.command("store-index")
@data_option
def store_index(data: Path | None) -> None:
    """Store the index of events, so that the next start of the service is faster.

    The service does this in the background when there are many events. Safe while it runs.
    """
    exit_with_parent()
    result = asyncio.run(_store_index(data))
    if result is None:
        click.echo("not stored: another process is storing it, events are being rebuilt, or it is too large")
    else:
        click.echo(f"stored the index of {result.events} events in {result.bytes} bytes")


async def _store_index(data: Path | None) -> "StoreResult | None":
    from fieldgate.events.index_storing import IndexStorer  # here: its imports take a while

    async with open_database(load_settings(data)) as database:
        return await IndexStorer(database).store()
