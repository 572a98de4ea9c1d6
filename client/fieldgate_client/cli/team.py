"""`team`: list teams, create or show one, add people and remove them."""

from __future__ import annotations

import argparse

from fieldgate_client.cli.exit_codes import ExitCode, UsageError
from fieldgate_client.cli.session import Command, Session, add_server_options, comma_list
from fieldgate_client.client import Client
from fieldgate_client.server_url import last_path_segment
from fieldgate_client.teams import TeamChange, choose_team


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=["list", "create", "show", "add", "remove"])
    parser.add_argument(
        "team", metavar="TEAM", nargs="?", help="name or uid of a team; of a new one, its name"
    )
    parser.add_argument("users", metavar="USER", nargs="*", help="user name; several with commas")
    parser.add_argument("--description", metavar="TEXT", default="", help="what a new team is for")
    parser.add_argument("--admin", action="store_true", help="add people as admins")
    parser.add_argument(
        "--dry-run", action="store_true", help="show what people would gain or lose"
    )
    add_server_options(parser)


def team(session: Session) -> int:
    options, output = session.options, session.output
    names = [name for each in options.users for name in comma_list(each)]
    if options.action != "list" and not options.team:
        raise UsageError("Give the TEAM, by its name or uid.")
    if options.action in ("add", "remove") and not names:
        raise UsageError("Give at least one USER.")
    if options.action == "create" and (names or options.dry_run):
        raise UsageError(
            "create takes one NAME, in quotes if it has several words, and no --dry-run."
        )
    with session.open_client() as client:
        if options.action == "create":
            new = client.create_team(options.team, options.description)
            output.print_table(["team", "uid"], [[new.name, new.uid]])
            return ExitCode.OK
        teams = list(client.teams())
        if options.action == "list":
            rows = [
                [each.name, each.role or "", str(each.member_count), each.uid] for each in teams
            ]
            output.print_table(["team", "role", "members", "uid"], rows)
            return ExitCode.OK
        chosen = choose_team(teams, options.team)
        if options.action == "show":
            _show(session, client, chosen.uid)
        elif options.action == "add":
            role = "admin" if options.admin else "member"
            change = client.add_to_team(chosen, names, role=role, dry_run=options.dry_run)
            _print_change(session, change, "gains")
            added = ", ".join(each.username for each in change.added)
            output.note(
                _dry_run_note(session)
                or (f"Added: {added}." if added else "They are in the team already.")
            )
        else:
            for name in names:
                _print_change(
                    session, client.remove_from_team(chosen, name, dry_run=options.dry_run), "loses"
                )
            output.note(_dry_run_note(session) or f"Removed: {', '.join(names)}.")
    return ExitCode.OK


def _show(session: Session, client: Client, uid: str) -> None:
    members = [[each.username, each.role] for each in client.team_members(uid)]
    session.output.print_table(["user", "role"], members)
    forms = [[each.name, each.access, each.uid] for each in client.team_assets(uid)]
    if forms:
        session.output.print("")
        session.output.print_table(["form", "access", "uid"], forms)


def _print_change(session: Session, change: TeamChange, effect: str) -> None:
    rows = [
        [last_path_segment(each.user), effect, each.name, each.access] for each in change.assets
    ]
    if rows:
        session.output.print_table(["user", "effect", "form", "access"], rows)


def _dry_run_note(session: Session) -> str:
    return "Nothing was changed: this was a dry run." if session.options.dry_run else ""


TEAM = Command(
    summary="list teams, create or show one, add people and remove them",
    description="""\
List the teams that you are in, create one, show the members and forms of one, add people
or remove them. --dry-run shows which forms people would gain or lose. Share a form with a team by
the command share, with team: and its name in place of a user.""",
    examples="""\
examples:
  %(prog)s list
  %(prog)s create wash --description "Water and hygiene"
  %(prog)s show wash
  %(prog)s add wash amina,omar --dry-run
  %(prog)s remove wash omar
""",
    add_arguments=_add_arguments,
    run=team,
)
