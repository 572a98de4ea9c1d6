"""`fieldgate assets …`: forms and collections."""

import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import click

from fieldgate.assets.trash import Trash
from fieldgate.cli.common import data_option, load_settings, parse_lifetime, run_with_database
from fieldgate.cli.output import print_table
from fieldgate.db import AsyncDatabase, DataVersions, now
from fieldgate.identity import OPERATOR


@click.group()
def assets() -> None:
    """Delete forms in the trash for good."""


@assets.command("purge")
@click.option(
    "--older-than",
    callback=parse_lifetime,
    metavar="TIME",
    help="How long ago they were deleted, such as 7d.  [default: FIELDGATE_TRASH_DAYS]",
)
@click.option("--dry-run", is_flag=True, help="Only show what would be deleted.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@data_option
def purge(older_than: timedelta | None, dry_run: bool, yes: bool, data: Path | None) -> None:
    """Show forms in the trash, ask, and delete them for good. Their files go with the next purge of a worker."""
    settings = load_settings(data)

    def trash_of(database: AsyncDatabase) -> Trash:
        return Trash(database, DataVersions(database), settings.trash_days)

    before = now() - (timedelta(days=settings.trash_days) if older_than is None else older_than)
    found = run_with_database(data, lambda each: trash_of(each).list_old(before))
    if not found:
        click.echo("nothing to delete")
        return
    print_table(("uid", "type", "name", "owner", "deleted", "deleted by"), map(_to_row, found))
    if dry_run:
        click.echo(f"{len(found)} would be deleted")
        return
    if not yes:
        if not sys.stdin.isatty():
            raise click.ClickException(
                "There is no terminal to ask whether to delete these. Use --yes."
            )
        click.confirm(f"Delete these {len(found)} for good?", abort=True)
    count = run_with_database(data, lambda each: trash_of(each).purge(OPERATOR, before))
    click.echo(f"{count} deleted for good")


def _to_row(row: Any) -> tuple[object, ...]:
    return (
        row.uid,
        row.asset_type,
        row.name,
        row.username,
        f"{row.deleted_at:%Y-%m-%d %H:%M}",
        row.deleter,
    )
