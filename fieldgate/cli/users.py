"""`fieldgate user …`: user accounts."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from fieldgate.accounts.passwords import Passwords
from fieldgate.accounts.store import AccountStore, NewUser, UnknownUser, UsernameTaken, username_key
from fieldgate.accounts.tables import PUBLIC_USERNAME
from fieldgate.cli.common import data_option, with_account_store
from fieldgate.cli.output import print_table

MAX_NAME_CHARS = 150
MIN_PASSWORD_CHARS, MAX_PASSWORD_CHARS = 8, 1000

_USERNAME = re.compile(r"[\w.@+-]+")


@click.group()
def user() -> None:
    """Create, list, disable and enable users."""


@user.command("create")
@click.argument("name")
@click.option("--password-stdin", is_flag=True, help="Read the password from standard input instead of a prompt.")
@click.option("--first", default="", help="First name.")
@click.option("--last", default="", help="Last name.")
@click.option("--superuser", is_flag=True, help="Give all permissions on everything.")
@click.option("--ifrc", is_flag=True, help="Let the user see events for the IFRC secretariat.")
@click.option("--country", "countries", multiple=True, metavar="ISO3", help="Country of the user; can be repeated.")
@data_option
def create(name: str, password_stdin: bool, countries: tuple[str, ...], data: Path | None, **details: Any) -> None:
    """Create the user NAME."""
    if not _USERNAME.fullmatch(name) or len(username_key(name)) > MAX_NAME_CHARS:
        raise click.BadParameter(f"letters, digits and . @ + - _ only, at most {MAX_NAME_CHARS}.", param_hint="NAME")
    if username_key(name) == username_key(PUBLIC_USERNAME):
        raise click.BadParameter(
            f"{PUBLIC_USERNAME} is the name of the public; choose another name.", param_hint="NAME"
        )
    if name.lower().endswith(".json"):
        raise click.BadParameter("a name cannot end in .json, which selects a format in URLs.", param_hint="NAME")
    for country in countries:
        if not re.fullmatch(r"[A-Za-z]{3}", country):
            raise click.BadParameter(f"three letters such as KEN, not {country!r}.", param_hint="--country")
    for option in ("first", "last"):
        if not details[option].isprintable() or len(details[option]) > MAX_NAME_CHARS:
            raise click.BadParameter(f"a name of at most {MAX_NAME_CHARS} letters.", param_hint=f"--{option}")
    password = _read_password(password_stdin)
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
        raise click.ClickException(f"The user {name} already exists.") from None
    click.echo(f"user {name} created")


@user.command("list")
@data_option
def list_users(data: Path | None) -> None:
    """List all users."""
    columns = ("id", "name", "rights", "countries", "tokens", "created", "disabled")
    print_table(columns, [_to_row(row) for row in _list_users(data)])


def _to_row(row: Any) -> tuple[object, ...]:
    rights = [word for word, holds in (("superuser", row.is_superuser), ("ifrc", row.is_ifrc)) if holds]
    disabled = None if row.disabled_at is None else f"{row.disabled_at:%Y-%m-%d}"
    created = f"{row.created_at:%Y-%m-%d}"
    return row.id, row.username, ", ".join(rights), ", ".join(row.countries), row.tokens, created, disabled


def _read_password(from_stdin: bool) -> str:
    """Read a password from standard input, or prompt for it twice."""
    if from_stdin:
        try:
            password = sys.stdin.buffer.readline().decode().rstrip("\r\n")
        except UnicodeDecodeError:
            raise click.ClickException("The password on standard input must be UTF-8.") from None
    else:
        password = click.prompt("Password", hide_input=True, confirmation_prompt=True)
    if len(password) < MIN_PASSWORD_CHARS:
        raise click.ClickException(f"The password is too short: at least {MIN_PASSWORD_CHARS} characters.")
    if len(password) > MAX_PASSWORD_CHARS or "\0" in password:
        raise click.ClickException(f"The password is too long, at most {MAX_PASSWORD_CHARS} characters, or not text.")
    return password


@user.command("password")
@click.argument("name")
@click.option("--password-stdin", is_flag=True, help="Read the password from standard input instead of a prompt.")
@data_option
def password(name: str, password_stdin: bool, data: Path | None) -> None:
    """Set the password of the user NAME. Browser sessions end; tokens stay valid."""
    with _require_user(name):
        _set_password(data, name, Passwords().hash(_read_password(password_stdin)))
    click.echo(f"password of user {name} changed")


@user.command("disable")
@click.argument("name")
@data_option
def disable(name: str, data: Path | None) -> None:
    """Disable the user NAME. Tokens and sessions stop working at once."""
    with _require_user(name):
        _disable(data, name)
    click.echo(f"user {name} disabled")


@user.command("enable")
@click.argument("name")
@data_option
def enable(name: str, data: Path | None) -> None:
    """Enable the user NAME again, with all tokens that have not expired."""
    with _require_user(name):
        _enable(data, name)
    click.echo(f"user {name} enabled")


@contextmanager
def _require_user(name: str) -> Iterator[None]:
    try:
        yield
    except UnknownUser:
        raise click.ClickException(f"The user {name} does not exist.") from None


@with_account_store
async def _create(store: AccountStore, new: NewUser) -> int:
    return await store.create_user(new)


@with_account_store
async def _list_users(store: AccountStore) -> Any:
    return await store.list_users()


@with_account_store
async def _disable(store: AccountStore, name: str) -> None:
    await store.disable_user(name)


@with_account_store
async def _enable(store: AccountStore, name: str) -> None:
    await store.enable_user(name)


@with_account_store
async def _set_password(store: AccountStore, name: str, password_hash: str) -> None:
    await store.set_password(name, password_hash)
