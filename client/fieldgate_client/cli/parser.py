"""The arguments of all commands."""

from __future__ import annotations

import argparse

from fieldgate_client import __version__
from fieldgate_client.cli import (
    completion,
    explain_permission,
    fetch,
    import_forms,
    list_permissions,
    login,
    logout,
    share,
    show_servers,
)
from fieldgate_client.cli.common_options import add_debug_option
from fieldgate_client.cli.exit_codes import EXIT_CODES_HELP

DESCRIPTION = "Read complete lists, import forms and share assets on Fieldgate, KoboToolbox and IFRC GO servers."
ENVIRONMENT_HELP = """\
environment:
  FIELDGATE_URL    the server, if neither a URL nor --server is given
  FIELDGATE_TOKEN  the token for FIELDGATE_URL; it is sent to no other server

"""
COMMANDS = {
    "fetch": fetch,
    "import": import_forms,
    "share": share,
    "explain": explain_permission,
    "permissions": list_permissions,
    "login": login,
    "logout": logout,
    "servers": show_servers,
    "completion": completion,
}


def build_parser(prog: str) -> argparse.ArgumentParser:
    """`prog` is the name in usage and messages: `fieldgate` has some of the commands, too."""
    parser = argparse.ArgumentParser(
        prog,
        description=DESCRIPTION,
        epilog=ENVIRONMENT_HELP + EXIT_CODES_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"fieldgate-client {__version__}")
    commands = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND", required=True)
    for name, module in COMMANDS.items():
        command = commands.add_parser(
            name,
            help=module.SUMMARY,
            description=module.DESCRIPTION,
            epilog=f"{module.EXAMPLES}\n{EXIT_CODES_HELP}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        module.add_arguments(command)
        add_debug_option(command)
        command.set_defaults(run=module.run)
    return parser
