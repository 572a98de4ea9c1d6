"""`fieldgate events …`: demo events, and events from files and from other servers."""

import asyncio
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from fieldgate.cli.common import data_option, load_settings, open_database
from fieldgate.cli.output import ProgressReporter, ignore_progress, progress_bar
from fieldgate.db import Database, WriteTransaction
from fieldgate.i18n.languages import LANGUAGES_BY_CODE, Language

# Modules about events are slow to import, and other commands do not need them: they are imported where they are used.
if TYPE_CHECKING:
    from fieldgate.events.ingest.bulk_write import WriteFailure
    from fieldgate.events.ingest.file_loader import FileRecord, LoadOptions, LoadResult
    from fieldgate.events.model import Event
    from fieldgate.events.sync.synchronizer import SyncOptions, SyncReport

BATCH_SIZE = 2000  # events in one transaction
MAX_DEMO_EVENTS = 10_000_000
PROGRESS_INTERVAL = 100  # records between two updates of the progress bar
# Names of the numbers in records. The numbers are accepted too.
VISIBILITIES = {"public": 3, "movement": 1, "societies": 4, "secretariat": 2}


@click.group()
def events() -> None:
    """Load, pull and generate events."""


@events.command("demo")
@click.argument("count", metavar="N", type=click.IntRange(1, MAX_DEMO_EVENTS))
@click.option(
    "--seed",
    default=0,
    show_default=True,
    help="Seed of the generator; the same seed gives the same events.",
)
@click.option("--replace", is_flag=True, help="Delete existing demo events first.")
@data_option
def demo(count: int, seed: int, replace: bool, data: Path | None) -> None:
    """Generate N demo events. They are never mixed with real events."""
    _demo(count, seed, replace, data)


def _demo(count: int, seed: int, replace: bool, data: Path | None) -> None:
    from fieldgate.events.queries import has_demo_events
    from fieldgate.events.writes import delete_demo_events

    with _open_database(data) as database:
        _check_real_events(database)
        has_demo = database.read(has_demo_events)
        if has_demo and not replace:
            raise click.ClickException(
                "This database already has demo events. Replace them with --replace."
            )
        started = time.monotonic()
        with progress_bar(count) as show:
            if has_demo:
                database.write(delete_demo_events, is_alone=True)
            create_demo_events(database, count, seed, show)
        click.echo(
            f"created {count} demo event{'' if count == 1 else 's'} in {time.monotonic() - started:.1f} s"
        )


def create_demo_events(
    database: Database,
    count: int,
    seed: int = 0,
    on_progress: ProgressReporter = ignore_progress,
) -> None:
    from fieldgate.events.demo.generator import demo_events
    from fieldgate.events.event_log import log_run
    from fieldgate.events.writes import lock_events, save_events
    from fieldgate.reference.queries import load_reference

    generated = demo_events(count, database.read(load_reference), seed)
    created = 0
    while batch := list(islice(generated, BATCH_SIZE)):

        def save(transaction: WriteTransaction, new: Sequence["Event"] = batch) -> None:
            lock_events(transaction)
            save_events(transaction, new, is_demo=True)

        database.write(save, is_alone=True)
        created += len(batch)
        on_progress(created, count)
    log_run(database, "demo", created=created)


replace_demo_option = click.option(
    "--replace-demo",
    is_flag=True,
    help="Delete demo events first. Without this option, a database with demo events is refused.",
)


def _parse_visibility(_: click.Context, __: click.Parameter, value: str | None) -> int | None:
    if value is None:
        return None
    for name, number in VISIBILITIES.items():
        if value.lower() in (name, str(number)):
            return number
    raise click.BadParameter(f"choose one of {', '.join(VISIBILITIES)}, not {value!r}.")


@events.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--language",
    type=click.Choice(list(LANGUAGES_BY_CODE)),
    default="en",
    show_default=True,
    help="Language of texts without a language of their own.",
)
@click.option(
    "--visibility",
    callback=_parse_visibility,
    metavar=f"[{'|'.join(VISIBILITIES)}]",
    help="Who can see the events whose records do not say it.  [default: movement, for new events]",
)
@click.option(
    "--demo",
    "is_demo",
    is_flag=True,
    help="Load demo events. Without this option, they are refused.",
)
@replace_demo_option
@data_option
def load(
    files: tuple[str, ...],
    language: str,
    visibility: int | None,
    is_demo: bool,
    replace_demo: bool,
    data: Path | None,
) -> None:
    """Load events from FILEs: pages of the API, JSON arrays, lines of JSON, or CSV; gzipped or not.

    `-` is standard input. Unchanged events are left alone, and nothing is deleted. Invalid records are reported and
    skipped; the rest are saved.
    """
    from fieldgate.events.ingest.file_loader import LoadOptions
    from fieldgate.events.model import Visibility

    options = LoadOptions(
        Language(language), None if visibility is None else Visibility(visibility), is_demo
    )
    result = _load(files, options, replace_demo, data)
    click.echo(str(result.written))
    _echo_not_public(result)
    if result.written.failed:
        raise SystemExit(1)


def _load(
    files: tuple[str, ...], options: "LoadOptions", replace_demo: bool, data: Path | None
) -> "LoadResult":
    from fieldgate.events.event_log import log_run
    from fieldgate.events.ingest import file_loader

    with _open_database(data) as database:
        if not options.is_demo or replace_demo:
            _check_demo_events(database, replace_demo)
        if options.is_demo:
            _check_real_events(database)
        with progress_bar() as on_progress:
            all_records = (record for path in files for record in file_loader.read_records(path))
            records = _with_progress(all_records, on_progress)
            try:
                result = file_loader.load(database, records, options, _print_failure)
                log_run(database, "load", **msgspec.structs.asdict(result.written))
                return result
            except file_loader.InvalidFile as error:
                raise click.ClickException(str(error)) from None


def _echo_not_public(result: "LoadResult") -> None:
    """Say how many of the events only users with an account can see, and how to change that."""
    count = len(result.not_public)
    if not count:
        return
    click.echo(
        f"{count} {'event is' if count == 1 else 'events are'} not public: only users who are logged in can see "
        f"{'it' if count == 1 else 'them'}"
    )
    if result.without_visibility:
        click.echo(
            f"{len(result.without_visibility)} of these because the record does not say who can see it. "
            "To make such events public, load the same files again with --visibility public"
        )


def _with_progress(
    records: Iterable["FileRecord"], on_progress: ProgressReporter
) -> Iterator["FileRecord"]:
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
            f"enter a date or time such as 2026-11-15 or 2026-11-15T08:30:00Z, not {value!r}."
        ) from None


@events.command()
@click.argument("base_url", metavar="BASE_URL")
@click.option(
    "--token",
    default="",
    envvar="FIELDGATE_SYNC_TOKEN",
    help="Token for that server; or set FIELDGATE_SYNC_TOKEN. With a token, details and events that are not public are "
    "pulled too.",
)
@click.option(
    "--since",
    callback=_parse_timestamp,
    metavar="TIME",
    help="Pull what changed since this time.  [default: since the last run]",
)
@click.option("--full", is_flag=True, help="Pull everything again, with all details.")
@click.option("--keep-missing", is_flag=True, help="Keep events that the server no longer has.")
@click.option(
    "--max-missing",
    "max_missing_percent",
    type=click.IntRange(0, 100),
    metavar="PERCENT",
    default=10,
    show_default=True,
    help="Delete nothing if the server no longer lists more than this share of the events.",
)
@click.option(
    "--take-over", is_flag=True, help="Also write events that were pulled from another server."
)
@replace_demo_option
@data_option
def sync(base_url: str, token: str, replace_demo: bool, data: Path | None, **choices: Any) -> None:
    """Pull events, countries and disaster types from another server with this API, such as IFRC GO.

    BASE_URL is the address of the server, such as https://goadmin.ifrc.org. The first run pulls everything, later runs
    pull what changed. If a run is stopped, the next run continues where it stopped. Events that were pulled from this
    server and that it no longer has are deleted.
    """
    from fieldgate.events.sync.synchronizer import SyncOptions

    options = SyncOptions(**choices)
    if options.since is not None and options.full:
        raise click.UsageError("--since and --full cannot be used together.")
    report = _sync(base_url, token, options, replace_demo, data)
    _echo_report(report)
    if report.problem:
        raise click.ClickException(report.problem)
    if report.events.failed:
        raise SystemExit(1)


def _echo_report(report: "SyncReport") -> None:
    if report.resumed:
        click.echo("continued a run that had been stopped")
    if report.since is not None:
        click.echo(f"pulled what changed since {report.since:%Y-%m-%d %H:%M:%S} UTC")
    click.echo(f"countries changed {report.countries}, disaster types changed {report.types}")
    if report.requested_by_id:
        click.echo(f"requested {report.requested_by_id} by id that are not in the list")
    if report.of_other_sources:
        click.echo(
            f"left {report.of_other_sources} alone that were pulled from another server: --take-over writes them too"
        )
    if report.missing_unchecked:
        click.echo("the list changed while it was read: the next run looks for deleted events")
    click.echo(str(report.events))


def _sync(
    base_url: str, token: str, options: "SyncOptions", replace_demo: bool, data: Path | None
) -> "SyncReport":
    from fieldgate.events.event_log import log_run
    from fieldgate.events.sync.remote import RemoteError

    with _open_database(data) as database:
        _check_demo_events(database, replace_demo)
        try:
            report = asyncio.run(_pull(database, base_url, token, options))
        except RemoteError as error:
            raise click.ClickException(str(error)) from None
        log_run(database, "sync", **msgspec.structs.asdict(report.events))
    return report


async def _pull(
    database: Database, base_url: str, token: str, options: "SyncOptions"
) -> "SyncReport":
    from fieldgate.events.sync.remote import RemoteServer
    from fieldgate.events.sync.synchronizer import Synchronizer

    async with RemoteServer(base_url, token) as remote:
        with progress_bar(status=lambda: remote.status) as on_progress:
            return await Synchronizer(remote, database, _print_failure, on_progress).run(options)


@contextmanager
def _open_database(data: Path | None) -> Iterator[Database]:
    """Open the database that `--data` and the environment choose."""
    settings = load_settings(data)
    with asyncio.Runner() as runner:  # until commands need no event loop
        opened = open_database(settings, creates=True)
        database = runner.run(opened.__aenter__())
        try:
            yield database.sync
        finally:
            runner.run(opened.__aexit__(None, None, None))


def _check_real_events(database: Database) -> None:
    from fieldgate.events.queries import has_real_events

    if database.read(has_real_events):
        raise click.ClickException(
            "This database has real events. Choose another folder for demo events: --data DIR"
        )


def _check_demo_events(database: Database, replace_demo: bool) -> None:
    """Refuse to mix real events with demo events: their ids would collide."""
    from fieldgate.events.queries import has_demo_events
    from fieldgate.events.writes import delete_demo_events

    if not database.read(has_demo_events):
        return
    if not replace_demo:
        raise click.ClickException(
            "This database has demo events. Delete them with --replace-demo."
        )
    deleted = database.write(delete_demo_events, is_alone=True)
    click.echo(f"deleted {deleted} demo event{'' if deleted == 1 else 's'}")


def _print_failure(failure: "WriteFailure") -> None:
    click.echo(str(failure), err=True)
