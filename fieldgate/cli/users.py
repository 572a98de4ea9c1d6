"""`fieldgate user …`: user accounts."""

import asyncio
import difflib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from sqlalchemy.exc import ArgumentError

from fieldgate.accounts.account_rules import password_error, person_name_error, username_error
from fieldgate.accounts.leaving import AccountRemover
from fieldgate.accounts.passwords import Passwords
from fieldgate.accounts.schemas import UserChanges
from fieldgate.accounts.sign_on.identities import IdentityStore
from fieldgate.accounts.store import AccountStore, NewUser, UnknownUser, UsernameTaken
from fieldgate.accounts.tables import PUBLIC_USER_ID
from fieldgate.accounts.user_changes import UserEditor
from fieldgate.cli.common import (
    data_option,
    load_settings,
    open_database,
    run_with_accounts,
    run_with_database,
)
from fieldgate.cli.output import print_table
from fieldgate.db import DataVersions, sqlite_file
from fieldgate.errors import Conflict, NotFound
from fieldgate.i18n.folding import fold_text
from fieldgate.i18n.languages import Language
from fieldgate.identity import OPERATOR

if TYPE_CHECKING:
    from fieldgate.reference.reference_data import Country, ReferenceData

MAX_SUGGESTIONS = 3


@click.group()
def user() -> None:
    """Create, list, change, disable, enable and delete users."""


@user.command("create")
@click.argument("name")
@click.option(
    "--password-stdin",
    is_flag=True,
    help="Read the password from standard input instead of a prompt.",
)
@click.option("--first", default="", help="First name.")
@click.option("--last", default="", help="Last name.")
@click.option("--superuser", is_flag=True, help="Give all permissions on everything.")
@click.option("--ifrc", is_flag=True, help="Let the user see events for the IFRC secretariat.")
@click.option(
    "--country",
    "countries",
    multiple=True,
    metavar="ISO3",
    help="Country of the user; can be repeated.",
)
@click.option(
    "--owner",
    metavar="OWNER",
    help="Create a service account, without a password: a username or team:NAME.",
)
@data_option
def create(
    name: str,
    password_stdin: bool,
    countries: tuple[str, ...],
    owner: str | None,
    data: Path | None,
    **details: Any,
) -> None:
    """Create the user NAME."""
    if owner is not None and (
        password_stdin or countries or details["superuser"] or details["ifrc"]
    ):
        raise click.UsageError(
            "A service account has no password and no rights. Use --owner with names only."
        )
    if error := username_error(name):
        raise click.BadParameter(str(error), param_hint="NAME")
    _check_details(data, details, countries)
    if _has_database(data) and _find(data, name) is not None:  # before the password is asked for
        raise _name_taken(name)
    owner_id = None if owner is None else _find_owner(data, owner)
    new = NewUser(
        username=name,
        password_hash="" if owner else Passwords().hash(_read_password(name, password_stdin)),
        first_name=details["first"],
        last_name=details["last"],
        is_superuser=details["superuser"],
        is_ifrc=details["ifrc"],
        countries=tuple(country.upper() for country in countries),
        owner_id=owner_id,
    )
    try:
        with _require_user(name):
            run_with_accounts(data, lambda store: store.create_user(new), creates=True)
    except UsernameTaken:
        raise _name_taken(name) from None
    click.echo(f"user {name} created")


def _find_owner(data: Path | None, owner: str) -> int:
    found = run_with_accounts(data, lambda store: store.find_owners(owner))
    if len(found) != 1:
        several = f"Several teams are called {owner}. Use team: and a uid."
        raise click.ClickException(several if found else f"There is no user or team {owner}.")
    return found[0]


def _check_details(data: Path | None, details: dict[str, Any], countries: tuple[str, ...]) -> None:
    for option in ("first", "last"):
        if error := person_name_error(details[option] or ""):
            raise click.BadParameter(str(error), param_hint=f"--{option}")
    if countries:
        _check_countries(data, countries)


@user.command("change")
@click.argument("name")
@click.option("--first", help="First name.")
@click.option("--last", help="Last name.")
@click.option(
    "--superuser/--no-superuser", default=None, help="Give or take all permissions on everything."
)
@click.option(
    "--ifrc/--no-ifrc", default=None, help="Whether the user sees events for the IFRC secretariat."
)
@click.option(
    "--country",
    "countries",
    multiple=True,
    metavar="ISO3",
    help="Country, instead of those before; can be repeated.",
)
@click.option("--no-countries", is_flag=True, help="Remove all countries of the user.")
@data_option
def change(
    name: str, countries: tuple[str, ...], no_countries: bool, data: Path | None, **details: Any
) -> None:
    """Change name, rights or countries of the user NAME. What has no option stays."""
    if countries and no_countries:
        raise click.UsageError("Use --country or --no-countries, not both.")
    new = UserChanges(
        first_name=details["first"],
        last_name=details["last"],
        is_superuser=details["superuser"],
        is_ifrc=details["ifrc"],
        countries=[country.upper() for country in countries] if countries or no_countries else None,
    )
    if new == UserChanges():
        raise click.UsageError("Say what to change, for example --superuser.")
    with _require_user(name):
        user_id = _existing_user(data, name).id
        _check_details(data, details, countries)
        _change(data, user_id, new)
    click.echo(f"user {name} changed")


def _change(data: Path | None, user_id: int, new: UserChanges) -> None:
    run_with_database(data, lambda each: UserEditor(each, DataVersions(each)).change(user_id, new))


def _existing_user(data: Path | None, name: str) -> Any:
    row = _find(data, name)
    if row is None or row.id == PUBLIC_USER_ID:
        raise UnknownUser(name)
    return row


def _find(data: Path | None, name: str) -> Any:
    """The row of a user, also of one that is disabled; None if there is none."""
    return run_with_accounts(data, lambda store: store.find_any(name))


def _name_taken(name: str) -> click.ClickException:
    return click.ClickException(f"The user {name} already exists.")


def _has_database(data: Path | None) -> bool:
    """Whether there is a database to look into: a command that fails must not create one."""
    try:
        file = sqlite_file(load_settings(data).database)
    except (ValueError, ArgumentError):
        return True  # opening it reports what is wrong
    return file is None or file.is_file()


@user.command("list")
@data_option
def list_users(data: Path | None) -> None:
    """List all users."""
    columns = ("id", "name", "rights", "countries", "owner", "tokens", "created", "disabled")
    print_table(columns, [_to_row(row) for row in run_with_accounts(data, AccountStore.list_users)])


def _to_row(row: Any) -> tuple[object, ...]:
    rights = [
        word for word, holds in (("superuser", row.is_superuser), ("ifrc", row.is_ifrc)) if holds
    ]
    disabled = None if row.disabled_at is None else f"{row.disabled_at:%Y-%m-%d}"
    created = f"{row.created_at:%Y-%m-%d}"
    owner = None if row.owner_id is None else row.owner_username or "(deleted)"
    return (
        row.id,
        row.username,
        ", ".join(rights),
        ", ".join(row.countries),
        owner,
        row.token_count,
        created,
        disabled,
    )


def _read_password(username: str, from_stdin: bool) -> str:
    """Read a password from standard input, or prompt for it twice."""
    if from_stdin:
        try:
            password = sys.stdin.buffer.readline().decode().rstrip("\r\n")
        except UnicodeDecodeError:
            raise click.ClickException("The password on standard input must be UTF-8.") from None
    else:
        if sys.stdin is None or not sys.stdin.isatty():
            raise click.ClickException(
                "There is no terminal to ask for the password. Use --password-stdin to read it from standard input."
            )
        password = click.prompt("Password", hide_input=True, confirmation_prompt=True)
    if error := password_error(password, username):
        raise click.ClickException(str(error))
    return password


@user.command("password")
@click.argument("name")
@click.option(
    "--password-stdin",
    is_flag=True,
    help="Read the password from standard input instead of a prompt.",
)
@data_option
def password(name: str, password_stdin: bool, data: Path | None) -> None:
    """Set the password of the user NAME. Browser sessions end; tokens stay valid."""
    with _require_user(name):
        _existing_user(data, name)
        password_hash = Passwords().hash(_read_password(name, password_stdin))
        run_with_accounts(data, lambda store: store.set_password(name, password_hash))
    click.echo(f"password of user {name} changed")


@user.command("link")
@click.argument("name")
@click.argument("issuer")
@click.argument("subject")
@data_option
def link(name: str, issuer: str, subject: str, data: Path | None) -> None:
    """Let the user NAME log in with the account SUBJECT at the provider ISSUER (single sign-on)."""
    issuers = [each.issuer for each in load_settings(data).sign_on]
    if issuer not in issuers:
        known = ", ".join(issuers) or "none: set FIELDGATE_SIGN_ON as for the service"
        raise click.BadParameter(
            f"{issuer} is no provider of this service. Its providers: {known}.", param_hint="ISSUER"
        )
    with _require_user(name):
        row = _existing_user(data, name)
        try:
            run_with_database(
                data, lambda each: IdentityStore(each).link(row.id, issuer, subject, by=OPERATOR)
            )
        except (Conflict, NotFound) as error:
            raise click.ClickException(str(error.message)) from None
    click.echo(f"user {name} can log in as {subject} at {issuer}")


@user.command("disable")
@click.argument("name")
@data_option
def disable(name: str, data: Path | None) -> None:
    """Disable the user NAME. Tokens and sessions are revoked for good."""
    with _require_user(name):
        _change(data, _existing_user(data, name).id, UserChanges(is_active=False))
    click.echo(f"user {name} disabled")


@user.command("delete")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@data_option
def delete(name: str, yes: bool, data: Path | None) -> None:
    """Delete the user NAME for good, with tokens and permissions. Refused while the user owns forms."""
    with _require_user(name):
        row = _existing_user(data, name)
        if not yes:
            click.confirm(
                f"Delete the user {row.username} for good? This cannot be undone", abort=True
            )
        asyncio.run(_delete(data, row.id))
    click.echo(f"user {name} deleted")


async def _delete(data: Path | None, user_id: int) -> None:
    from fieldgate.assets.trash import Trash  # slow to import

    settings = load_settings(data)
    async with open_database(settings, creates=False) as database:
        data_versions = DataVersions(database)
        trash = Trash(database, data_versions, settings.trash_days)
        await AccountRemover(database, data_versions, trash).delete(user_id, OPERATOR)


@user.command("enable")
@click.argument("name")
@data_option
def enable(name: str, data: Path | None) -> None:
    """Enable the user NAME again. Earlier tokens stay revoked."""
    with _require_user(name):
        _change(data, _existing_user(data, name).id, UserChanges(is_active=True))
    click.echo(f"user {name} enabled")


@contextmanager
def _require_user(name: str) -> Iterator[None]:
    """Report that there is no such user, or what stands in the way of a change."""
    try:
        yield
    except UnknownUser:
        raise click.ClickException(f"The user {name} does not exist.") from None
    except Conflict as error:
        raise click.ClickException(str(error.message)) from None


def _check_countries(data: Path | None, codes: tuple[str, ...]) -> None:
    """Refuse a code that no country has, and name the nearest ones."""
    from fieldgate.reference.queries import load_reference  # slow to import; --country needs it

    reference_data = run_with_database(
        data, lambda database: database.in_read(load_reference), creates=True
    )
    for code in codes:
        if reference_data.country_by_iso3(code) is None:
            nearest = ", ".join(
                f"{each.iso3} ({reference_data.country_records.name(Language.ENGLISH, each.id)})"
                for each in _nearest_countries(reference_data, code)
            )
            advice = (
                f"The nearest are: {nearest}." if nearest else "Enter three letters such as KEN."
            )
            raise click.BadParameter(
                f"no country has the code {code!r}. {advice}", param_hint="--country"
            )


def _nearest_countries(reference_data: "ReferenceData", text: str) -> list["Country"]:
    """The country with this two-letter code, then those with a similar name, then those with a similar code."""
    coded = {country.iso3: country for country in reference_data.countries.values() if country.iso3}
    two_letters = [
        iso3
        for iso3, country in coded.items()
        if (country.iso or "-").casefold() == text.casefold()
    ]
    names = {
        fold_text(name): iso3 for iso3, country in coded.items() for name in country.names.values()
    }
    by_name = [
        names[name]
        for name in difflib.get_close_matches(fold_text(text), names, MAX_SUGGESTIONS, 0.8)
    ]
    by_code = difflib.get_close_matches(text.upper(), coded, n=len(coded))
    by_code.sort(key=lambda iso3: (iso3[:2] != text[:2].upper(), iso3[0] != text[0].upper()))
    return [coded[iso3] for iso3 in dict.fromkeys([*two_letters, *by_name, *by_code])][
        :MAX_SUGGESTIONS
    ]
