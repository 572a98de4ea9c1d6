"""The trash: an asset that was deleted can be restored for some days.

trash = Trash(database, data_versions, days=30)
await trash.delete(user, uid)
await trash.restore(user, uid)
await trash.purge(WORKER, before)  # for good

Only `deleted_at` and `deleted_by` change, so everything else comes back as it was. `tables.is_live` keeps the trash out
of all other statements. An asset outside the trash is never in a collection that is in it.
"""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, and_, or_, select, union
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.sql.selectable import FromClause

from fieldgate.accounts.leaving import OwnedAsset
from fieldgate.accounts.tables import users
from fieldgate.assets.asset_log import asset_entry
from fieldgate.assets.authorization import (
    AuthorizedAsset,
    asset_not_found,
    authorize_row,
    check_token,
)
from fieldgate.assets.sharing.ownership_invites import cancel_transfers
from fieldgate.assets.sharing.team_assets import log_deleted_teams
from fieldgate.assets.store import TOPIC, AssetStore, lock_assets, only_listed
from fieldgate.assets.tables import COLLECTION, assets, is_live
from fieldgate.db import AsyncDatabase, DataVersions, RowPage, in_values, now, paginate
from fieldgate.db.log import write_log
from fieldgate.errors import Forbidden, NotFound
from fieldgate.i18n.messages import Message
from fieldgate.identity import Caller, User
from fieldgate.pagination import PageRequest

PURGE_BATCH = 20  # assets deleted in one transaction, with all their versions

_NOT_IN_TRASH = Message("This form is not in the trash, or it is not yours.")
_NOT_ALL_OWN = Message("One of these does not exist or is not yours. Nothing was changed.")

_COLLECTIONS, _INSIDE = assets.alias("collections"), assets.alias("inside")
_OLDEST_FIRST = (assets.c.deleted_at, assets.c.id)

# Whether an asset is one of those that are asked for.
IsMeant = Callable[[FromClause], ColumnElement[bool]]


class Trash:
    topic = TOPIC

    def __init__(self, database: AsyncDatabase, data_versions: DataVersions, days: int) -> None:
        """With 0 days, assets are deleted for good at once."""
        self.days = days
        self._database = database
        self._data_versions = data_versions
        self._store = AssetStore(database, data_versions)

    def purge_time(self, deleted_at: datetime) -> datetime:
        """When an asset is deleted for good."""
        return deleted_at + timedelta(days=self.days)

    async def preview(self, user: User, asset: AuthorizedAsset) -> tuple[int, Sequence[Row[Any]]]:
        """Return how many assets `delete` would delete, and those that it would keep: uid, name and username."""
        async with self._database.read_transaction() as connection:
            await _check_inside(connection, user, asset.id)
            gone = await connection.execute(
                select(assets.c.id).where(_is_deleted(_has_uid([asset.uid])))
            )
            return len(gone.all()), (await connection.execute(_select_kept(user, asset.id))).all()

    async def delete(self, user: User, uid: str) -> list[str]:
        """Move an asset to the trash, if the user may. This is checked after the asset is locked.

        A collection takes with it what its owner owns. Assets of others leave it: only they may delete them. Return
        the uids of those that the user knows.
        """
        async with self._database.transaction() as connection:
            rows = await self._lock(connection, _is_deleted(_has_uid([uid])))
            asset = next((row for row in rows if row.uid == uid), None)
            if asset is None:
                raise asset_not_found()
            (await authorize_row(connection, asset, user)).require_delete()
            await _check_inside(connection, user, asset.id)
            kept = [row.uid for row in await connection.execute(_select_kept(user, asset.id))]
            await self._delete(connection, user, rows)
            return kept

    async def delete_many(self, user: User, uids: Collection[str] | None) -> int:
        """Move assets to the trash, all or none; without `uids`, all that the user owns. Return their number."""
        async with self._database.transaction() as connection:
            rows = await self._lock(connection, _is_deleted(_is_meant(user, uids)))
            _check_all_own(user, uids, rows)
            await self._delete(connection, user, rows)
            return len(rows)

    async def restore(self, user: User, uid: str) -> None:
        """Bring back an asset of the trash. A collection brings with it what it took."""
        async with self._database.transaction() as connection:
            rows = await self._lock(connection, _is_restored(_has_uid([uid])))
            if not any(row.uid == uid and _may_restore(user, row) for row in rows):
                raise NotFound(_NOT_IN_TRASH)
            check_token(user, (row.uid for row in rows))
            await self._restore(connection, user, rows)

    async def restore_many(self, user: User, uids: Collection[str] | None) -> int:
        """Bring back assets, all or none; without `uids`, all that the user owns. Return their number."""
        async with self._database.transaction() as connection:
            rows = await self._lock(connection, _is_restored(_is_meant(user, uids)))
            _check_all_own(user, uids, rows)
            await self._restore(connection, user, rows)
            return len(rows)

    async def load_page(self, user: User, page: PageRequest) -> RowPage:
        """Return a page of what the user may restore, the last deleted first."""
        query = _select_deleted()
        if not user.is_superuser:
            query = query.where(assets.c.owner_id == user.id)
        return await paginate(
            self._database, query, page, order_by=[assets.c.deleted_at.desc(), assets.c.id]
        )

    async def list_old(self, before: datetime) -> Sequence[Row[Any]]:
        """Return what `purge` would delete."""
        query = _select_deleted().where(assets.c.deleted_at <= before)
        return await self._database.all(query.order_by(*_OLDEST_FIRST))

    async def purge(self, by: Caller, before: datetime) -> int:
        """Delete for good what was deleted before a time, in small transactions. Return the number of assets.

        Files that no version has any more are deleted with old imports (`ImportStore.purge`).
        """
        # One that is being restored is skipped.
        old = (
            select(assets)
            .where(assets.c.deleted_at <= before)
            .order_by(*_OLDEST_FIRST)
            .limit(PURGE_BATCH)
            .with_for_update(skip_locked=True)
        )
        total = 0
        while True:
            async with self._database.transaction() as connection:
                rows = (await connection.execute(old)).all()
                if not rows:
                    return total
                await self.purge_rows(connection, by, rows)
                # Ends of their assignments count as versions, too: without this, the version would go back.
                await self._data_versions.bump(connection, TOPIC)
            total += len(rows)

    async def purge_rows(
        self, connection: AsyncConnection, by: Caller, rows: Sequence[Row[Any]]
    ) -> None:
        """Delete assets for good. The caller locked them, and bumps the data version if they were not in the trash."""
        await connection.execute(assets.delete().where(self._is_one_of(rows)))
        await write_log(connection, by, *(asset_entry("delete", row) for row in rows))

    # The next methods are for a transaction that deletes the account of the owner.

    async def lock_owned(self, connection: AsyncConnection, owner_id: int) -> None:
        """Lock all assets of an owner and the owner's service accounts."""
        await connection.run_sync(lock_assets, self._database, _is_owned_by(owner_id))

    async def list_owned(self, connection: AsyncConnection, owner_id: int) -> list[OwnedAsset]:
        """Return what an owner and the owner's service accounts have outside the trash, sorted by name."""
        is_owned = and_(_is_owned_by(owner_id), is_live())
        query = (
            select(assets.c.uid, assets.c.name)
            .where(is_owned)
            .order_by(assets.c.name_key, assets.c.id)
        )
        return [OwnedAsset(row.uid, row.name) for row in await connection.execute(query)]

    async def purge_trash_of(self, connection: AsyncConnection, by: Caller, owner_id: int) -> None:
        """Delete the assets in the trash of an owner for good. They are locked. The caller bumps the data version."""
        in_trash = select(assets).where(
            assets.c.owner_id == owner_id, assets.c.deleted_at.is_not(None)
        )
        await self.purge_rows(connection, by, (await connection.execute(in_trash)).all())

    log_deleted_teams = staticmethod(log_deleted_teams)

    async def _lock(
        self, connection: AsyncConnection, condition: ColumnElement[bool]
    ) -> Sequence[Row[Any]]:
        locked = await connection.run_sync(lock_assets, self._database, condition)
        query = select(assets).where(condition, in_values(self._database, assets.c.id, locked))
        rows = (await connection.execute(query.order_by(assets.c.id))).all()
        # One that another transaction restored in the meantime may be in a collection that is not locked.
        return [row for row in rows if row.parent_id is None or row.parent_id in locked]

    async def _delete(
        self, connection: AsyncConnection, user: User, rows: Sequence[Row[Any]]
    ) -> None:
        ids = {row.id for row in rows}
        is_inside = in_values(self._database, assets.c.parent_id, ids)
        # What is in the trash already keeps its place, in case that both come back.
        left = and_(is_inside, is_live(), ~self._is_one_of(rows))
        await connection.execute(assets.update().where(left).values(parent_id=None))
        await cancel_transfers(self._database, connection, ids)
        if self.days:
            deletion = (
                assets.update()
                .where(self._is_one_of(rows))
                .values(deleted_at=now(), deleted_by=user.id)
            )
            await connection.execute(deletion)
            await write_log(connection, user, *(asset_entry("in-trash", row) for row in rows))
        else:
            await self.purge_rows(connection, user, rows)
        await self._update_summaries(connection, {row.parent_id for row in rows} - ids)

    async def _restore(
        self, connection: AsyncConnection, user: User, rows: Sequence[Row[Any]]
    ) -> None:
        is_restored = self._is_one_of(rows)
        await connection.execute(
            assets.update().where(is_restored).values(deleted_at=None, deleted_by=None)
        )
        collections = assets.alias()
        in_trash = select(collections.c.id).where(collections.c.deleted_at.is_not(None))
        alone = and_(is_restored, assets.c.parent_id.in_(in_trash))
        await connection.execute(assets.update().where(alone).values(parent_id=None))
        await write_log(connection, user, *(asset_entry("put-back", row) for row in rows))
        parents = set(
            (await connection.execute(select(assets.c.parent_id).where(is_restored))).scalars()
        )
        await self._update_summaries(
            connection, parents | {row.id for row in rows if row.asset_type == COLLECTION}
        )

    async def _update_summaries(
        self, connection: AsyncConnection, collection_ids: set[int | None]
    ) -> None:
        for collection_id in collection_ids:
            await self._store.update_collection_summary(connection, collection_id)
        await self._data_versions.bump(connection, TOPIC)

    def _is_one_of(self, rows: Sequence[Row[Any]]) -> ColumnElement[bool]:
        return in_values(self._database, assets.c.id, [row.id for row in rows])


def _is_owned_by(owner_id: int) -> ColumnElement[bool]:
    """Whether an asset is of an owner, or of a service account, which nobody can use when its owner is deleted."""
    is_theirs = or_(users.c.id == owner_id, users.c.owner_id == owner_id)
    return assets.c.owner_id.in_(select(users.c.id).where(is_theirs))


def _has_uid(uids: Collection[str]) -> IsMeant:
    return lambda table: table.c.uid.in_(uids)


def _is_meant(user: User, uids: Collection[str] | None) -> IsMeant:
    return (lambda table: table.c.owner_id == user.id) if uids is None else _has_uid(uids)


def _is_deleted(is_meant: IsMeant) -> ColumnElement[bool]:
    """Whether an asset goes to the trash: alone, or with its collection."""
    return and_(is_live(), _is_meant_or_inside(is_meant))


def _is_restored(is_meant: IsMeant) -> ColumnElement[bool]:
    """Whether an asset comes back: alone, or with the collection that took it."""
    is_same_time = _INSIDE.c.deleted_at == _COLLECTIONS.c.deleted_at
    return and_(assets.c.deleted_at.is_not(None), _is_meant_or_inside(is_meant, is_same_time))


def _is_meant_or_inside(is_meant: IsMeant, *conditions: ColumnElement[bool]) -> ColumnElement[bool]:
    """Whether an asset is meant, or in a collection of its owner that is meant. Reads nothing but these."""
    inside = (
        select(_INSIDE.c.id)
        .join_from(_COLLECTIONS, _INSIDE, _INSIDE.c.parent_id == _COLLECTIONS.c.id)
        .where(is_meant(_COLLECTIONS), _INSIDE.c.owner_id == _COLLECTIONS.c.owner_id, *conditions)
    )
    return assets.c.id.in_(union(select(_COLLECTIONS.c.id).where(is_meant(_COLLECTIONS)), inside))


def _may_restore(user: User, row: Row[Any]) -> bool:
    return user.is_superuser or row.owner_id == user.id


def _check_all_own(user: User, uids: Collection[str] | None, rows: Sequence[Row[Any]]) -> None:
    """Refuse if one of them is missing or of somebody else. What goes with a collection is of its owner."""
    missing = set(uids or ()) - {row.uid for row in rows}
    if missing or not all(_may_restore(user, row) for row in rows):
        raise Forbidden(_NOT_ALL_OWN)


async def _check_inside(connection: AsyncConnection, user: User, collection_id: int) -> None:
    """Refuse a token that is not for all assets in a collection: they leave it, or go with it."""
    if user.limits.assets is not None:
        inside = select(assets.c.uid).where(assets.c.parent_id == collection_id, is_live())
        check_token(user, (await connection.execute(inside)).scalars())


def _select_kept(user: User, collection_id: int) -> Select[Any]:
    """Select assets that stay when a collection is deleted, without those that their owners hide from the user."""
    collections = assets.alias()
    columns = (assets.c.uid, assets.c.name, users.c.username)
    query = (
        select(*columns)
        .join_from(assets, users, users.c.id == assets.c.owner_id)
        .join(collections, collections.c.id == assets.c.parent_id)
        .where(
            assets.c.parent_id == collection_id,
            assets.c.owner_id != collections.c.owner_id,
            is_live(),
        )
    )
    return only_listed(query, user).order_by(assets.c.id)


def _select_deleted() -> Select[Any]:
    """Select the trash, with the names of owners and of those who deleted."""
    deleters = users.alias()
    return (
        select(assets, users.c.username, deleters.c.username.label("deleter"))
        .join_from(assets, users, users.c.id == assets.c.owner_id)
        .outerjoin(deleters, deleters.c.id == assets.c.deleted_by)
        .where(assets.c.deleted_at.is_not(None))
    )
