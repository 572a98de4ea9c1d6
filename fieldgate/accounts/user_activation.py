"""Disable and enable accounts. At least one superuser always stays active."""

from collections.abc import Collection

from sqlalchemy import select

from fieldgate.accounts.store import TOPIC, revoke_tokens
from fieldgate.accounts.tables import PUBLIC_USER_ID, invitations, users
from fieldgate.db import Database, DataVersions, now
from fieldgate.errors import Conflict, Forbidden
from fieldgate.i18n.messages import Message

ONLY_SUPERUSERS = Message("Only superusers can do this.")


def check_activation(user_id: int, *, is_active: bool, by: int, active_superusers: Collection[int]) -> None:
    """Raise an error if a user may not be disabled or enabled.

    Only an active superuser may do it, and to others only. So the last superuser cannot be disabled.
    """
    if by not in active_superusers:
        raise Forbidden(ONLY_SUPERUSERS)
    if user_id == by and not is_active:
        raise Conflict(Message("You cannot disable your own account. Ask another superuser."))


class UserActivation:
    def __init__(self, database: Database, data_versions: DataVersions) -> None:
        self._database = database
        self._data_versions = data_versions

    async def set_active(self, user_id: int, *, is_active: bool, by: int) -> None:
        """Disable or enable an account.

        Disabling revokes tokens, sessions and one-time links for good.
        """
        superusers = select(users.c.id).where(users.c.is_superuser, users.c.disabled_at.is_(None))
        async with self._database.transaction() as connection:
            # Locked, so that two superusers who disable each other do not both succeed.
            locked = await connection.execute(superusers.order_by(users.c.id).with_for_update())
            check_activation(user_id, is_active=is_active, by=by, active_superusers=set(locked.scalars()))
            is_changed = users.c.disabled_at.is_not(None) if is_active else users.c.disabled_at.is_(None)
            update = users.update().where(users.c.id == user_id, users.c.id != PUBLIC_USER_ID, is_changed)
            await connection.execute(update.values(disabled_at=None if is_active else now()))
            if not is_active:
                await connection.execute(invitations.delete().where(invitations.c.user_id == user_id))
                await revoke_tokens(connection, user_id)
            await self._data_versions.bump(connection, TOPIC)
