"""`fieldgate events …`. Here: demo events; the other commands are in `events_load_sync.py` and `events_reindex.py`."""

import asyncio
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fieldgate.cli.common import data_option, ensure_schema, load_settings, open_database
from fieldgate.cli.events_load_sync import load, sync
from fieldgate.cli.events_reindex import reindex
from fieldgate.db import Database, DataVersions

if TYPE_CHECKING:
    from fieldgate.events.store import EventStore

BATCH_SIZE = 2000  # events of one transaction
MAX_DEMO_EVENTS = 10_000_000


@click.group()
def events() -> None:
    """Load, sync and rebuild events."""


events.add_command(load)
events.add_command(sync)
events.add_command(reindex)


@events.command("demo")
@click.argument("count", metavar="N", type=click.IntRange(1, MAX_DEMO_EVENTS))
@click.option("--seed", default=0, show_default=True, help="Another number makes other events.")
@click.option("--replace", is_flag=True, help="Delete the demo events that are there first.")
@data_option
def demo(count: int, seed: int, replace: bool, data: Path | None) -> None:
    """Make up N events to try things with. They are never mixed with real ones."""
    asyncio.run(_demo(count, seed, replace, data))


async def _demo(count: int, seed: int, replace: bool, data: Path | None) -> None:
    from fieldgate.events.store import EventStore  # here, as below: what it needs takes a while to load

    database = open_database(load_settings(data))
    try:
        await ensure_schema(database)
        store = EventStore(database, DataVersions(database))
        if await store.has_real():
            raise click.ClickException("There are real events here. Make demo events in another folder: --data DIR")
        if await store.has_demo():
            if not replace:
                raise click.ClickException("There are demo events already. To make others in their place: --replace")
            await store.delete_demo()
        began = time.monotonic()
        with _progress_bar(count) as advance:
            await create_demo_events(database, store, count, seed, advance)
        click.echo(f"made {count} demo events in {time.monotonic() - began:.1f} s")
    finally:
        await database.close()


async def create_demo_events(
    database: Database,
    store: "EventStore",
    count: int,
    seed: int = 0,
    on_progress: Callable[[int], None] = lambda made: None,  # noqa: ARG005
) -> None:
    from fieldgate.events.demo.generator import demo_events
    from fieldgate.reference.store import ReferenceStore

    directory = await ReferenceStore(database, DataVersions(database)).current()
    made = demo_events(count, directory, seed)
    while some := list(islice(made, BATCH_SIZE)):
        await store.upsert(some, is_demo=True)
        on_progress(len(some))


@contextmanager
def _progress_bar(count: int) -> Iterator[Callable[[int], None]]:
    """A bar on the terminal, and nothing where standard error is none."""
    if not sys.stderr.isatty():
        yield lambda made: None  # noqa: ARG005
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=count)
        yield lambda made: bar.advance(task, made)
