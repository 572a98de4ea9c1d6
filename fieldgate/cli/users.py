"""`fieldgate user …`: accounts."""

import re
import sys
from pathlib import Path
from typing import Any

import click

from fieldgate.accounts.secrets import Passwords
from fieldgate.accounts.store import AccountStore, NewUser, UnknownUser, UsernameTaken
from fieldgate.cli.opening import data_option, with_accounts
from fieldgate.cli.printing import print_table

SHORTEST_PASSWORD = 8

_USERNAME = re.compile(r"[\w.@+-]{1,150}")


@click.group()
def user() -> None:
    """Make, list and disable accounts."""


@user.command("create")
@click.argument("name")
@click.option("--password-stdin", is_flag=True, help="Read the password from standard input (else it is asked for).")
@click.option("--first", default="", help="First name.")
@click.option("--last", default="", help="Last name.")
@click.option("--superuser", is_flag=True, help="May do everything.")
@click.option("--ifrc", is_flag=True, help="Sees what is for the IFRC secretariat.")
@click.option("--country", "countries", multiple=True, metavar="ISO3", help="A country of this user; may be repeated.")
@data_option
def create(name: str, password_stdin: bool, countries: tuple[str, ...], data: Path | None, **details: Any) -> None:
    """Make an account called NAME."""
    if not _USERNAME.fullmatch(name):
        raise click.BadParameter("letters, digits and . @ + - _ only, at most 150.", param_hint="NAME")
    for country in countries:
        if not re.fullmatch(r"[A-Za-z]{3}", country):
            raise click.BadParameter(f"three letters such as KEN, not {country!r}.", param_hint="--country")
    if password_stdin:
        password = sys.stdin.readline().rstrip("\r\n")
    else:
        password = click.prompt("Password", hide_input=True, confirmation_prompt=True)
    if len(password) < SHORTEST_PASSWORD:
        raise click.ClickException(f"The password is too short: at least {SHORTEST_PASSWORD} characters.")
    new = NewUser(
        username=name,
        password_hash=Passwords().hash(password),
        first_name=details["first"],
        last_name=details["last"],
        is_superuser=details["superuser"],
        is_ifrc=details["ifrc"],
        countries=tuple(country.upper() for country in countries),
    )
    try:
        _create(data, new)
    except UsernameTaken:
        raise click.ClickException(f"There is a user {name} already.") from None
    click.echo(f"user {name} made")


@user.command("list")
@data_option
def list_users(data: Path | None) -> None:
    """List all accounts."""
    columns = ("id", "name", "rights", "countries", "tokens", "made", "disabled")
    print_table(columns, [_shown(row) for row in _all(data)])


def _shown(row: Any) -> tuple[object, ...]:
    rights = [word for word, holds in (("superuser", row.is_superuser), ("ifrc", row.is_ifrc)) if holds]
    disabled = None if row.disabled_at is None else f"{row.disabled_at:%Y-%m-%d}"
    made = f"{row.created_at:%Y-%m-%d}"
    return row.id, row.username, ", ".join(rights), ", ".join(row.countries), row.tokens, made, disabled


@user.command("disable")
@click.argument("name")
@data_option
def disable(name: str, data: Path | None) -> None:
    """Close the account NAME: its tokens and sessions stop working at once."""
    try:
        _disable(data, name)
    except UnknownUser:
        raise click.ClickException(f"There is no user {name}.") from None
    click.echo(f"user {name} disabled")


@with_accounts
async def _create(store: AccountStore, new: NewUser) -> int:
    return await store.create_user(new)


@with_accounts
async def _all(store: AccountStore) -> Any:
    return await store.all_users()


@with_accounts
async def _disable(store: AccountStore, name: str) -> None:
    await store.disable_user(name)
