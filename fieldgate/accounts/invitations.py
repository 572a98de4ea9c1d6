"""One-time links to set a password: for new users, and for users who forgot theirs.

A link is shown once and valid for a day. Only a hash is stored. It becomes invalid when it is used, when a newer one is
created, when the account is disabled, and when the password changes.
"""

from datetime import datetime, timedelta
from typing import Any

import msgspec
from sqlalchemy import Row, select

from fieldgate.accounts.account_log import user_entry
from fieldgate.accounts.service_accounts import NO_PASSWORD, reject_service_account
from fieldgate.accounts.store import (
    INVITATION_PREFIX,
    end_all_sessions,
    hash_token,
    lock_enabled,
    new_token,
)
from fieldgate.accounts.tables import invitations, users
from fieldgate.db import AsyncDatabase, now, upsert
from fieldgate.db.log import write_log
from fieldgate.identity import NO_ORIGIN, Caller, Origin, User

INVITATION_LIFETIME = timedelta(days=1)
INVITATION_PATH = "/invitation/"


class Invitation(msgspec.Struct, frozen=True):
    """A link that was just created. It cannot be shown again."""

    secret: str
    expires: datetime

    @property
    def path(self) -> str:
        return f"{INVITATION_PATH}{self.secret}/"


class InvitationStore:
    def __init__(self, database: AsyncDatabase) -> None:
        self._database = database

    async def create(self, user_id: int, by: Caller) -> Invitation | None:
        """Create a link, which replaces an earlier one. None if the user is disabled."""
        secret, timestamp = new_token(INVITATION_PREFIX), now()
        expires = timestamp + INVITATION_LIFETIME
        values = {
            "user_id": user_id,
            "hash": hash_token(secret),
            "created_by": by.id or 0,
            "created_at": timestamp,
            "expires_at": expires,
        }
        async with self._database.transaction() as connection:
            await reject_service_account(connection, users.c.id == user_id, NO_PASSWORD)
            user = await lock_enabled(connection, user_id)
            if user is None:
                return None
            await connection.execute(upsert(connection.dialect, invitations), values)
            await write_log(connection, by, user_entry("create-link", user))
        return Invitation(secret, expires)

    async def find_user(self, secret: str) -> Row[Any] | None:
        """Return the user whose password a valid link sets. The link stays valid."""
        query = select(users).join_from(invitations, users, users.c.id == invitations.c.user_id)
        valid = (
            invitations.c.hash == hash_token(secret),
            invitations.c.expires_at > now(),
            users.c.disabled_at.is_(None),
        )
        return await self._database.first(query.where(*valid))

    async def redeem(
        self, secret: str, password_hash: str, origin: Origin = NO_ORIGIN
    ) -> str | None:
        """Use a link: set the password, end all sessions, and return the username. None if the link is not valid."""
        delete = invitations.delete().where(
            invitations.c.hash == hash_token(secret), invitations.c.expires_at > now()
        )
        async with self._database.transaction() as connection:
            # Of two requests with the same link, only one deletes the row.
            user_id = (await connection.execute(delete.returning(invitations.c.user_id))).scalar()
            if user_id is None:
                return None
            user = await lock_enabled(connection, user_id)
            if user is None:  # disabled meanwhile
                return None
            is_user = users.c.id == user_id
            await connection.execute(
                users.update().where(is_user).values(password_hash=password_hash, is_demo=False)
            )
            await end_all_sessions(connection, user_id)
            by = User(
                id=user.id, uid=user.uid, username=user.username, credential="link", origin=origin
            )
            await write_log(connection, by, user_entry("use-link", user))
        return user.username
