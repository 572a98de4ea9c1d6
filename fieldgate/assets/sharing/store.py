"""SQL for assignments and their history.

async with store.transaction([uid]) as transaction:  # locks the asset
    grants = await transaction.load(uid)
    await transaction.write(Action.ASSIGN, user, changes)
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from sqlalchemy import Row, bindparam, select
from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.accounts.store import username_key
from fieldgate.accounts.tables import PUBLIC_USER_ID, users
from fieldgate.assets.assignments import AssignmentScope
from fieldgate.assets.authorization import asset_not_found
from fieldgate.assets.sharing.model.grants import AssetGrants, Grantee, StoredAssignment, owner_uids_by_permission
from fieldgate.assets.sharing.model.planning import Action, PermissionChange, reject_oversized
from fieldgate.assets.store import TOPIC
from fieldgate.assets.tables import assets, assignment_history, assignments
from fieldgate.assets.work_cost import run_by_cost
from fieldgate.db import Database, DataVersions, RowPage, Timestamp, in_values, insert_rows, new_uid, now, paginate
from fieldgate.identity import User
from fieldgate.pagination import PageRequest
from fieldgate.permissions.catalogue import PARTIAL
from fieldgate.permissions.effects import EffectKind
from fieldgate.permissions.submission_filters import Filters

StoredByUser = dict[int, list[StoredAssignment]]


class AssignmentStore:
    def __init__(self, database: Database, data_versions: DataVersions) -> None:
        self._database = database
        self._data_versions = data_versions

    @asynccontextmanager
    async def transaction(
        self, uids: Collection[str], *, read_only: bool = False
    ) -> AsyncIterator["SharingTransaction"]:
        """Open a transaction on some assets. Unless it is read-only, the assets are locked until it ends."""
        opened = self._database.read_transaction() if read_only else self._database.transaction()
        async with opened as connection:
            if not (read_only or self._database.is_sqlite):  # SQLite has one writer at a time
                await self._lock(connection, uids)
            yield self.in_transaction(connection)

    def in_transaction(self, connection: AsyncConnection) -> "SharingTransaction":
        """Use an open transaction in which the assets are locked already."""
        return SharingTransaction(self._database, self._data_versions, connection)

    async def _lock(self, connection: AsyncConnection, uids: Collection[str]) -> None:
        """Lock collections before the assets in them, each in order of id, to avoid deadlocks."""
        columns = select(assets.c.id, assets.c.parent_id, assets.c.asset_type)
        found = (await connection.execute(columns.where(in_values(self._database, assets.c.uid, uids)))).all()
        collections = {row.parent_id for row in found if row.parent_id is not None}
        collections |= {row.id for row in found if row.asset_type == "collection"}
        for ids in (collections, {row.id for row in found} - collections):
            rows = select(assets.c.id).where(in_values(self._database, assets.c.id, ids)).order_by(assets.c.id)
            await connection.execute(rows.with_for_update())

    async def get_asset_name(self, uid: str) -> str:
        async with self._database.read_transaction() as connection:
            name = (await connection.execute(select(assets.c.name).where(assets.c.uid == uid))).scalar_one_or_none()
        if name is None:
            raise asset_not_found(uid)
        return str(name)

    async def history(self, asset_id: int, page: PageRequest) -> RowPage:
        """Return a page of the history, newest first."""
        # Subqueries, not joins, which the count would have to follow for every row.
        maker = select(users.c.username).where(users.c.id == assignment_history.c.made_by).scalar_subquery()
        holder = select(users.c.username).where(users.c.id == assignment_history.c.user_id).scalar_subquery()
        query = select(assignment_history, maker.label("maker"), holder.label("holder")).where(
            assignment_history.c.asset_id == asset_id
        )
        async with self._database.read_transaction() as connection:
            return await paginate(connection, query, page, order_by=[assignment_history.c.id.desc()])


class SharingTransaction:
    """Reads and writes assignments in one transaction."""

    def __init__(self, database: Database, data_versions: DataVersions, connection: AsyncConnection) -> None:
        self._database = database
        self._data_versions = data_versions
        self._connection = connection

    async def find_grantees(self, names: Iterable[str]) -> dict[str, Grantee]:
        """Return users by `username_key`, including disabled ones."""
        keys = {username_key(name) for name in names}
        columns = select(users.c.id, users.c.username, users.c.username_key, users.c.disabled_at)
        rows = await self._connection.execute(columns.where(in_values(self._database, users.c.username_key, keys)))
        return {row.username_key: Grantee(row.id, row.username, row.disabled_at is None) for row in rows}

    async def load(self, uid: str, user_ids: Collection[int] | None = None) -> AssetGrants:
        """Return an asset with all its assignments, or those of some users and the public. Raise `NotFound`."""
        found = await self.load_many([uid], user_ids)
        if not found:
            raise asset_not_found(uid)
        return found[0]

    async def load_many(self, uids: Collection[str], user_ids: Collection[int] | None = None) -> list[AssetGrants]:
        """Like `load` for several assets, in order of id. Unknown uids are left out."""
        found = await self._load_assets(uids)
        asset_ids = {row.id for row in found} | {row.parent_id for row in found if row.parent_id is not None}
        rows, grantees = await self._load_assignments(asset_ids, user_ids)
        owners = {row.owner_id for row in found} | {row.collection_owner_id for row in found}
        grantees |= await self._load_grantees(owners - grantees.keys() - {None})
        return [_to_grants(row, rows, grantees) for row in found]

    async def find_holder_id(self, uid: str, assignment_uid: str) -> int | None:
        """Return the id of the user who has an assignment on an asset or on its collection."""
        found = await self._load_assets([uid])
        for row in found:
            asset_ids = [row.id] if row.parent_id is None else [row.id, row.parent_id]
            query = select(assignments.c.user_id).where(
                assignments.c.uid == assignment_uid, assignments.c.asset_id.in_(asset_ids)
            )
            user_id = (await self._connection.execute(query)).scalar_one_or_none()
            if user_id is not None:
                return int(user_id)
            if assignment_uid in owner_uids_by_permission(uid, row.asset_type).values():
                return int(row.owner_id)
            of_collection = owner_uids_by_permission(row.collection_uid, "collection") if row.collection_uid else {}
            if assignment_uid in of_collection.values():
                return int(row.collection_owner_id)
        return None

    async def _load_assets(self, uids: Collection[str]) -> Sequence[Row[Any]]:
        collections = assets.alias()
        columns = (assets.c.id, assets.c.uid, assets.c.asset_type, assets.c.owner_id, assets.c.parent_id)
        query = (
            select(
                *columns,
                collections.c.uid.label("collection_uid"),
                collections.c.owner_id.label("collection_owner_id"),
            )
            .outerjoin_from(assets, collections, collections.c.id == assets.c.parent_id)
            .where(in_values(self._database, assets.c.uid, uids))
            .order_by(assets.c.id)
        )
        found: Sequence[Row[Any]] = (await self._connection.execute(query)).all()  # type: ignore[assignment]
        return found

    async def _load_assignments(
        self, asset_ids: Collection[int], user_ids: Collection[int] | None
    ) -> tuple[dict[int, StoredByUser], dict[int, Grantee]]:
        """Return assignments by asset and user, and the users by id."""
        query = (
            select(
                assignments.c.id,
                assignments.c.uid,
                assignments.c.asset_id,
                assignments.c.user_id,
                assignments.c.permission,
                assignments.c.is_denied,
                assignments.c.filters,
                users.c.username,
                users.c.disabled_at,
            )
            .join_from(assignments, users, users.c.id == assignments.c.user_id)
            .where(in_values(self._database, assignments.c.asset_id, asset_ids))
            .order_by(assignments.c.id)
        )
        if user_ids is not None:
            query = query.where(in_values(self._database, assignments.c.user_id, {*user_ids, PUBLIC_USER_ID}))
        rows: dict[int, StoredByUser] = defaultdict(lambda: defaultdict(list))
        grantees: dict[int, Grantee] = {}
        for (
            id_,
            uid,
            asset_id,
            user_id,
            permission,
            is_denied,
            filters,
            username,
            disabled_at,
        ) in await self._connection.execute(query):
            if user_id not in grantees:
                grantees[user_id] = Grantee(user_id, username, disabled_at is None)
            assignment = StoredAssignment(permission, is_denied, decode_filters(filters), id=id_, uid=uid)
            rows[asset_id][user_id].append(assignment)
        return rows, grantees

    async def _load_grantees(self, user_ids: Collection[int | None]) -> dict[int, Grantee]:
        query = select(users.c.id, users.c.username, users.c.disabled_at)
        found = await self._connection.execute(query.where(in_values(self._database, users.c.id, user_ids)))
        return {row.id: Grantee(row.id, row.username, row.disabled_at is None) for row in found}

    async def write(
        self, action: Action, by: User, changes: Iterable[PermissionChange], source: str | None = None
    ) -> None:
        """Write changes, and every effect to the history. Rows that do not change keep their uid.

        `source` is the uid of the asset that was cloned.
        """
        changes = [change for change in changes if change.effects]
        if not changes:
            return
        reject_oversized(changes)
        timestamp = Timestamp.pack(now())
        if deleted := [id_ for change in changes for id_ in _deleted_ids(change)]:
            query = assignments.delete().where(in_values(self._database, assignments.c.id, deleted))
            await self._connection.execute(query)
        new = await run_by_cost(len(changes), _all_new_rows, changes, timestamp)
        await insert_rows(self._connection, assignments, new)
        if updates := [row for change in changes for row in _filter_updates(change)]:
            update = assignments.update().where(assignments.c.id == bindparam("row_id"))
            await self._connection.execute(update.values(filters=bindparam("new_filters")), updates)
        history = [row for change in changes for row in _history_rows(change, action, by.id, timestamp, source)]
        await insert_rows(self._connection, assignment_history, history)
        await self._data_versions.bump(self._connection, TOPIC)


def _to_grants(row: Row[Any], rows: dict[int, StoredByUser], grantees: dict[int, Grantee]) -> AssetGrants:
    return AssetGrants(
        id=row.id,
        uid=row.uid,
        scope=AssignmentScope(
            asset_type=row.asset_type,
            owner_id=row.owner_id,
            direct=rows.get(row.id, {}),
            collection_owner_id=row.collection_owner_id,
            on_collection=rows.get(row.parent_id, {}),
        ),
        collection_uid=row.collection_uid,
        grantees_by_id=grantees,
    )


def decode_filters(stored: dict[str, list[dict[str, Any]]] | None) -> Filters | None:
    """Filters as they are stored in JSON."""
    return None if stored is None else {codename: tuple(filters) for codename, filters in stored.items()}


def _deleted_ids(change: PermissionChange) -> Iterable[int]:
    before, after = change.before, change.after
    removed = (before.granted - after.granted) | (before.denied - after.denied)
    for row in change.grants.scope.direct.get(change.user.id, ()):
        if isinstance(row, StoredAssignment) and row.permission in removed:
            yield row.id


def _all_new_rows(changes: Iterable[PermissionChange], timestamp: int) -> list[dict[str, object]]:
    return [row for each in changes for row in _new_rows(each, timestamp)]


def _new_rows(change: PermissionChange, timestamp: int) -> Iterable[dict[str, object]]:
    before, after = change.before, change.after
    granted = [(permission, False) for permission in sorted(after.granted - before.granted)]
    denied = [(permission, True) for permission in sorted(after.denied - before.denied)]
    filters = msgspec.json.encode(after.filters).decode()
    for permission, is_denied in (*granted, *denied):
        yield {
            "uid": new_uid("p"),
            "asset_id": change.grants.id,
            "user_id": change.user.id,
            "permission": permission,
            "is_denied": is_denied,
            "filters": filters if permission == PARTIAL and not is_denied else None,
            "created_at": timestamp,
        }


def _filter_updates(change: PermissionChange) -> Iterable[dict[str, object]]:
    if not any(effect.kind is EffectKind.FILTERED for effect in change.effects) or PARTIAL not in change.after.granted:
        return
    for row in change.grants.scope.direct[change.user.id]:
        if isinstance(row, StoredAssignment) and row.permission == PARTIAL:
            yield {"row_id": row.id, "new_filters": change.after.filters}


def _history_rows(
    change: PermissionChange, action: Action, by: int, timestamp: int, source: str | None
) -> Iterable[dict[str, object]]:
    for effect in change.effects:
        filters = change.filters_of(effect)
        yield {
            "asset_id": change.grants.id,
            "made_at": timestamp,
            "made_by": by,
            "act": action.value,
            "user_id": change.user.id,
            "permission": effect.permission,
            "what": effect.kind.value,
            "why": effect.reason.value,
            "because": effect.because,
            "filters": None if filters is None else msgspec.json.encode(filters).decode(),
            "source": source,
        }
