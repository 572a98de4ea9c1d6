"""`fieldgate events demo`, and the group of the other commands about events."""

import asyncio
import time
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fieldgate.cli.common import data_option, load_settings, open_database
from fieldgate.cli.events_load_sync import load, sync
from fieldgate.cli.output import ProgressReporter, ignore_progress, progress_bar
from fieldgate.db import Database, DataVersions

if TYPE_CHECKING:
    from fieldgate.events.store import EventStore

BATCH_SIZE = 2000  # events in one transaction
MAX_DEMO_EVENTS = 10_000_000


@click.group()
def events() -> None:
    """Load, pull and generate events."""


events.add_command(load)
events.add_command(sync)


@events.command("demo")
@click.argument("count", metavar="N", type=click.IntRange(1, MAX_DEMO_EVENTS))
@click.option(
    "--seed", default=0, show_default=True, help="Seed of the generator; the same seed gives the same events."
)
@click.option("--replace", is_flag=True, help="Delete existing demo events first.")
@data_option
def demo(count: int, seed: int, replace: bool, data: Path | None) -> None:
    """Generate N demo events. They are never mixed with real events."""
    asyncio.run(_demo(count, seed, replace, data))


async def _demo(count: int, seed: int, replace: bool, data: Path | None) -> None:
    from fieldgate.events.store import EventStore  # slow to import, and other commands do not need it

    async with open_database(load_settings(data), creates=True) as database:
        store = EventStore(database, DataVersions(database))
        if await store.has_real():
            raise click.ClickException(
                "This database has real events. Choose another folder for demo events: --data DIR"
            )
        has_demo = await store.has_demo()
        if has_demo and not replace:
            raise click.ClickException("This database already has demo events. Replace them with --replace.")
        started = time.monotonic()
        with progress_bar(count) as show:
            if has_demo:
                await store.delete_demo()
            await create_demo_events(database, store, count, seed, show)
        click.echo(f"created {count} demo event{'' if count == 1 else 's'} in {time.monotonic() - started:.1f} s")


async def create_demo_events(
    database: Database,
    store: "EventStore",
    count: int,
    seed: int = 0,
    on_progress: ProgressReporter = ignore_progress,
) -> None:
    from fieldgate.events.demo.generator import demo_events
    from fieldgate.reference.store import ReferenceStore

    reference_data = await ReferenceStore(database, DataVersions(database)).current()
    generated = demo_events(count, reference_data, seed)
    created = 0
    while batch := list(islice(generated, BATCH_SIZE)):
        await store.upsert(batch, is_demo=True)
        created += len(batch)
        on_progress(created, count)
