"""`fieldgate events reindex`: rebuild what is derived from stored events."""

import asyncio
import time
from pathlib import Path

import click

from fieldgate.cli.common import data_option, load_settings, open_database
from fieldgate.cli.output import progress_bar
from fieldgate.db import DataVersions


@click.command()
@click.option("--all", "is_forced", is_flag=True, help="Rebuild all events, not only those in an old format.")
@data_option
def reindex(is_forced: bool, data: Path | None) -> None:
    """Rebuild the documents and facets of stored events.

    The service does this in the background after an upgrade. Safe while it runs. If another process is rebuilding, this
    one waits and shows its progress.
    """
    began = time.monotonic()
    count = asyncio.run(_reindex(is_forced, data))
    if not count and not is_forced:
        click.echo("nothing to do: all events are in the current format")
    else:
        click.echo(f"rebuilt {count} events in {time.monotonic() - began:.1f} s")


async def _reindex(is_forced: bool, data: Path | None) -> int | None:
    from fieldgate.events.reindex import event_rebuilder  # here: its imports take a while

    async with open_database(load_settings(data)) as database:
        with progress_bar() as show:
            rebuilder = event_rebuilder(database, DataVersions(database))
            if not await rebuilder.run(is_forced=is_forced, on_progress=show):
                return None
        return (await rebuilder.state()).done
