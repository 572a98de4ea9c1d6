"""The demo user of `fieldgate serve --demo`.

Its password and token are random, and stay the same as long as they work: they are in a file beside the database that
only the user of the service can read. The first start without `--demo` makes them invalid.
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


async def prepare_demo_user(store: AccountStore, folder: Path) -> DemoCredentials:
    """Create the demo user, or enable it. Return the credentials of the start before, if they still work."""
    known = _read_credentials(folder)
    user = await store.find_any(USERNAME)
    password = secrets.token_urlsafe(9)
    if user is None:
        new = NewUser(username=USERNAME, password_hash=Passwords().hash(password), first_name="Demo", is_demo=True)
        user_id = await store.create_user(new)
    else:
        if not user.is_demo:
            raise click.ClickException(f"The user {USERNAME} was not created by --demo. Start without --demo.")
        user_id = user.id
        if user.disabled_at is not None:
            await store.enable_user(USERNAME)
        if known is not None and await Passwords().matches(known.password, user.password_hash):
            password = known.password
        else:
            await store.set_password(USERNAME, Passwords().hash(password))
            await store.revoke_all(user_id)
    if known is not None and await _is_valid(store, known.token, user_id):
        token = known.token
    else:
        token = await store.issue_token(user_id, IssuedBy.COMMAND, now() + TOKEN_LIFETIME)
    credentials = DemoCredentials(password, token)
    if credentials != known:
        _write_credentials(folder, credentials)
    return credentials


async def retire_demo_user(store: AccountStore, folder: Path) -> None:
    """Make the credentials of a demo invalid: they were printed on a terminal, and are in a file."""
    file = folder / FILE_NAME
    if not file.exists():
        return
    user = await store.find_any(USERNAME)
    if user is not None and user.is_demo:
        await store.set_password(USERNAME, Passwords().hash(secrets.token_urlsafe(32)))
        await store.revoke_all(user.id)
        click.echo(f"The password and the tokens of the user {USERNAME} no longer work.", err=True)
    file.unlink()


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
