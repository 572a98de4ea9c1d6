"""Who is meant here by a username of the source: by a table, by the same name, or a new user with a one-time link."""

import csv
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fieldgate.accounts.account_rules import username_error
from fieldgate.accounts.invitations import InvitationStore
from fieldgate.accounts.store import AccountStore, NewUser, UsernameTaken, username_key
from fieldgate.accounts.tables import PUBLIC_USERNAME, TEAM_PREFIX
from fieldgate.assets.store import strip_control_characters
from fieldgate.db import AsyncDatabase, DataVersions
from fieldgate.http.response.csv_safe import encode_cells
from fieldgate.identity import OPERATOR, User
from fieldgate.move.source_assets import MoveError


class InviteFile:
    """A new file that only its owner can read: a line for each link, on disk before the next user is created."""

    def __init__(self, path: Path, base_url: str) -> None:
        try:
            self._descriptor = os.open(
                path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600
            )
        except FileExistsError:
            raise MoveError(f"{path} exists. Name a new file for the links.") from None
        except OSError as error:
            raise MoveError(f"{path} cannot be written: {error.strerror}.") from None
        self._base_url = base_url
        self.write("username", "link", "valid until")

    def write_link(self, username: str, path: str, expires: str) -> None:
        self.write(username, self._base_url + path, expires)

    def write(self, *cells: str) -> None:
        os.write(self._descriptor, encode_cells(*cells) + b"\r\n")
        os.fsync(self._descriptor)


class People:
    def __init__(
        self,
        database: AsyncDatabase,
        table: dict[str, str],
        invites: InviteFile | None = None,
        *,
        may_invite: bool = False,
    ) -> None:
        """`table` has usernames here by usernames of the source. `may_invite`: somebody will be created later."""
        self._accounts = AccountStore(database, DataVersions(database))
        self._links = InvitationStore(database)
        self.table = table
        self._invites = invites
        self._may_invite = may_invite
        self._found: dict[str, Any] = {}  # rows of users
        self.invited: list[str] = []  # created, or to be created

    def is_invited(self, name: str) -> bool:
        """Whether somebody with this name of the source was created, or would be."""
        wanted = self.table.get(name, name)
        return wanted in self.invited or username_key(wanted) in self.invited

    async def find_owner(self, name: str) -> User | None:
        """The user with this name of the source, with all rights: the operator acts in the name of owners."""
        row = await self._find(name)
        if row is None:
            return None
        return User(
            id=row.id, uid=row.uid, username=row.username, is_superuser=True, credential="command"
        )

    async def find_name(self, name: str) -> str | None:
        """How an assignment names the person or team here; None if there is none."""
        if name.startswith(TEAM_PREFIX):
            team = self.table.get(name, name)
            return team if len(await self._accounts.find_owners(team)) == 1 else None
        if name == PUBLIC_USERNAME:
            return name
        row = await self._find(name)
        return None if row is None else str(row.username)

    async def _find(self, name: str) -> Any:
        wanted = username_key(strip_control_characters(self.table.get(name, name)))
        if wanted not in self._found:
            row = await self._accounts.find_user(wanted)
            if (
                row is None
                and (self._invites or self._may_invite)
                and username_error(wanted) is None
            ):
                row = (
                    None if await self._accounts.find_any(wanted) else await self._invite(wanted)
                )  # None: disabled
            elif row is not None and self._invites and _never_used(row):
                await self._write_link(
                    row
                )  # created by a run that was stopped, or did not use the link in time
            self._found[wanted] = row
        return self._found[wanted]

    async def _invite(self, username: str) -> Any:
        """Create a user; in a dry run, only note that."""
        self.invited.append(username)
        if self._invites is None:
            return None
        try:
            await self._accounts.create_user(NewUser(username=username))
        except UsernameTaken:  # of a user who left
            self.invited.remove(username)
            return None
        row = await self._accounts.find_user(username)
        await self._write_link(row)
        return row

    async def _write_link(self, row: Any) -> None:
        invitation = await self._links.create(row.id, OPERATOR)
        if invitation is not None and self._invites is not None:
            self._invites.write_link(
                row.username, invitation.path, f"{invitation.expires:%Y-%m-%d %H:%M} UTC"
            )


def _never_used(row: Any) -> bool:
    return not row.password_hash and row.last_login_at is None and row.owner_id is None


def read_table(path: Path, *columns: str) -> dict[str, str]:
    """Read a CSV file with two columns, named in its first line."""
    try:
        rows: Sequence[Sequence[str]] = list(csv.reader(path.read_text("utf-8-sig").splitlines()))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise MoveError(f"{path} cannot be read: {error}.") from None
    rows = [[cell.strip() for cell in row] for row in rows if any(map(str.strip, row))]
    if (
        len(rows) < 2
        or tuple(rows[0]) != columns
        or any(len(row) != 2 or not all(row) for row in rows)
    ):
        raise MoveError(
            f"{path} must have the columns {' and '.join(columns)}, named in its first line, and rows."
        )
    found = dict[str, str]()
    for key, value in rows[1:]:
        if found.setdefault(key, value) != value:
            raise MoveError(f"{path} has {username_key(key)} twice.")
    return found
