"""All SQL about assignments and their history.

async with store.session([uid]) as session:  # nobody else changes how the asset is shared before it ends
    shared = await session.shared(uid)
    await session.write(Act.ASSIGN, caller, changes)
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from sqlalchemy import Row, bindparam, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.accounts.store import username_key
from fieldgate.accounts.tables import PUBLIC_USER_ID, users
from fieldgate.assets.authorization import asset_not_found
from fieldgate.assets.sharing.model.assignments import AssignmentScope
from fieldgate.assets.sharing.model.grants import AssetGrants, Grantee, StoredAssignment, owner_assignment_uid
from fieldgate.assets.sharing.model.planning import Action, PermissionChange, reject_oversized
from fieldgate.assets.store import TOPIC
from fieldgate.assets.tables import assets, assignment_history, assignments
from fieldgate.concurrency import run_in_thread_if
from fieldgate.db import Database, DataVersions, Timestamp, in_values, insert_rows, new_uid, now
from fieldgate.identity import User
from fieldgate.pagination import PageRequest
from fieldgate.permissions import rules
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
        """One state of some assets; unless it only reads, nobody else changes them before it ends."""
        opened = self._database.read_transaction() if read_only else self._database.transaction()
        async with opened as connection:
            if not (read_only or self._database.is_sqlite):  # which has one writer at a time as it is
                await self._lock(connection, uids)
            yield self.in_transaction(connection)

    def in_transaction(self, connection: AsyncConnection) -> "SharingTransaction":
        """The same as part of a transaction in which the asset is locked already."""
        return SharingTransaction(self._database, self._data_versions, connection)

    async def _lock(self, connection: AsyncConnection, uids: Collection[str]) -> None:
        """Collections first, then what may be in them, each in order: or two who wait for each other wait for ever."""
        named = select(assets.c.id, assets.c.parent_id, assets.c.asset_type)
        found = (await connection.execute(named.where(in_values(self._database, assets.c.uid, uids)))).all()
        collections = {row.parent_id for row in found if row.parent_id is not None}
        collections |= {row.id for row in found if row.asset_type == "collection"}
        for numbers in (collections, {row.id for row in found} - collections):
            those = select(assets.c.id).where(in_values(self._database, assets.c.id, numbers)).order_by(assets.c.id)
            await connection.execute(those.with_for_update())

    async def history(self, asset_id: int, page: PageRequest) -> tuple[int, Sequence[Row[Any]]]:
        """The newest first."""
        makers, holders = users.alias(), users.alias()
        of_asset = assignment_history.c.asset_id == asset_id
        query = (
            select(assignment_history, makers.c.username.label("maker"), holders.c.username.label("holder"))
            .join_from(assignment_history, makers, makers.c.id == assignment_history.c.made_by)
            .join(holders, holders.c.id == assignment_history.c.user_id)
            .where(of_asset)
            .order_by(assignment_history.c.id.desc())
        )
        counted = select(func.count()).select_from(assignment_history).where(of_asset)
        async with self._database.read_transaction() as connection:
            count = int((await connection.execute(counted)).scalar_one())
            return count, (await connection.execute(query.limit(page.limit).offset(page.offset))).all()


class SharingTransaction:
    """What is read and written of how assets are shared, in one transaction."""

    def __init__(self, database: Database, data_versions: DataVersions, connection: AsyncConnection) -> None:
        self._database = database
        self._data_versions = data_versions
        self._connection = connection

    async def find_grantees(self, names: Iterable[str]) -> dict[str, Grantee]:
        """Users, whether disabled or not, by the form in which their names are compared."""
        keys = {username_key(name) for name in names}
        named = select(users.c.id, users.c.username, users.c.username_key, users.c.disabled_at)
        rows = await self._connection.execute(named.where(in_values(self._database, users.c.username_key, keys)))
        return {row.username_key: Grantee(row.id, row.username, row.disabled_at is None) for row in rows}

    async def load(self, uid: str, user_ids: Collection[int] | None = None) -> AssetGrants:
        """An asset with the assignments on it, all of them or those of these users and the public; 404 without it."""
        found = await self.load_many([uid], user_ids)
        if not found:
            raise asset_not_found(uid)
        return found[0]

    async def load_many(self, uids: Collection[str], user_ids: Collection[int] | None = None) -> list[AssetGrants]:
        """The same for several assets, in the order of their making; what is not there is left out."""
        found = await self._load_assets(uids)
        numbers = {row.id for row in found} | {row.parent_id for row in found if row.parent_id is not None}
        rows, people = await self._load_assignments(numbers, user_ids)
        owners = {row.owner_id for row in found} | {row.collection_owner_id for row in found}
        people |= await self._load_grantees(owners - people.keys() - {None})
        return [_to_grants(row, rows, people) for row in found]

    async def find_holder_id(self, uid: str, assignment: str) -> int | None:
        """The number of the user whose assignment on an asset, or on its collection, has this uid."""
        found = await self._load_assets([uid])
        for row in found:
            numbers = [row.id] if row.parent_id is None else [row.id, row.parent_id]
            named = assignments.c.uid == assignment, assignments.c.asset_id.in_(numbers)
            number = (await self._connection.execute(select(assignments.c.user_id).where(*named))).scalar_one_or_none()
            if number is not None:
                return int(number)
            if assignment in {owner_assignment_uid(uid, each) for each in rules.owner_permissions(row.asset_type)}:
                return int(row.owner_id)
            if row.collection_uid and assignment in {
                owner_assignment_uid(row.collection_uid, each) for each in rules.owner_permissions("collection")
            }:
                return int(row.collection_owner_id)
        return None

    async def _load_assets(self, uids: Collection[str]) -> Sequence[Row[Any]]:
        above = assets.alias()
        columns = (assets.c.id, assets.c.uid, assets.c.asset_type, assets.c.owner_id, assets.c.parent_id)
        query = (
            select(*columns, above.c.uid.label("collection_uid"), above.c.owner_id.label("collection_owner_id"))
            .outerjoin_from(assets, above, above.c.id == assets.c.parent_id)
            .where(in_values(self._database, assets.c.uid, uids))
            .order_by(assets.c.id)
        )
        found: Sequence[Row[Any]] = (await self._connection.execute(query)).all()  # type: ignore[assignment]
        return found

    async def _load_assignments(
        self, asset_ids: Collection[int], user_ids: Collection[int] | None
    ) -> tuple[dict[int, StoredByUser], dict[int, Grantee]]:
        """Assignments by asset and user, and who those users are."""
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
        people: dict[int, Grantee] = {}
        for (
            number,
            uid,
            asset_id,
            user_id,
            permission,
            is_denied,
            filters,
            username,
            disabled_at,
        ) in await self._connection.execute(query):
            if user_id not in people:
                people[user_id] = Grantee(user_id, username, disabled_at is None)
            held = StoredAssignment(permission, is_denied, _decode_filters(filters), id=number, uid=uid)
            rows[asset_id][user_id].append(held)
        return rows, people

    async def _load_grantees(self, user_ids: Collection[int | None]) -> dict[int, Grantee]:
        query = select(users.c.id, users.c.username, users.c.disabled_at)
        found = await self._connection.execute(query.where(in_values(self._database, users.c.id, user_ids)))
        return {row.id: Grantee(row.id, row.username, row.disabled_at is None) for row in found}

    async def write(
        self, action: Action, by: User, changes: Iterable[PermissionChange], source: str | None = None
    ) -> None:
        """Make the rows those of the standings afterwards; rows that stay keep their uid. Every effect is noted.

        `source` is the uid of the asset that was cloned.
        """
        changes = [change for change in changes if change.effects]
        if not changes:
            return
        reject_oversized(changes)
        moment = Timestamp.pack(now())
        gone = [number for change in changes for number in _deleted_ids(change)]
        if gone:
            await self._connection.execute(
                assignments.delete().where(in_values(self._database, assignments.c.id, gone))
            )
        new = await run_in_thread_if(len(changes), _all_new_rows, changes, moment)
        await insert_rows(self._connection, assignments, new)
        if filtered := [row for change in changes for row in _filter_updates(change)]:
            those = assignments.update().where(assignments.c.id == bindparam("number"))
            await self._connection.execute(those.values(filters=bindparam("given")), filtered)
        noted = [row for change in changes for row in _history_rows(change, action, by.id, moment, source)]
        await insert_rows(self._connection, assignment_history, noted)
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


def _decode_filters(stored: dict[str, list[dict[str, Any]]] | None) -> Filters | None:
    return None if stored is None else {codename: tuple(given) for codename, given in stored.items()}


def _deleted_ids(change: PermissionChange) -> Iterable[int]:
    before, after = change.before, change.after
    gone = (before.granted - after.granted) | (before.denied - after.denied)
    for row in change.grants.scope.direct.get(change.user.id, ()):
        if isinstance(row, StoredAssignment) and row.permission in gone:
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
            yield {"number": row.id, "given": change.after.filters}


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
