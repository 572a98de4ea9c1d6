"""`fieldgate token …`: API tokens."""

from datetime import datetime, timedelta
from pathlib import Path

import click

from fieldgate.accounts.store import AccountStore, IssuedBy
from fieldgate.cli.common import data_option, database_address, parse_lifetime, run_with_accounts
from fieldgate.cli.output import print_table
from fieldgate.db import now


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
@data_option
def create(name: str, expires: timedelta | None, data: Path | None) -> None:
    """Create a token for the user NAME and print it on standard output. It cannot be shown again."""

    async def issue(store: AccountStore) -> str | None:
        row = await store.find_user(name)
        until = None if expires is None else now() + expires
        return None if row is None else await store.issue_token(row.id, IssuedBy.COMMAND, until)

    created = run_with_accounts(data, issue)
    if created is None:
        raise click.ClickException(
            f"The user {name} does not exist or is disabled. The database is {database_address(data)}"
        )
    click.echo(created)


@token.command("list")
@data_option
def list_tokens(data: Path | None) -> None:
    """List all tokens. Tokens are identified by their first characters."""
    columns = ("id", "prefix", "user", "created by", "created", "last used", "expires", "revoked")
    rows = [
        (
            row.id,
            f"{row.prefix}…",
            row.username,
            row.issued_by,
            *map(_format_timestamp, (row.created_at, row.last_used_at, row.expires_at, row.revoked_at)),
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
