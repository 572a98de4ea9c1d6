"""`fieldgate events load` and `fieldgate events sync`: events from files and from other servers."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

from fieldgate.cli.opening import data_option, open_database, prepare, settings_for
from fieldgate.db import Changes, Database
from fieldgate.events.loading import BadFile, Loose, records
from fieldgate.events.loading import load as load_records
from fieldgate.events.store import EventStore
from fieldgate.events.writing import Failure, Written
from fieldgate.http.language import Language
from fieldgate.reference.store import ReferenceStore

STEP = 100  # records between two looks of the progress bar

replace_demo_option = click.option(
    "--replace-demo", is_flag=True, help="Delete the demo events first; without it, nothing is mixed with them."
)


class Stores(NamedTuple):
    database: Database
    events: EventStore
    reference: ReferenceStore


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--language",
    type=click.Choice([language.value for language in Language]),
    default=Language.ENGLISH.value,
    show_default=True,
    help="Language of texts that do not say theirs.",
)
@replace_demo_option
@data_option
def load(files: tuple[str, ...], language: str, replace_demo: bool, data: Path | None) -> None:
    """Write the events in FILEs: pages as the interface gives them, arrays, lines of JSON, or CSV; gzipped or not.

    `-` is standard input. What is there already in the same state stays as it is, and nothing is deleted. A record
    with a mistake is not written and told of; the others are.
    """
    written = asyncio.run(_load(files, Language(language), replace_demo, data))
    click.echo(str(written))
    if written.failed:
        raise SystemExit(1)


async def _load(files: tuple[str, ...], language: Language, replace_demo: bool, data: Path | None) -> Written:
    async with stores(data) as opened:
        await refuse_demo(opened.events, replace_demo)
        with _progress() as progress:
            task = progress.add_task("events", total=None)
            try:
                found = _counted((each for name in files for each in records(name)), progress, task)
                return await load_records(opened.events, opened.reference, found, language, tell)
            except BadFile as error:
                raise click.ClickException(str(error)) from None


def _counted(found: Iterable[Loose], progress: Progress, task: TaskID) -> Iterator[Loose]:
    for count, each in enumerate(found, start=1):
        yield each
        if count % STEP == 0:
            progress.update(task, completed=count)


@asynccontextmanager
async def stores(data: Path | None) -> AsyncIterator[Stores]:
    """What events are written to: the database that `--data` and the environment name."""
    database = open_database(settings_for(data))
    changes = Changes(database)
    try:
        await prepare(database)
        yield Stores(database, EventStore(database, changes), ReferenceStore(database, changes))
    finally:
        await database.close()


async def refuse_demo(store: EventStore, replace_demo: bool) -> None:
    """Real events and made-up ones never mix: their ids would collide."""
    if not await store.has_demo():
        return
    if not replace_demo:
        raise click.ClickException("There are demo events in this database. Delete them first with --replace-demo.")
    click.echo(f"deleted {await store.delete_demo()} demo events")


def tell(failure: Failure) -> None:
    click.echo(str(failure), err=True)


def _progress() -> Progress:
    """A bar for people; nothing where nobody watches."""
    console = Console(stderr=True)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
