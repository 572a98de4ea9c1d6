"""`share`, `explain` and `permissions`: who may do what with an asset, and why."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from fieldgate_client.cli.exit_codes import ExitCode, UsageError
from fieldgate_client.cli.session import Command, Session, add_server_options, comma_list
from fieldgate_client.client import Client
from fieldgate_client.errors import (
    FieldgateError,
    InvalidRequest,
    NotAllowed,
    NotFound,
    RequestFailed,
    UnsupportedByServer,
)
from fieldgate_client.server_url import last_path_segment
from fieldgate_client.sharing import SharingResult
from fieldgate_client.terminal_text import clean_line

COLUMNS = ("asset", "user", "permission")


class Row(NamedTuple):
    """A row of a CSV file."""

    asset: str
    user: str
    permission: str
    line: int = 0


class Grant(NamedTuple):
    """Permissions of some users on an asset: one request."""

    asset: str
    users: tuple[str, ...]
    permissions: tuple[str, ...]
    rows: tuple[Row, ...] = ()


def _add_share_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("asset", metavar="FORM", nargs="?", help="uid of a form, or its address")
    parser.add_argument(
        "user", metavar="USER", nargs="?", help="user name or team:NAME; several with commas"
    )
    parser.add_argument(
        "permissions", metavar="PERMISSION", nargs="*", help="such as view_submissions"
    )
    parser.add_argument(
        "--from", dest="file", metavar="FILE", help="CSV file with asset, user and permission"
    )
    parser.add_argument("--remove", action="store_true", help="remove the permissions")
    parser.add_argument("--until", metavar="DATE", help="when they end: a date, a time, or never")
    parser.add_argument("--dry-run", action="store_true", help="show what would change")
    add_server_options(parser)


def share(session: Session) -> int:
    options = session.options
    if options.file:
        if options.asset:
            raise UsageError("Give FORM, USER and PERMISSION, or --from FILE.")
        grants = group_rows(read_rows(options.file))
    elif options.permissions:
        grants = [Grant(options.asset, tuple(comma_list(options.user)), tuple(options.permissions))]
    else:
        raise UsageError("Give FORM, USER and at least one PERMISSION, or --from FILE.")
    url = grants[0].asset if "://" in grants[0].asset else ""
    with session.open_client(url) as client:
        names = _team_names(client, grants)
        if options.dry_run:
            planned = [_apply(client, grant, options, dry_run=True) for grant in grants]
            _print_effects(session, grants, planned, names)
            session.output.note("Nothing was changed: this was a dry run.")
            return ExitCode.OK
        if options.file:
            _try_all(client, grants, options)
        results: list[SharingResult] = []
        try:
            for grant in grants:
                results.append(_apply(client, grant, options, dry_run=False))
        finally:
            _print_effects(session, grants[: len(results)], results, names)
    return ExitCode.OK


def _try_all(client: Client, grants: list[Grant], options: argparse.Namespace) -> None:
    """Report all rows that the server refuses, before the first is applied. KoboToolbox cannot try."""
    found = []
    with suppress(UnsupportedByServer):
        for grant in grants:
            if _refusal(client, grant, options) is None:
                continue
            for row in grant.rows:
                alone = Grant(row.asset, (row.user,), (row.permission,))
                if (error := _refusal(client, alone, options)) is not None:
                    found.append((row.line, f"line {row.line}{_column_of(error)}: {error.message}"))
    if found:
        texts = "\n".join(text for _, text in sorted(found))
        raise FieldgateError(f"{options.file} was not applied; nothing was changed.\n{texts}")


def _refusal(client: Client, grant: Grant, options: argparse.Namespace) -> RequestFailed | None:
    try:
        _apply(client, grant, options, dry_run=True)
    except (InvalidRequest, NotAllowed, NotFound) as error:
        return error
    return None


def _column_of(error: RequestFailed) -> str:
    """The column that an error is about, if the server says it."""
    columns = [column for column in COLUMNS if f"{column}s" in error.fields]
    if not error.fields:  # the asset cannot be seen, or not be shared
        columns = ["asset"]
    return f", column {columns[0]}" if columns else ""


def _apply(
    client: Client, grant: Grant, options: argparse.Namespace, *, dry_run: bool
) -> SharingResult:
    return client.share(
        grant.asset,
        grant.users,
        *grant.permissions,
        remove=options.remove,
        dry_run=dry_run,
        until=options.until,
    )


def _team_names(client: Client, grants: list[Grant]) -> dict[str, str]:
    """Names of the caller's teams by uid, if there is a team among the users. Effects have only the uid."""
    if not any(user.startswith("team:") for grant in grants for user in grant.users):
        return {}
    with suppress(FieldgateError):  # then they are shown by their uids
        return {each.uid: each.name for each in client.teams()}
    return {}


def _print_effects(
    session: Session, grants: list[Grant], results: list[SharingResult], team_names: dict[str, str]
) -> None:
    rows = [
        [
            last_path_segment(effect.asset or grant.asset),
            _name(effect.user or "", team_names) or ", ".join(grant.users),
            "no longer ends"
            if effect.effect == "ends" and not effect.expires_at
            else effect.effect,
            last_path_segment(effect.permission),
            (effect.why or effect.message)
            + (f", until {effect.expires_at}" if effect.expires_at else ""),
        ]
        for grant, result in zip(grants, results, strict=True)
        for effect in result.effects
    ]
    if rows:
        session.output.print_table(["asset", "user", "effect", "permission", "why"], rows)
    elif results:
        session.output.print("Nothing changes: the permissions are as wanted already.")


def _name(url: str, team_names: dict[str, str]) -> str:
    """The name of a user or team."""
    name = last_path_segment(url)
    return f"team:{team_names.get(name, name)}" if "/teams/" in url else name


def read_rows(file: str) -> list[Row]:
    """Rows of a CSV file: asset, user, permission. An error names all lines and columns."""
    try:
        with Path(file).open(encoding="utf-8-sig", newline="") as opened:
            return _parse_rows(file, opened.read())
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror or error}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{file} is not a CSV file in UTF-8: {error}") from None


def _parse_rows(file: str, text: str) -> list[Row]:
    lines = text.splitlines(keepends=True)
    first = lines[0] if lines else ""
    # Excel writes semicolons where the decimal sign is a comma.
    reader = csv.DictReader(lines, delimiter=";" if first.count(";") > first.count(",") else ",")
    header = [(name or "").strip().lower() for name in reader.fieldnames or []]
    if missing := [name for name in COLUMNS if name not in header]:
        raise UsageError(
            f"{file} has no column {' or '.join(missing)}. The first line must be: asset,user,permission"
        )
    reader.fieldnames = header
    rows, errors = [], []
    for values in reader:
        asset, user, permission = (str(values[name] or "").strip() for name in COLUMNS)
        row = Row(asset, user, permission, reader.line_num)
        empty = [name for name in COLUMNS if not getattr(row, name)]
        if len(empty) == len(COLUMNS):
            continue
        errors += [f"{file}, line {row.line}, column {name}: is empty." for name in empty]
        rows.append(row)
    if errors:
        raise UsageError("\n".join(errors))
    if not rows:
        raise UsageError(f"{file} has no rows.")
    return rows


def group_rows(rows: Iterable[Row]) -> list[Grant]:
    """As few requests as possible: users who get the same permissions on the same asset share one."""
    wanted: dict[tuple[str, str], dict[str, Row]] = {}
    for row in rows:
        wanted.setdefault((row.asset, row.user), {}).setdefault(row.permission, row)
    shared: dict[tuple[str, tuple[str, ...]], dict[str, list[Row]]] = {}
    for (asset, user), found in wanted.items():
        shared.setdefault((asset, tuple(sorted(found))), {})[user] = [*found.values()]
    return [
        Grant(
            asset,
            tuple(users),
            permissions,
            tuple(row for found in users.values() for row in found),
        )
        for (asset, permissions), users in shared.items()
    ]


def _add_explain_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("asset", metavar="FORM", help="uid of a form, or its address")
    parser.add_argument("user", metavar="USER", help="user name; AnonymousUser is the public")
    parser.add_argument("permission", metavar="PERMISSION", help="such as change_asset")
    add_server_options(parser)


def explain(session: Session) -> int:
    options, output = session.options, session.output
    with session.open_client(options.asset if "://" in options.asset else "") as client:
        found = client.explain(options.asset, options.user, options.permission)
    label = f" ({found.label})" if found.label else ""
    output.print(f"{'Yes' if found.allowed else 'No'}: {options.user}, {options.permission}{label}")
    for rule in found.rules:
        end = f" Until {rule.expires_at}." if rule.expires_at else ""
        teams = ", ".join(each.name or "a team that you are not in" for each in rule.via)
        via = f" Through {teams}." if teams else ""
        output.print(clean_line(f"- {rule.message or rule.why or rule.rule}{via}{end}"))
    if found.missing_scope:
        output.print(f"Your token cannot use it: it lacks the scope {found.missing_scope}.")
    if found.needs:
        output.print("Any of these would be enough:")
        for need in found.needs:
            output.print(clean_line(f"- {need.message or need.why}"))
    return ExitCode.OK


def show_permissions(session: Session) -> int:
    with session.open_client() as client:
        rows = [
            [
                each.codename,
                _codenames(each.implied),
                _codenames(each.contradictory),
                each.name or "",
            ]
            for each in client.permissions()
        ]
    session.output.print_table(["permission", "implies", "contradicts", "name"], rows)
    return ExitCode.OK


def _codenames(urls: Iterable[str]) -> str:
    return ", ".join(sorted(last_path_segment(each) for each in urls))


SHARE = Command(
    summary="assign permissions, or remove them",
    description="""\
Assign permissions on an asset to a user, or remove them. --dry-run shows what would
change and changes nothing. --from reads a CSV file with the columns asset, user and
permission, separated by commas or semicolons; all its rows are tried before the first
is applied, and all that are wrong are reported.""",
    examples="""\
examples:
  %(prog)s aBcDeFgHiJkLmNoPqRsTuV amina view_submissions --dry-run
  %(prog)s aBcDeFgHiJkLmNoPqRsTuV amina,omar view_asset change_asset
  %(prog)s aBcDeFgHiJkLmNoPqRsTuV amina view_submissions --until 2026-12-31
  %(prog)s aBcDeFgHiJkLmNoPqRsTuV amina change_asset --remove
  %(prog)s aBcDeFgHiJkLmNoPqRsTuV team:wash view_asset
  %(prog)s --from people.csv
""",
    add_arguments=_add_share_arguments,
    run=share,
)
EXPLAIN = Command(
    summary="tell why a user has a permission, or has not",
    description="Tell whether a user has a permission on an asset, why, and what would have to be assigned.",
    examples="""\
examples:
  %(prog)s aBcDeFgHiJkLmNoPqRsTuV amina change_asset
""",
    add_arguments=_add_explain_arguments,
    run=explain,
)
PERMISSIONS = Command(
    summary="list permissions",
    description="List all permissions, with what each implies and contradicts.",
    examples="""\
examples:
  %(prog)s
""",
    add_arguments=add_server_options,
    run=show_permissions,
)
