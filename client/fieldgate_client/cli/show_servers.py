"""`servers`: the servers that `login` has stored."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from fieldgate_client.cli.common_options import SERVER_NAMES, completes
from fieldgate_client.cli.exit_codes import ExitCode

if TYPE_CHECKING:
    from fieldgate_client.cli.session import Session

SUMMARY = "list stored servers, and choose the default"
DESCRIPTION = "List the servers that you logged in to, without their tokens."
EXAMPLES = """\
examples:
  %(prog)s
  %(prog)s --default field.example
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    completes(parser.add_argument("--default", metavar="NAME", help="make this the default server"), SERVER_NAMES)
    parser.add_argument("--names", action="store_true", help="print the names only")


def run(session: Session) -> int:
    from fieldgate_client.cli.stored_servers import config_file, save_servers

    options, output = session.options, session.output
    servers = session.servers()
    if options.default:
        servers.named(options.default)
        servers.default = options.default
        save_servers(config_file(), servers)
    if options.names:
        for name in servers.servers:
            output.print(name)
    elif servers.servers:
        rows = [
            [name, each.username, "default" if name == servers.default else "", each.url]
            for name, each in servers.servers.items()
        ]
        output.print_table(["name", "user", "", "url"], rows)
    else:
        output.note("No servers are stored. Log in with: fieldgate-client login URL")
    return ExitCode.OK
