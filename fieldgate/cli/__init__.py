"""The `fieldgate` command: one file per group of commands."""

import os
from typing import Any

import click
from sqlalchemy.exc import DBAPIError

from fieldgate import __version__
from fieldgate.cli.backup import backup, restore
from fieldgate.cli.client_commands import fetch, import_forms, share
from fieldgate.cli.db_copy import db
from fieldgate.cli.doctor import doctor
from fieldgate.cli.events import events
from fieldgate.cli.migrate import migrate
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


@click.group(cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="fieldgate")
def main() -> None:
    """Fieldgate: a self-hosted service for humanitarian field data."""
    for variable in unknown_variables(os.environ):
        click.echo(f"Warning: {variable} is not a setting and has no effect.", err=True)


main.add_command(serve)
main.add_command(worker)
main.add_command(migrate)
main.add_command(backup)
main.add_command(restore)
main.add_command(db)
main.add_command(doctor)
main.add_command(user)
main.add_command(token)
main.add_command(events)
main.add_command(fetch)
main.add_command(import_forms)
main.add_command(share)
