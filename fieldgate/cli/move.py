"""`fieldgate move-in` and `move-out`: from KoboToolbox or another Fieldgate, and away."""

import asyncio
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import click

from fieldgate.cli.common import data_option, load_settings, open_database
from fieldgate.cli.output import progress_bar, table_width
from fieldgate.settings import Settings

# Modules about moving are slow to import, and other commands do not need them: they are imported where they are used.
TOKEN_VARIABLE = "FIELDGATE_SOURCE_TOKEN"  # noqa: S105  (the name of a variable)
MAX_SHOWN_ROWS = 200  # the report has all

T = TypeVar("T")
_file = click.Path(dir_okay=False, path_type=Path)


class _Variable(click.Parameter):
    """An environment variable that is no option: other users of the machine can read arguments."""

    param_type_name = "variable"

    def _parse_decls(self, decls: Any, _expose_value: bool) -> tuple[str, list[str], list[str]]:
        return decls[0], [], []

    def add_to_parser(self, *_: Any) -> None:
        pass


@click.command("move-in", params=[_Variable(["token"], envvar=TOKEN_VARIABLE)])
@click.argument("source", metavar="SOURCE")
@click.option(
    "--accounts",
    type=_file,
    help="CSV file with the columns username and token: the accounts to move.",
)
@click.option(
    "--users",
    type=_file,
    help="CSV file with the columns source and username: who is who there and here.",
)
@click.option(
    "--invite",
    type=_file,
    help="Create users who are not here, and write one-time links to this new file.",
)
@click.option("--report", type=_file, help="Write the table to this Excel file, with all rows.")
@click.option("--yes", is_flag=True, help="Do it. Without this option, nothing is changed.")
@data_option
def move_in(report: Path | None, yes: bool, data: Path | None, **choices: Any) -> None:
    """Move forms, collections and permissions from another server, or from a folder of move-out.

    SOURCE is the address of a KoboToolbox server or another Fieldgate, such as https://kf.kobotoolbox.org, or a folder.
    What belongs to the account of the token is moved. The token is in FIELDGATE_SOURCE_TOKEN, or asked for.

    A run can be stopped and repeated: later ones bring what changed there, and never overwrite what was changed here.
    """
    from fieldgate_client.terminal_text import format_table

    from fieldgate.move.report import COLUMNS, NOTE, write_report

    if report is not None and not report.parent.is_dir():
        raise click.ClickException(f"There is no folder {report.parent} for the report.")
    rows, lines = _run(_move_in(load_settings(data), yes=yes, **choices))
    if shown := [row[: NOTE + 1] for row in rows if row[NOTE] or not yes]:
        click.echo(format_table(COLUMNS[: NOTE + 1], shown[:MAX_SHOWN_ROWS], table_width()))
    if len(shown) > MAX_SHOWN_ROWS:
        click.echo(
            f"… and {len(shown) - MAX_SHOWN_ROWS} more rows: write all to a file with --report FILE.xlsx"
        )
    click.echo("\n".join(lines))
    try:
        if report is not None:
            write_report(report, rows)
    except OSError as error:
        raise click.ClickException(f"{report} cannot be written: {error.strerror}.") from None


async def _move_in(
    settings: Settings,
    source: str,
    token: str | None,
    accounts: Path | None,
    users: Path | None,
    invite: Path | None,
    yes: bool,
) -> tuple[list[tuple[str, ...]], list[str]]:
    """Return the rows of the table, and the lines below it."""
    from fieldgate_client.terminal_text import clean_text

    from fieldgate.move.people import InviteFile, People, read_table
    from fieldgate.move.report import report_rows, summary
    from fieldgate.move.run import move, open_source

    status = [""]
    table = read_table(users, "source", "username") if users else {}
    opened = open_source(source, accounts, lambda: token or _ask_token(), status.append)
    async with opened as reader, open_database(settings, creates=True) as database:
        if invite and not settings.base_url:
            raise click.ClickException(
                "Set FIELDGATE_BASE_URL to the address of this service: --invite writes links."
            )
        invites = InviteFile(invite, settings.base_url) if invite and yes else None
        people = People(database, table, invites, may_invite=invite is not None)
        with progress_bar(status=lambda: status[-1], unit="assets") as show:
            report = await move(database, settings, reader, people, show, is_dry_run=not yes)
    rows = [tuple(map(clean_text, row)) for row in report_rows(report.results, report.notes)]
    lines = [f"assets: {summary(report.results, is_dry_run=not yes)}"]
    if people.invited:
        what = (
            f"users created (links, valid for a day, in {invite})"
            if yes
            else "users and teams to create"
        )
        lines.insert(0, f"{what}: {_clean(', '.join(people.invited))}")
    if report.created_events:
        lines.append(f"events {'created' if yes else 'to create'} {report.created_events}")
    return rows, lines if yes else [*lines, "Nothing was changed. To do it, add --yes."]


@click.command("move-out")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--user", "username", metavar="NAME", help="Only what belongs to this user, and no events."
)
@data_option
def move_out(folder: Path, username: str | None, data: Path | None) -> None:
    """Write all forms, collections, permissions, teams and events into a new FOLDER, which move-in reads.

    Forms are workbooks, permissions and teams CSV, events and records of forms lines of JSON.
    """
    try:
        count = _run(_move_out(folder, username, load_settings(data)))
    except OSError as error:
        raise click.ClickException(f"{folder} cannot be written: {error.strerror}.") from None
    click.echo(f"assets written {count}")


async def _move_out(folder: Path, username: str | None, settings: Settings) -> int:
    from fieldgate.accounts.store import AccountStore
    from fieldgate.db import DataVersions
    from fieldgate.move.folder_writer import FolderWriter

    async with open_database(settings) as database:
        row = (
            None
            if username is None
            else await AccountStore(database, DataVersions(database)).find_any(username)
        )
        if username is not None and row is None:
            raise click.ClickException(f"The user {username} does not exist.")
        with progress_bar(unit="assets") as show:
            return await FolderWriter(database, folder).write(None if row is None else row.id, show)


def _run(work: Coroutine[Any, Any, T]) -> T:
    from fieldgate.move.source_assets import MoveError

    try:
        return asyncio.run(work)
    except MoveError as error:
        raise click.ClickException(_clean(str(error))) from None


def _ask_token() -> str:
    if not sys.stdin.isatty():
        raise click.ClickException(
            f"There is no terminal to ask for the token. Set {TOKEN_VARIABLE}."
        )
    token: str = click.prompt("Token", hide_input=True, err=True)
    return token


def _clean(text: str) -> str:
    from fieldgate_client.terminal_text import clean_line

    return clean_line(text)
