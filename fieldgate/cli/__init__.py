"""The `fieldgate` command: one file per group of commands."""

import os
from typing import Any

import click
from sqlalchemy.exc import DBAPIError

from fieldgate import __version__
from fieldgate.cli.assets import assets
from fieldgate.cli.backup import backup, restore
from fieldgate.cli.db_copy import db
from fieldgate.cli.doctor import doctor
from fieldgate.cli.events import events
from fieldgate.cli.migrate import migrate
from fieldgate.cli.move import move_in, move_out
from fieldgate.cli.serve import serve
from fieldgate.cli.tokens import token
from fieldgate.cli.users import user
from fieldgate.cli.worker import worker
from fieldgate.db.outages import UnexpectedPooler, outage_of
from fieldgate.settings import unknown_variables


class CommandGroup(click.Group):
    """Report errors that an operator can fix in one sentence; other errors keep their traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except Exception as error:
            outage = outage_of(error)
            if outage is not None:
                reason = str(getattr(error, "orig", None) or error) or outage.log_text
                raise click.ClickException(f"The database cannot be reached: {reason}") from None
            if isinstance(error, UnexpectedPooler):
                raise click.ClickException(str(error)) from None
            if isinstance(error, DBAPIError):
                raise click.ClickException(f"The database cannot be used: {error.orig}") from None
            raise


@click.group(
    cls=CommandGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="fieldgate")
def main() -> None:
    """Fieldgate: a self-hosted service for humanitarian field data."""
    for variable in unknown_variables(os.environ):
        click.echo(f"Warning: {variable} is not a setting and has no effect.", err=True)


class ClientCommand(click.Command):
    """A command of the client library, which has its own parser: all arguments are passed on, also `--help`."""

    def __init__(self, name: str, summary: str) -> None:
        super().__init__(name, help=summary, add_help_option=False)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.args = args
        return []

    def invoke(self, ctx: click.Context) -> None:
        from fieldgate_client.cli import main  # other commands do not need it

        ctx.exit(main([str(self.name), *ctx.args], prog="fieldgate"))


for command in (
    *(
        serve,
        worker,
        migrate,
        backup,
        restore,
        db,
        doctor,
        user,
        token,
        assets,
        events,
        move_in,
        move_out,
    ),
    ClientCommand("fetch", "Read a complete list of a server into a file."),
    ClientCommand("import", "Import forms on a server, and show their problems."),
    ClientCommand("check", "Check forms with a server, without importing them."),
    ClientCommand("share", "Assign permissions on a server, or remove them."),
):
    main.add_command(command)
