"""Delete an account for good: by its user, a superuser, or the operator.

Tokens, sessions, assignments and imports go with the row of the user. Assets do not: the deletion is refused while the
user or a service account of the user owns some outside the trash, or the user is the only admin of a team with other
members. The name is never given to somebody else. The log keeps the uid, not the name.
"""

from collections.abc import Collection, Sequence
from typing import Annotated, Any, Protocol

import msgspec
from msgspec import Meta
from sqlalchemy import Row, select
from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.accounts.service_accounts import disable_owned
from fieldgate.accounts.store import TOPIC, UnknownUser, username_hash
from fieldgate.accounts.tables import PUBLIC_USER_ID, reserved_usernames, users
from fieldgate.accounts.teams import TeamName, delete_emptied_teams, lock_teams_of
from fieldgate.accounts.user_changes import ONLY_SUPERUSERS, keep_a_superuser, lock_superusers
from fieldgate.db import AsyncDatabase, DataVersions
from fieldgate.db.log import USERS, LogEntry, LogObject, LogUser, blank_names, write_log
from fieldgate.errors import Conflict, Forbidden
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import PluralMessage
from fieldgate.identity import Caller

MAX_LISTED = 100  # assets in an error


class OwnedAsset(msgspec.Struct, frozen=True):
    uid: Annotated[str, Meta(description="Uid of the asset.")]
    name: Annotated[str, Meta(description="Name of the asset.")]


class OwnedAssetsError(msgspec.Struct, frozen=True):
    """The body of a refusal. Without `assets` and `teams`, the reason is another one."""

    detail: Annotated[str, Meta(description="Why the account was not deleted.")]
    assets: Annotated[
        list[OwnedAsset],
        Meta(
            description=f"Assets of the user and of service accounts outside the trash, at most {MAX_LISTED}."
        ),
    ] = []
    teams: Annotated[
        list[TeamName],
        Meta(
            description=f"Teams with other members that have no other admin, at most {MAX_LISTED}."
        ),
    ] = []


class StillNeeded(Conflict):
    """Assets or teams that must have somebody else first."""

    def __init__(self, message: PluralMessage, **listed: Sequence[object]) -> None:
        """`listed`: assets, or teams."""
        super().__init__(message)
        self._listed = {name: values[:MAX_LISTED] for name, values in listed.items()}

    def body(self, language: Language) -> dict[str, object]:
        return {**super().body(language), **self._listed}


def _owns_assets(owned: Sequence[OwnedAsset]) -> StillNeeded:
    message = PluralMessage(
        "{count} form or collection belongs to this account or its service accounts. Transfer or delete it first.",
        "{count} forms and collections belong to this account or its service accounts. Transfer or delete them first.",
        len(owned),
    )
    return StillNeeded(message, assets=owned)


def _is_only_admin(left: Sequence[TeamName]) -> StillNeeded:
    message = PluralMessage(
        "{count} team has no other admin than this account. Make somebody else one, or delete the team.",
        "{count} teams have no other admin than this account. Make somebody else one, or delete the teams.",
        len(left),
    )
    return StillNeeded(message, teams=left)


class AssetKeeper(Protocol):
    """What the accounts need to know of assets."""

    topic: str  # of the data version

    async def lock_owned(self, connection: AsyncConnection, owner_id: int) -> None:
        """Lock all assets of an owner and the owner's service accounts. Assets are locked before users."""

    async def list_owned(self, connection: AsyncConnection, owner_id: int) -> Sequence[OwnedAsset]:
        """Return what an owner and the owner's service accounts have outside the trash, sorted by name."""

    async def purge_trash_of(self, connection: AsyncConnection, by: Caller, owner_id: int) -> None:
        """Delete the assets in the trash of an owner for good. The caller bumps the data version."""

    async def log_deleted_teams(
        self, connection: AsyncConnection, by: Caller, team_ids: Collection[int]
    ) -> None:
        """Add to the history of assets what teams lose that are deleted next."""


class AccountRemover:
    def __init__(
        self, database: AsyncDatabase, data_versions: DataVersions, assets: AssetKeeper
    ) -> None:
        self._database = database
        self._data_versions = data_versions
        self._assets = assets

    async def list_owned(self, user_id: int) -> Sequence[OwnedAsset]:
        """Return what stands in the way of a deletion."""
        async with self._database.read_transaction() as connection:
            return await self._assets.list_owned(connection, user_id)

    async def delete(self, user_id: int, by: Caller) -> None:
        """Delete an account. `by` is the user, a superuser, or `OPERATOR`. Raises `UnknownUser`, `Conflict`."""
        async with self._database.transaction() as connection:
            await self._assets.lock_owned(connection, user_id)
            await lock_teams_of(connection, user_id)
            superusers = await lock_superusers(connection, user_id)
            if by.id not in (None, user_id) and by.id not in superusers:
                raise Forbidden(ONLY_SUPERUSERS)
            row = await _find(connection, user_id)
            keep_a_superuser(user_id, superusers)
            # The lock of the user keeps others from creating assets of this user from here on.
            if owned := await self._assets.list_owned(connection, user_id):
                raise _owns_assets(owned)
            if left := await delete_emptied_teams(
                connection, by, user_id, self._assets.log_deleted_teams
            ):
                raise _is_only_admin(left)
            await self._assets.purge_trash_of(connection, by, user_id)
            await disable_owned(connection, by, [user_id], "deleted")
            await connection.execute(users.delete().where(users.c.id == user_id))
            await connection.execute(
                reserved_usernames.insert().values(hash=username_hash(row.username))
            )
            entry = LogEntry(
                log_type=USERS,
                action="delete" if by.id == user_id else "admin-delete",
                object=LogObject("user", row.uid),
                subject=LogUser(user_id, row.uid, ""),
            )
            await write_log(connection, by, entry)
            await blank_names(connection, LogUser(user_id, row.uid, row.username))
            # At the end: others lock assignments, which are deleted with the user, before the version.
            await self._data_versions.bump(connection, TOPIC, self._assets.topic)


async def _find(connection: AsyncConnection, user_id: int) -> Row[Any]:
    account = select(users).where(users.c.id == user_id, users.c.id != PUBLIC_USER_ID)
    row = (await connection.execute(account)).one_or_none()
    if row is None:
        raise UnknownUser
    return row
