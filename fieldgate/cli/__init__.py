"""The `fieldgate` command: one file per group of commands."""

import click

from fieldgate import __version__
from fieldgate.cli.schema import migrate
from fieldgate.cli.serve import serve
from fieldgate.cli.tokens import token
from fieldgate.cli.users import user


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="fieldgate")
def main() -> None:
    """Fieldgate: a self-hosted service for humanitarian field data."""


main.add_command(serve)
main.add_command(migrate)
main.add_command(user)
main.add_command(token)
