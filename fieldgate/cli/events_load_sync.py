"""`fieldgate events load` and `fieldgate events sync`: events from files and from other servers."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from fieldgate.cli.common import data_option, ensure_schema, load_settings, open_database
from fieldgate.db import Database, DataVersions
from fieldgate.i18n.languages import LANGUAGES_BY_CODE, Language

# What reads and writes events takes a while to load, and the other commands need none of it: imported where it is used.
if TYPE_CHECKING:
    from fieldgate.events.ingest.bulk_write import BulkWriteResult, WriteFailure
    from fieldgate.events.ingest.file_loader import FileRecord
    from fieldgate.events.store import EventStore
    from fieldgate.events.sync.synchronizer import SyncReport
    from fieldgate.reference.store import ReferenceStore

PROGRESS_INTERVAL = 100  # records between two looks at the progress bar

ProgressReporter = Callable[[int, int | None], None]  # how many of how many, where that is known

replace_demo_option = click.option(
    "--replace-demo", is_flag=True, help="Delete the demo events first; without it, nothing is mixed with them."
)


class EventStores(NamedTuple):
    database: Database
    events: "EventStore"
    reference: "ReferenceStore"


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--language",
    type=click.Choice(list(LANGUAGES_BY_CODE)),
    default="en",
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
    written = asyncio.run(_load(files, language, replace_demo, data))
    click.echo(str(written))
    if written.failed:
        raise SystemExit(1)


async def _load(files: tuple[str, ...], language: str, replace_demo: bool, data: Path | None) -> "BulkWriteResult":
    from fieldgate.events.ingest import file_loader

    async with _open_stores(data) as (_, store, reference):
        await _check_demo_events(store, replace_demo)
        with _progress_bar() as show:
            found = _with_progress((each for name in files for each in file_loader.read_records(name)), show)
            try:
                return await file_loader.load(store, reference, found, Language(language), _print_failure)
            except file_loader.InvalidFile as error:
                raise click.ClickException(str(error)) from None


def _with_progress(records: Iterable["FileRecord"], on_progress: ProgressReporter) -> Iterator["FileRecord"]:
    for count, each in enumerate(records, start=1):
        yield each
        if count % PROGRESS_INTERVAL == 0:
            on_progress(count, None)


def _parse_timestamp(_: click.Context, __: click.Parameter, value: str | None) -> datetime | None:
    from fieldgate.http.request.validation import parse_timestamp

    try:
        return None if value is None else parse_timestamp(value)
    except ValueError:
        raise click.BadParameter(
            f"a moment such as 2026-11-15 or 2026-11-15T08:30:00Z is needed, not {value!r}."
        ) from None


@click.command()
@click.argument("base_url", metavar="BASE_URL")
@click.option("--token", default="", help="Token of that server; with it details and hidden events are pulled too.")
@click.option(
    "--since", callback=_parse_timestamp, metavar="MOMENT", help="Pull what changed since; else since the last time."
)
@click.option("--full", is_flag=True, help="Pull everything, whatever was pulled before.")
@replace_demo_option
@data_option
def sync(base_url: str, token: str, since: datetime | None, full: bool, replace_demo: bool, data: Path | None) -> None:
    """Pull events, countries and disaster types from another server with this interface, such as IFRC GO.

    BASE_URL is its address, such as https://goadmin.ifrc.org. The first time everything is pulled, then what changed.
    A run that was stopped is gone on with by the next. Only what that server says it has deleted is deleted.
    """
    if since is not None and full:
        raise click.UsageError("--since and --full contradict each other.")
    report = asyncio.run(_sync(base_url, token, since, full, replace_demo, data))
    if report.resumed:
        click.echo("went on with a run that had been stopped")
    if report.since is not None:
        click.echo(f"asked for what changed since {report.since:%Y-%m-%d %H:%M:%S} UTC")
    click.echo(f"countries changed {report.countries}, disaster types changed {report.types}")
    click.echo(str(report.events))
    if report.events.failed:
        raise SystemExit(1)


async def _sync(
    base_url: str, token: str, since: datetime | None, full: bool, replace_demo: bool, data: Path | None
) -> "SyncReport":
    from fieldgate.events.sync.remote import RemoteError, RemoteServer
    from fieldgate.events.sync.synchronizer import Sync

    async with _open_stores(data) as (database, store, reference):
        await _check_demo_events(store, replace_demo)
        try:
            with _progress_bar() as show:
                async with RemoteServer(base_url, token) as far:
                    return await Sync(far, database, store, reference, _print_failure, show).run(since, full=full)
        except RemoteError as error:
            raise click.ClickException(str(error)) from None


@asynccontextmanager
async def _open_stores(data: Path | None) -> AsyncIterator[EventStores]:
    """What events are written to: the database that `--data` and the environment name."""
    from fieldgate.events.store import EventStore
    from fieldgate.reference.store import ReferenceStore

    database = open_database(load_settings(data))
    changes = DataVersions(database)
    try:
        await ensure_schema(database)
        yield EventStores(database, EventStore(database, changes), ReferenceStore(database, changes))
    finally:
        await database.close()


async def _check_demo_events(store: "EventStore", replace_demo: bool) -> None:
    """Real events and made-up ones never mix: their ids would collide."""
    if not await store.has_demo():
        return
    if not replace_demo:
        raise click.ClickException("There are demo events in this database. Delete them first with --replace-demo.")
    click.echo(f"deleted {await store.delete_demo()} demo events")


def _print_failure(failure: "WriteFailure") -> None:
    click.echo(str(failure), err=True)


@contextmanager
def _progress_bar() -> Iterator[ProgressReporter]:
    """A bar on the terminal, and nothing where standard error is none."""
    if not sys.stderr.isatty():
        yield lambda done, total: None  # noqa: ARG005
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn

    columns = BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
