"""`fieldgate token …`: API tokens."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import get_args

import click

from fieldgate.accounts.account_rules import parse_limits
from fieldgate.accounts.schemas import ScopeName
from fieldgate.accounts.store import AccountStore, IssuedBy
from fieldgate.cli.common import data_option, database_address, parse_lifetime, run_with_accounts
from fieldgate.cli.output import print_table
from fieldgate.db import now
from fieldgate.errors import ValidationError
from fieldgate.identity import NO_LIMITS


@click.group()
def token() -> None:
    """Create, list and revoke tokens."""


@token.command("create")
@click.argument("name")
@click.option(
    "--expires",
    callback=parse_lifetime,
    metavar="TIME",
    help="Lifetime, such as 90d or 12h.  [default: no expiry]",
)
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(get_args(ScopeName)),
    help="What it is for.  [default: all]",
)
@click.option(
    "--asset",
    "assets",
    multiple=True,
    metavar="UID",
    help="Limit it to this asset; can be repeated.",
)
@click.option(
    "--network",
    "networks",
    multiple=True,
    metavar="CIDR",
    help="Limit it to this network; can be repeated.",
)
@data_option
def create(
    name: str, expires: timedelta | None, data: Path | None, **limits: tuple[str, ...]
) -> None:
    """Create a token for the user NAME and print it on standard output. It cannot be shown again."""

    async def issue(store: AccountStore) -> str | None:
        row = await store.find_user(name)
        if row is None:
            return None
        until = None if expires is None else now() + expires
        scopes = limits["scopes"] or NO_LIMITS.scopes
        parsed = parse_limits(
            scopes, limits["assets"], limits["networks"], is_superuser=row.is_superuser
        )
        return (await store.create_token(row.id, IssuedBy.COMMAND, until, limits=parsed)).value

    try:
        created = run_with_accounts(data, issue)
    except ValidationError as invalid:
        [(field, [message])] = invalid.fields.items()
        raise click.ClickException(f"{field}: {message}") from None
    if created is None:
        raise click.ClickException(
            f"The user {name} does not exist or is disabled. The database is {database_address(data)}"
        )
    click.echo(created)


@token.command("list")
@data_option
def list_tokens(data: Path | None) -> None:
    """List all tokens. Tokens are identified by their first characters."""
    columns = (
        "id",
        "prefix",
        "user",
        "created by",
        "scopes",
        "created",
        "last used",
        "expires",
        "revoked",
    )
    rows = [
        (
            row.id,
            f"{row.prefix}…",
            row.username,
            row.issued_by,
            row.scopes + (" limited" if row.assets or row.networks else ""),
            *map(
                _format_timestamp,
                (row.created_at, row.last_used_at, row.expires_at, row.revoked_at),
            ),
        )
        for row in run_with_accounts(data, AccountStore.list_tokens)
    ]
    print_table(columns, rows)


@token.command("revoke")
@click.argument("token_id", metavar="ID", type=click.IntRange(1, 2**31 - 1))
@data_option
def revoke(token_id: int, data: Path | None) -> None:
    """Revoke the token ID. It is refused from the next request on."""
    if not run_with_accounts(data, lambda store: store.revoke_token(token_id)):
        raise click.ClickException(f"There is no valid token with the id {token_id}.")
    click.echo(f"token {token_id} revoked")


def _format_timestamp(timestamp: datetime | None) -> str:
    return "" if timestamp is None else f"{timestamp:%Y-%m-%d %H:%M}"
