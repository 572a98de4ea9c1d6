"""Accounts at providers that belong to users. They are found by issuer and subject, never by an e-mail address."""

from typing import Any

from sqlalchemy import Row, func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.accounts.account_log import user_entry
from fieldgate.accounts.store import end_sessions_through
from fieldgate.accounts.tables import identities, users
from fieldgate.db import AsyncDatabase, RowPage, now, paginate
from fieldgate.db.log import LogUser, write_log
from fieldgate.errors import Conflict, NotFound
from fieldgate.i18n.messages import Message
from fieldgate.identity import Caller, User
from fieldgate.pagination import PageRequest
from fieldgate.settings import Settings


class IdentityStore:
    def __init__(self, database: AsyncDatabase) -> None:
        self._database = database

    async def find_user(self, issuer: str, subject: str) -> Row[Any] | None:
        """Return the user of an account at a provider, enabled or not."""
        query = select(users).join_from(identities, users).where(_is(issuer, subject))
        return await self._database.first(query)

    async def record_login(self, issuer: str, subject: str) -> None:
        async with self._database.transaction() as connection:
            await connection.execute(
                identities.update().where(_is(issuer, subject)).values(last_login_at=now())
            )

    async def link(self, user_id: int, issuer: str, subject: str, *, by: Caller) -> None:
        """Let a user log in with an account at a provider. Raise `Conflict` if it belongs to somebody else."""
        try:
            async with self._database.transaction() as connection:
                user = await _lock(connection, user_id)
                owner = (
                    await connection.execute(
                        select(identities.c.user_id).where(_is(issuer, subject))
                    )
                ).scalar()
                if owner != user_id:
                    await add_identity(connection, user_id, issuer, subject)
                    await write_log(connection, by, user_entry("link-login", user, issuer=issuer))
        except IntegrityError:  # maybe since a moment ago
            raise Conflict(Message("This account already belongs to another user here.")) from None

    async def list_of(self, user_id: int, page: PageRequest) -> RowPage:
        """Return a page of the accounts at providers that a user has, oldest first."""
        query = select(identities).where(identities.c.user_id == user_id)
        return await paginate(self._database, query, page, order_by=[identities.c.id])

    async def unlink(self, user: User, identity_id: int, settings: Settings) -> None:
        """Remove one and end the sessions through its provider. Raise `Conflict` if the user could not log in again."""
        async with self._database.transaction() as connection:
            about = await _lock(connection, user.id)
            is_own = identities.c.user_id == user.id
            removed = (
                identities.delete()
                .where(is_own, identities.c.id == identity_id)
                .returning(identities.c.issuer)
            )
            issuer = (await connection.execute(removed)).scalar()
            if issuer is None:
                raise NotFound
            is_usable = is_own & identities.c.issuer.in_([each.issuer for each in settings.sign_on])
            left = (await connection.execute(select(func.count()).where(is_usable))).scalar_one()
            hashed = (
                await connection.execute(select(users.c.password_hash).where(users.c.id == user.id))
            ).scalar_one()
            if not left and not (
                hashed and settings.password_login.allows(is_superuser=user.is_superuser)
            ):
                message = Message(
                    "You have no password that you can use: without this you could not log in any more."
                )
                raise Conflict(message)
            await write_log(connection, user, user_entry("unlink-login", about, issuer=issuer))
            providers = [each.id for each in settings.sign_on if each.issuer == issuer]
            await end_sessions_through(connection, about, providers, by=user)


async def add_identity(
    connection: AsyncConnection, user_id: int, issuer: str, subject: str
) -> None:
    values = {"user_id": user_id, "issuer": issuer, "subject": subject, "created_at": now()}
    await connection.execute(identities.insert().values(values))


async def _lock(connection: AsyncConnection, user_id: int) -> LogUser:
    query = select(users.c.id, users.c.uid, users.c.username).where(
        users.c.id == user_id, users.c.disabled_at.is_(None), users.c.owner_id.is_(None)
    )
    row = (await connection.execute(query.with_for_update())).one_or_none()
    if row is None:
        raise NotFound(Message("This user is disabled, or a service account."))
    return LogUser(*row)


def _is(issuer: str, subject: str) -> Any:
    return (identities.c.issuer == issuer) & (identities.c.subject == subject)
