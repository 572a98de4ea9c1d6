"""`fieldgate events load` and `fieldgate events sync`."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, get_args

import click

from fieldgate.cli.common import data_option, ensure_schema, load_settings, open_database
from fieldgate.db import Database, DataVersions
from fieldgate.events.model import LanguageCode

# Imported where they are used: these modules load slowly, and other commands do not need them.
if TYPE_CHECKING:
    from fieldgate.events.ingest.bulk_write import BulkWriteResult, WriteFailure
    from fieldgate.events.ingest.file_loader import FileRecord
    from fieldgate.events.store import EventStore
    from fieldgate.events.sync.synchronizer import SyncReport
    from fieldgate.reference.store import ReferenceStore

PROGRESS_INTERVAL = 100  # records between two updates of the progress bar

ProgressReporter = Callable[[int, int | None], None]  # records done, records in total if known

replace_demo_option = click.option(
    "--replace-demo",
    is_flag=True,
    help="Delete existing demo events first. Without it, the command stops if there are any.",
)


class EventStores(NamedTuple):
    database: Database
    events: "EventStore"
    reference: "ReferenceStore"


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--language",
    type=click.Choice(get_args(LanguageCode)),
    default="en",
    show_default=True,
    help="Language of texts given as plain strings.",
)
@replace_demo_option
@data_option
def load(files: tuple[str, ...], language: str, replace_demo: bool, data: Path | None) -> None:
    """Load events from FILEs: JSON (API pages, arrays, one record per line) or CSV, optionally gzipped.

    `-` is standard input. Existing events are updated, none are deleted. Invalid records are reported and skipped;
    the rest are saved.
    """
    result = asyncio.run(_load(files, language, replace_demo, data))
    click.echo(str(result))
    if result.failed:
        raise SystemExit(1)


async def _load(files: tuple[str, ...], language: str, replace_demo: bool, data: Path | None) -> "BulkWriteResult":
    from fieldgate.events.ingest import file_loader
    from fieldgate.i18n.languages import Language

    async with _open_stores(data) as (_, store, reference):
        await _check_demo_events(store, replace_demo)
        with _progress_bar() as on_progress:
            all_records = (record for path in files for record in file_loader.read_records(path))
            records = _with_progress(all_records, on_progress)
            try:
                return await file_loader.load(store, reference, records, Language(language), _print_failure)
            except file_loader.InvalidFile as error:
                raise click.ClickException(str(error)) from None


def _with_progress(records: Iterable["FileRecord"], on_progress: ProgressReporter) -> Iterator["FileRecord"]:
    for count, record in enumerate(records, start=1):
        yield record
        if count % PROGRESS_INTERVAL == 0:
            on_progress(count, None)


def _parse_timestamp(_: click.Context, __: click.Parameter, value: str | None) -> datetime | None:
    from fieldgate.http.request.validation import parse_timestamp

    try:
        return None if value is None else parse_timestamp(value)
    except ValueError:
        raise click.BadParameter(
            f"expected a date or time such as 2026-11-15 or 2026-11-15T08:30:00Z, not {value!r}."
        ) from None


@click.command()
@click.argument("base_url", metavar="BASE_URL")
@click.option("--token", default="", help="API token of that server, to pull details and non-public events too.")
@click.option(
    "--since",
    callback=_parse_timestamp,
    metavar="TIME",
    help="Pull only what changed since then. Default: since the last complete run.",
)
@click.option("--full", is_flag=True, help="Pull everything, not only what changed.")
@replace_demo_option
@data_option
def sync(base_url: str, token: str, since: datetime | None, full: bool, replace_demo: bool, data: Path | None) -> None:
    """Pull events, countries and disaster types from another server with this API, such as IFRC GO.

    BASE_URL is the server's address, such as https://goadmin.ifrc.org. The first run pulls everything, later runs what
    changed. The next run continues where the last one stopped. Events are deleted only if that server lists them as
    deleted.
    """
    if since is not None and full:
        raise click.UsageError("--since and --full cannot be used together.")
    report = asyncio.run(_sync(base_url, token, since, full, replace_demo, data))
    if report.resumed:
        click.echo("continued an interrupted run")
    if report.since is not None:
        click.echo(f"requested changes since {report.since:%Y-%m-%d %H:%M:%S} UTC")
    click.echo(f"countries changed {report.countries}, disaster types changed {report.types}")
    click.echo(str(report.events))
    if report.events.failed:
        raise SystemExit(1)


async def _sync(
    base_url: str, token: str, since: datetime | None, full: bool, replace_demo: bool, data: Path | None
) -> "SyncReport":
    from fieldgate.events.sync.remote import RemoteError, RemoteServer
    from fieldgate.events.sync.synchronizer import Synchronizer

    async with _open_stores(data) as (database, store, reference):
        await _check_demo_events(store, replace_demo)
        try:
            with _progress_bar() as on_progress:
                async with RemoteServer(base_url, token) as remote:
                    synchronizer = Synchronizer(remote, database, store, reference, _print_failure, on_progress)
                    return await synchronizer.run(since, full=full)
        except RemoteError as error:
            raise click.ClickException(str(error)) from None


@asynccontextmanager
async def _open_stores(data: Path | None) -> AsyncIterator[EventStores]:
    """Open the database named by `--data` and the environment."""
    from fieldgate.events.store import EventStore
    from fieldgate.reference.store import ReferenceStore

    database = open_database(load_settings(data))
    data_versions = DataVersions(database)
    try:
        await ensure_schema(database)
        yield EventStores(database, EventStore(database, data_versions), ReferenceStore(database, data_versions))
    finally:
        await database.close()


async def _check_demo_events(store: "EventStore", replace_demo: bool) -> None:
    """Refuse to mix real and demo events, whose ids would collide."""
    if not await store.has_demo():
        return
    if not replace_demo:
        raise click.ClickException("There are demo events in this database. Delete them first with --replace-demo.")
    click.echo(f"deleted {await store.delete_demo()} demo events")


def _print_failure(failure: "WriteFailure") -> None:
    click.echo(str(failure), err=True)


@contextmanager
def _progress_bar() -> Iterator[ProgressReporter]:
    """Show a progress bar if standard error is a terminal."""
    if not sys.stderr.isatty():
        yield lambda done, total: None  # noqa: ARG005
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn

    columns = BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
