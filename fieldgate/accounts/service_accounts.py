"""Rules of service accounts: users without a password that a person or a team owns.

An owner has a lower id than its accounts, so the owner is locked first when users are locked in order of id.
"""

from collections.abc import Collection
from typing import Literal

from sqlalchemy import ColumnElement, and_, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.accounts.account_log import user_entry
from fieldgate.accounts.tables import PUBLIC_USER_ID, team_members, tokens, users
from fieldgate.db import now
from fieldgate.db.log import LogUser, write_log
from fieldgate.errors import Conflict
from fieldgate.i18n.messages import Message
from fieldgate.identity import Caller

MAX_OWNED = 50  # service accounts of one person or team
NO_PASSWORD = Message("{name} is a service account. It has no password: create a token for it.")
NO_ADMIN = Message("{name} is a service account. It cannot be a superuser or an admin of a team.")


def is_owned_by(user_id: int) -> ColumnElement[bool]:
    """Whether a row of `users` is a service account of a person, or of a team that the person is an admin of."""
    managed = select(team_members.c.team_id).where(
        team_members.c.user_id == user_id, team_members.c.role == "admin"
    )
    return or_(users.c.owner_id == user_id, users.c.owner_id.in_(managed))


async def reject_service_account(
    connection: AsyncConnection, is_meant: ColumnElement[bool], refusal: Message
) -> None:
    """Raise `Conflict` if one of these users is a service account. That never changes."""
    found = (
        select(users.c.username)
        .where(is_meant, users.c.owner_id.is_not(None))
        .order_by(users.c.id)
        .limit(1)
    )
    name = (await connection.execute(found)).scalar()
    if name is not None:
        raise Conflict(Message(refusal.text, name=name))


async def lock_owner(connection: AsyncConnection, owner_id: int, *, added: int = 0) -> str:
    """Lock the owner of an account that is enabled or added, and return its uid. Raise `Conflict` if it cannot own it.

    The limit counts disabled accounts, too.
    """
    is_able = and_(
        users.c.id != PUBLIC_USER_ID, users.c.disabled_at.is_(None), users.c.owner_id.is_(None)
    )
    owner = (
        select(users.c.uid).where(users.c.id == owner_id, is_able).with_for_update(key_share=True)
    )
    uid: str | None = (await connection.execute(owner)).scalar()
    if uid is None:
        raise Conflict(Message("A service account needs an active person or a team as its owner."))
    owned = select(func.count()).select_from(users).where(users.c.owner_id == owner_id)
    if (await connection.execute(owned)).scalar_one() + added > MAX_OWNED:
        raise Conflict(
            Message(
                "This owner has {most} service accounts, the limit. Ask a superuser to delete one.",
                most=MAX_OWNED,
            )
        )
    return uid


async def disable_owned(
    connection: AsyncConnection,
    by: Caller,
    owner_ids: Collection[int],
    reason: Literal["disabled", "deleted"],
) -> None:
    """Disable the service accounts of owners who are disabled or deleted, and locked. Tokens are revoked for good."""
    active = select(users.c.id, users.c.uid, users.c.username).where(
        users.c.owner_id.in_(owner_ids), users.c.disabled_at.is_(None)
    )
    accounts = [
        LogUser(*row)
        for row in await connection.execute(active.order_by(users.c.id).with_for_update())
    ]
    ids = [each.id for each in accounts]
    await connection.execute(users.update().where(users.c.id.in_(ids)).values(disabled_at=now()))
    is_theirs = and_(tokens.c.user_id.in_(ids), tokens.c.revoked_at.is_(None))
    await connection.execute(tokens.update().where(is_theirs).values(revoked_at=now()))
    await write_log(
        connection,
        by,
        *(user_entry("disable", each, reason=f"owner-{reason}") for each in accounts),
    )
