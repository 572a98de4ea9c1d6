"""Change accounts: names, rights, countries, disabled or not. At least one superuser always stays active."""

from collections.abc import Collection

import msgspec
from sqlalchemy import and_, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.accounts.account_log import user_entry
from fieldgate.accounts.schemas import UserChanges
from fieldgate.accounts.service_accounts import NO_ADMIN, disable_owned, is_owned_by, lock_owner
from fieldgate.accounts.store import TOPIC, revoke_tokens, user_search_text
from fieldgate.accounts.tables import PUBLIC_USER_ID, invitations, users, with_teams_of
from fieldgate.accounts.teams import lock_teams_of, replace_disabled_admin
from fieldgate.db import AsyncDatabase, DataVersions, now
from fieldgate.db.log import LogEntry, LogUser, write_log
from fieldgate.errors import Conflict, Forbidden
from fieldgate.i18n.messages import Message
from fieldgate.identity import OPERATOR, Caller

ONLY_SUPERUSERS = Message("Only superusers can do this.")
LAST_SUPERUSER = Message("This is the last active superuser. Make another user a superuser first.")


def check_change(
    user_id: int, changes: UserChanges, *, by: int | None, active_superusers: Collection[int]
) -> None:
    """Raise an error if a user may not be changed. `by` is None for the operator of the service.

    Only an active superuser may do it, and disable others only. The last superuser stays active and stays one.
    """
    if by is not None and by not in active_superusers:
        raise Forbidden(ONLY_SUPERUSERS)
    if user_id == by and changes.is_active is False:
        raise Conflict(Message("You cannot disable your own account. Ask another superuser."))
    if False in (changes.is_superuser, changes.is_active):
        keep_a_superuser(user_id, active_superusers)


def keep_a_superuser(user_id: int, active_superusers: Collection[int]) -> None:
    """Raise an error if no active superuser is left without this user."""
    if set(active_superusers) == {user_id}:
        raise Conflict(LAST_SUPERUSER)


async def lock_superusers(connection: AsyncConnection, user_id: int) -> set[int]:
    """Return the ids of the active superusers. Locked, so that two who disable each other do not both succeed.

    The user who is changed is locked with them, with the user's teams, the service accounts of all of these, and the
    owner of the user: everybody locks users in order of id, to avoid deadlocks.
    """
    is_active = users.c.is_superuser & users.c.disabled_at.is_(None)
    changed, owners = users.alias(), with_teams_of(user_id)
    owner = select(changed.c.owner_id).where(changed.c.id == user_id)
    is_meant = or_(users.c.id.in_(owners), users.c.owner_id.in_(owners), users.c.id.in_(owner))
    locked = select(users.c.id, is_active.label("is_active")).where(is_active | is_meant)
    return {
        row.id
        for row in await connection.execute(locked.order_by(users.c.id).with_for_update())
        if row.is_active
    }


class UserEditor:
    def __init__(self, database: AsyncDatabase, data_versions: DataVersions) -> None:
        self._database = database
        self._data_versions = data_versions

    async def change(self, user_id: int, changes: UserChanges, *, by: Caller = OPERATOR) -> None:
        """Change an account; what is None stays.

        Disabling revokes tokens, sessions and one-time links for good, and disables service accounts. Teams get
        another admin if they need one. Who owns a service account can disable and enable it.
        """
        values = {
            name: value
            for name, value in msgspec.structs.asdict(changes).items()
            if value is not None
        }
        if not values:
            return
        is_active = values.pop("is_active", None)
        account = users.update().where(users.c.id == user_id, users.c.id != PUBLIC_USER_ID)
        async with self._database.transaction() as connection:
            if is_active is False:
                await lock_teams_of(connection, user_id)
            superusers = await lock_superusers(connection, user_id)
            is_owner = await _check_service_account(connection, user_id, changes, by)
            check_change(
                user_id, changes, by=None if is_owner else by.id, active_superusers=superusers
            )
            await write_log(connection, by, *await _entries(connection, user_id, changes))
            if values:
                await connection.execute(account.values(**values))
            if changes.first_name is not None or changes.last_name is not None:
                await _update_search_text(connection, user_id)
            if is_active is not None:
                is_changed = (
                    users.c.disabled_at.is_not(None) if is_active else users.c.disabled_at.is_(None)
                )
                await connection.execute(
                    account.where(is_changed).values(disabled_at=None if is_active else now())
                )
            if is_active is False:
                await replace_disabled_admin(connection, by, user_id)
                await connection.execute(
                    invitations.delete().where(invitations.c.user_id == user_id)
                )
                await revoke_tokens(connection, user_id)
                await disable_owned(connection, by, [user_id], "disabled")
            await self._data_versions.bump(connection, TOPIC)


async def _update_search_text(connection: AsyncConnection, user_id: int) -> None:
    """Fold the names of a user again. The row is locked, as they were just changed."""
    names = select(users.c.username, users.c.first_name, users.c.last_name)
    is_user = and_(users.c.id == user_id, users.c.id != PUBLIC_USER_ID)
    row = (await connection.execute(names.where(is_user))).one_or_none()
    if row is not None:
        search_text = user_search_text(row.username, row.first_name, row.last_name)
        await connection.execute(users.update().where(is_user).values(search_text=search_text))


async def _check_service_account(
    connection: AsyncConnection, user_id: int, changes: UserChanges, by: Caller
) -> bool:
    """Raise `Conflict` if a service account cannot be changed so. Return whether `by` may do it as its owner."""
    is_owner = is_owned_by(by.id or PUBLIC_USER_ID).label("is_owner")
    account = select(users.c.username, users.c.owner_id, is_owner).where(users.c.id == user_id)
    row = (await connection.execute(account.where(users.c.owner_id.is_not(None)))).one_or_none()
    if row is None:
        return False
    if changes.is_superuser:
        raise Conflict(Message(NO_ADMIN.text, name=row.username))
    if changes.is_active:
        await lock_owner(connection, row.owner_id)
    return bool(row.is_owner) and changes == UserChanges(is_active=changes.is_active)


async def _entries(
    connection: AsyncConnection, user_id: int, changes: UserChanges
) -> list[LogEntry]:
    """What a change of an account adds to the log. New names of people are not logged: the log outlives accounts."""
    row = (await connection.execute(select(users).where(users.c.id == user_id))).one_or_none()
    if row is None:  # deleted meanwhile: nothing is changed
        return []
    user = LogUser(row.id, row.uid, row.username)
    new = {
        name: value for name, value in msgspec.structs.asdict(changes).items() if value is not None
    }
    is_active = new.pop("is_active", None)
    changed = {
        name: {"old": getattr(row, name), "new": value}
        for name, value in new.items()
        if value != row._mapping[name]
    }
    entries = []
    if changed:
        names = ("first_name", "last_name")
        values = {name: value for name, value in changed.items() if name not in names}
        entries.append(user_entry("update", user, fields=sorted(changed), **values))
    if is_active is not None and is_active is not (row.disabled_at is None):
        entries.append(user_entry("enable" if is_active else "disable", user))
    return entries
