"""`permissions`: the catalogue, and what assigning and removing would do."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import TYPE_CHECKING

from fieldgate_client.cli.common_options import add_server_options
from fieldgate_client.cli.exit_codes import ExitCode, UsageError

if TYPE_CHECKING:
    from fieldgate_client.cli.session import Session
    from fieldgate_client.client import Client

SUMMARY = "list permissions, and try what assigning them does"
DESCRIPTION = """\
List all permissions, with what each implies and contradicts. With --what-if, show what
assigning and removing permissions would do to a user who holds others, without any
asset and without changing anything."""
EXAMPLES = """\
examples:
  %(prog)s
  %(prog)s --what-if view_submissions --held partial_submissions
  %(prog)s --what-if --held manage_asset --remove view_submissions
"""
ASSET_TYPES = ["survey", "template", "block", "question", "collection", "empty"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what if", "Several permissions are separated by commas.")
    group.add_argument(
        "--what-if", nargs="?", const="", metavar="PERMISSIONS", help="assign these; or use --assign and --remove"
    )
    group.add_argument("--assign", metavar="PERMISSIONS", help="the same as --what-if PERMISSIONS")
    group.add_argument("--remove", metavar="PERMISSIONS", help="remove these, which is done first")
    group.add_argument("--held", metavar="PERMISSIONS", help="what the user holds before")
    group.add_argument("--asset-type", choices=ASSET_TYPES, help="default: survey")
    add_server_options(parser)


def run(session: Session) -> int:
    options = session.options
    assign = [*_names(options.what_if), *_names(options.assign)]
    remove, held = _names(options.remove), _names(options.held)
    is_what_if = options.what_if is not None or assign or remove or held or options.asset_type
    if is_what_if and not (assign or remove):
        raise UsageError("Name permissions: --what-if PERMISSIONS, or --remove PERMISSIONS.")
    with session.open_client() as client:
        if is_what_if:
            _print_what_if(session, client, held, assign, remove)
        else:
            _print_catalogue(session, client)
    return ExitCode.OK


def _print_catalogue(session: Session, client: Client) -> None:
    rows = [
        [each.codename, _codenames(each.implied), _codenames(each.contradictory), each.name or ""]
        for each in client.permissions()
    ]
    session.output.print_table(["permission", "implies", "contradicts", "name"], rows)


def _print_what_if(session: Session, client: Client, held: list[str], assign: list[str], remove: list[str]) -> None:
    from fieldgate_client.server_url import last_path_segment

    found = client.what_if(held, assign, remove, asset_type=session.options.asset_type or "")
    if found.effects:
        rows = [[each.effect, last_path_segment(each.permission), each.why or each.message] for each in found.effects]
        session.output.print_table(["effect", "permission", "why"], rows)
    else:
        session.output.print("Nothing changes.")
    session.output.print(f"Held afterwards: {', '.join(found.codenames) or 'nothing'}")


def _codenames(urls: Iterable[str]) -> str:
    from fieldgate_client.server_url import last_path_segment

    return ", ".join(sorted(last_path_segment(each) for each in urls))


def _names(text: str | None) -> list[str]:
    from fieldgate_client.cli.common_options import comma_list

    return comma_list(text or "")
