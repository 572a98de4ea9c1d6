"""`logout`: forget the token of a server."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from fieldgate_client.cli.common_options import SERVER_NAMES, completes
from fieldgate_client.cli.exit_codes import ExitCode, UsageError

if TYPE_CHECKING:
    from fieldgate_client.cli.session import Session

SUMMARY = "remove the stored token of a server"
DESCRIPTION = "Remove a server and its token from this computer. The token itself stays valid until it is revoked."
EXAMPLES = """\
examples:
  %(prog)s
  %(prog)s field.example
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    completes(
        parser.add_argument("name", metavar="NAME", nargs="?", help="name of the server; default: the default server"),
        SERVER_NAMES,
    )


def run(session: Session) -> int:
    from fieldgate_client.cli.stored_servers import config_file, save_servers

    servers = session.servers()
    name = session.options.name or servers.default
    if not name:
        raise UsageError(
            "You are not logged in." if not servers.servers else "Name one of these: " + ", ".join(servers.servers)
        )
    removed = servers.remove(name)
    save_servers(config_file(), servers)
    session.output.print(
        f"Logged out of {name}. The token was removed from this computer, but stays valid. "
        f"To revoke it on Fieldgate, open {removed.url}/api/v2/account/tokens/"
    )
    return ExitCode.OK
