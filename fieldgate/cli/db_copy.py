"""`fieldgate db copy`: move to another database."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import click
from sqlalchemy.exc import ArgumentError

from fieldgate.cli.output import ProgressReporter, progress_bar
from fieldgate.db import metadata, sqlite_file
from fieldgate.db.use_lock import DatabaseInUse, exclusive_use, shared_use


@click.group()
def db() -> None:
    """Work on the database as a whole."""


@db.command("copy")
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@click.option(
    "--live",
    is_flag=True,
    help="Copy while FROM is in use. The copy has its state at the beginning.",
)
def copy_command(source: str, target: str, live: bool) -> None:
    """Copy everything from one database to another, which must be empty.

    FROM and TO are URLs, postgresql://… or sqlite:///…, or paths of SQLite files. The rows of each table are counted. A
    copy that was interrupted leaves nothing behind: run the command again.
    """
    began = time.monotonic()
    source_file, target_file = _file_of(source), _file_of(target)
    if source_file is not None and not source_file.is_file():
        raise click.ClickException(f"There is no database at {source_file.absolute()}.")
    if source_file is not None and target_file is not None and _is_same(source_file, target_file):
        raise click.ClickException("FROM and TO are the same file.")
    if target_file is not None and target_file.is_dir():
        raise click.ClickException(
            f"{target_file.absolute()} is a folder. TO needs the name of a file in it."
        )
    with ExitStack() as locks:
        if source_file is not None:
            _lock(
                locks, source_file, is_exclusive=not live, advice=" Stop it first, or use --live."
            )
        if target_file is not None:
            target_file.parent.mkdir(parents=True, exist_ok=True)
            _lock(locks, target_file, is_exclusive=True, advice="")
        steps = [""]
        with progress_bar(status=lambda: steps[-1], unit="rows copied") as show:
            summary = _copy(_url_of(source), _url_of(target), live, show, steps.append)
    click.echo(f"{summary} in {time.monotonic() - began:.1f} s")


def _is_same(first: Path, second: Path) -> bool:
    return second.exists() and first.samefile(second)


def _lock(locks: ExitStack, file: Path, *, is_exclusive: bool, advice: str) -> None:
    try:
        locks.enter_context(exclusive_use(file) if is_exclusive else shared_use(file))
    except DatabaseInUse:
        raise click.ClickException(f"{file} is in use by a process of Fieldgate.{advice}") from None


def _url_of(address: str) -> str:
    """Paths are taken for SQLite files."""
    return address if "://" in address else f"sqlite:///{address}"


def _file_of(address: str) -> Path | None:
    try:
        return sqlite_file(_url_of(address))
    except (ValueError, ArgumentError) as error:
        raise click.ClickException(f"{address.partition('://')[0]}://…: {error}") from None


def _copy(
    source: str, target: str, live: bool, show: ProgressReporter, on_step: Callable[[str], None]
) -> str:
    # Slow to import, and other commands do not need it. The modules with tables register them.
    import fieldgate.accounts.tables
    import fieldgate.assets.tables
    import fieldgate.events.tables
    import fieldgate.imports.tables
    import fieldgate.move.tables
    import fieldgate.reference.tables  # noqa: F401
    from fieldgate.db.copy_database import CopyError, copy_database

    try:
        result = copy_database(
            source, target, metadata.sorted_tables, live=live, on_progress=show, on_step=on_step
        )
    except CopyError as error:
        raise click.ClickException(str(error)) from None
    return f"copied {result.rows} rows of {len(result.tables)} tables"
