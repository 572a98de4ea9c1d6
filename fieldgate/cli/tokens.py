"""`fieldgate token …`: tokens for programs."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import click

from fieldgate.accounts.store import AccountStore, IssuedBy
from fieldgate.cli.common import data_option, with_account_store
from fieldgate.cli.output import print_table
from fieldgate.db import now
from fieldgate.settings import parse_duration


@click.group()
def token() -> None:
    """Make, list and revoke tokens."""


def _parse_lifetime(_: click.Context, __: click.Parameter, value: str | None) -> timedelta | None:
    try:
        return None if value is None else timedelta(seconds=parse_duration(value))
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


@token.command("create")
@click.argument("name")
@click.option(
    "--expires",
    callback=_parse_lifetime,
    metavar="TIME",
    help="Valid for so long, such as 90d or 12h; else for ever.",
)
@data_option
def create(name: str, expires: timedelta | None, data: Path | None) -> None:
    """Make a token for the user NAME and print it, alone, on standard output. It is shown this once."""
    made = _create(data, name, None if expires is None else now() + expires)
    if made is None:
        raise click.ClickException(f"There is no user {name}, or it is disabled.")
    click.echo(made)


@token.command("list")
@data_option
def list_tokens(data: Path | None) -> None:
    """List all tokens. They are told apart by how they begin."""
    columns = ("id", "begins", "user", "made by", "made", "last used", "expires", "revoked")
    rows = [
        (
            row.id,
            f"{row.prefix}…",
            row.username,
            row.issued_by,
            *map(_format_timestamp, (row.created_at, row.last_used_at, row.expires_at, row.revoked_at)),
        )
        for row in _list_tokens(data)
    ]
    print_table(columns, rows)


@token.command("revoke")
@click.argument("token_id", metavar="ID", type=click.IntRange(1, 2**31 - 1))
@data_option
def revoke(token_id: int, data: Path | None) -> None:
    """Revoke the token number ID: it is refused from the next request on."""
    if not _revoke(data, token_id):
        raise click.ClickException(f"There is no valid token number {token_id}.")
    click.echo(f"token {token_id} revoked")


def _format_timestamp(timestamp: datetime | None) -> str:
    return "" if timestamp is None else f"{timestamp:%Y-%m-%d %H:%M}"


@with_account_store
async def _create(store: AccountStore, name: str, expires: datetime | None) -> str | None:
    row = await store.find_user(name)
    return None if row is None else await store.issue_token(row.id, IssuedBy.COMMAND, expires)


@with_account_store
async def _list_tokens(store: AccountStore) -> Any:
    return await store.list_tokens()


@with_account_store
async def _revoke(store: AccountStore, token_id: int) -> bool:
    return await store.revoke_token(token_id)
