"""`fieldgate events reindex`: rebuild what is derived from stored events."""

import asyncio
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fieldgate.cli.common import data_option, ensure_schema, load_settings, open_database
from fieldgate.db import DataVersions

if TYPE_CHECKING:
    from fieldgate.db.rebuild import ProgressCallback


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
    if count is None:
        click.echo("nothing to do: all events are in the current format")
    else:
        click.echo(f"rebuilt {count} events in {time.monotonic() - began:.1f} s")


async def _reindex(is_forced: bool, data: Path | None) -> int | None:
    from fieldgate.events.reindex import event_rebuilder  # here: its imports take a while

    database = open_database(load_settings(data))
    try:
        await ensure_schema(database)
        with _progress_bar() as show:
            rebuilder = event_rebuilder(database, DataVersions(database))
            if not await rebuilder.run(is_forced=is_forced, on_progress=show):
                return None
        return (await rebuilder.state()).done
    finally:
        await database.close()


@contextmanager
def _progress_bar() -> Iterator["ProgressCallback"]:
    """A progress bar, if standard error is a terminal."""
    if not sys.stderr.isatty():
        yield lambda done, total: None  # noqa: ARG005
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
