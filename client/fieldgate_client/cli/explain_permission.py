"""`explain`: why a user has a permission on an asset, or has not."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from fieldgate_client.cli.common_options import add_server_options
from fieldgate_client.cli.exit_codes import ExitCode
from fieldgate_client.terminal_text import clean_line

if TYPE_CHECKING:
    from fieldgate_client.cli.session import Session

SUMMARY = "tell why a user has a permission, or has not"
DESCRIPTION = "Tell whether a user has a permission on an asset, why, and what would have to be assigned."
EXAMPLES = """\
examples:
  %(prog)s aBcDeFgHiJkLmNoPqRsTuV amina change_asset
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("asset", metavar="ASSET", help="uid or URL of an asset")
    parser.add_argument("user", metavar="USER", help="user name; AnonymousUser is the public")
    parser.add_argument("permission", metavar="PERMISSION", help="such as change_asset")
    add_server_options(parser)


def run(session: Session) -> int:
    options, output = session.options, session.output
    with session.open_client(options.asset if "://" in options.asset else "") as client:
        found = client.explain(options.asset, options.user, options.permission)
    label = f" ({found.label})" if found.label else ""
    output.print(f"{'Yes' if found.allowed else 'No'}: {options.user}, {options.permission}{label}")
    for rule in found.rules:
        output.print(clean_line(f"- {rule.message or rule.why or rule.rule}"))
    if found.needs:
        output.print("Any of these would be enough:")
        for need in found.needs:
            output.print(clean_line(f"- {need.message or need.why}"))
    return ExitCode.OK
