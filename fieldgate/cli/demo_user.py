"""The demo user of `fieldgate serve --demo`.

Its password and token are random, and stay the same as long as they work: they are in a file beside the database that
only the user of the service can read. The first start without `--demo` makes them invalid, also where the file is
missing, for example in a restored installation.

`users.is_demo` says that the password is the one of a demo, or none. A password that somebody sets is kept.
"""

import os
import secrets
import stat
import tempfile
from datetime import timedelta
from pathlib import Path

import click
import msgspec

from fieldgate.accounts.passwords import Passwords
from fieldgate.accounts.store import AccountStore, IssuedBy, NewUser
from fieldgate.db import now
from fieldgate.identity import AuthMethod

USERNAME = "demo"
COMMAND = "serve --demo"  # the name of its token
FILE_NAME = "demo-credentials.json"
TOKEN_LIFETIME = timedelta(days=7)
MIN_TOKEN_LIFETIME = timedelta(days=1)  # that is left; otherwise a start makes a new token
OTHERS = stat.S_IRWXG | stat.S_IRWXO


class DemoCredentials(msgspec.Struct, frozen=True):
    password: str
    token: str

    @property
    def text(self) -> str:
        return f"demo user  {USERNAME}\npassword   {self.password}\ntoken      {self.token}"


async def prepare_demo_user(store: AccountStore, folder: Path) -> DemoCredentials | None:
    """Create the demo user. Return the credentials of the start before, if they still work; None if there are none."""
    known = _read_credentials(folder)
    user = await store.find_any(USERNAME)
    password = secrets.token_urlsafe(9)
    if user is None:
        new = NewUser(
            username=USERNAME,
            password_hash=Passwords().hash(password),
            first_name="Demo",
            is_demo=True,
        )
        user_id = await store.create_user(new)
    else:
        if user.disabled_at is not None:
            click.echo(
                f"The user {USERNAME} is disabled. To enable it, run: fieldgate user enable {USERNAME}",
                err=True,
            )
            return None
        if not user.is_demo:
            click.echo(
                f"The user {USERNAME} has a password that --demo did not set. It still works.",
                err=True,
            )
            return None
        user_id = user.id
        if known is not None and await Passwords().matches(known.password, user.password_hash):
            password = known.password
        else:
            await store.set_password(USERNAME, Passwords().hash(password), is_demo=True)
            await store.revoke_all(user_id)
    if known is not None and await _is_valid(store, known.token, user_id):
        token = known.token
    else:
        token = await store.issue_token(user_id, IssuedBy.COMMAND, now() + TOKEN_LIFETIME, COMMAND)
    credentials = DemoCredentials(password, token)
    if credentials != known:
        _write_credentials(folder, credentials)
    return credentials


async def retire_demo_user(store: AccountStore, folder: Path) -> None:
    """Make the credentials of a demo invalid: they were printed on a terminal, and are in a file."""
    user = await store.find_any(USERNAME)
    if user is not None:
        if user.is_demo and user.password_hash:
            await store.set_password(USERNAME, "", is_demo=True)
            await store.revoke_all(user.id)
            click.echo(
                f"The password and the tokens of the user {USERNAME} no longer work.", err=True
            )
        elif await store.revoke_by_name(user.id, COMMAND):
            click.echo(f"The token of the demo of the user {USERNAME} no longer works.", err=True)
    (folder / FILE_NAME).unlink(missing_ok=True)


async def _is_valid(store: AccountStore, token: str, user_id: int) -> bool:
    holder = await store.find_token_holder(token, AuthMethod.TOKEN)
    if holder is None or holder.user.id != user_id:
        return False
    return holder.expires is None or holder.expires > now() + MIN_TOKEN_LIFETIME


def _read_credentials(folder: Path) -> DemoCredentials | None:
    """Return the credentials in the file; None if there is none, or if it is not one that this module wrote."""
    try:
        descriptor = os.open(folder / FILE_NAME, os.O_RDONLY | os.O_NOFOLLOW)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if status.st_mode & OTHERS or status.st_uid != os.geteuid():
                return None
            return msgspec.json.decode(file.read(), type=DemoCredentials)
    except (OSError, msgspec.DecodeError):
        return None


def _write_credentials(folder: Path, credentials: DemoCredentials) -> None:
    """Replace the file. Only its owner can read it."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=folder)  # with the mode 0600
    with os.fdopen(descriptor, "wb") as file:
        file.write(msgspec.json.encode(credentials))
    Path(name).replace(folder / FILE_NAME)
