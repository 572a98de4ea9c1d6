"""SQL for assignments and their history.

async with store.transaction([uid]) as transaction:  # locks the asset
    grants = await transaction.load(uid)
    await transaction.write(Action.ASSIGN, user, changes)
"""

from collections.abc import AsyncIterator, Callable, Collection, Iterable, Sequence
from contextlib import asynccontextmanager
from functools import cached_property
from typing import Any, TypeVar

from sqlalchemy import Row, select
from sqlalchemy.engine import Connection
from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.accounts.store import username_key
from fieldgate.accounts.tables import PUBLIC_USER_ID, users
from fieldgate.assets.authorization import asset_not_found
from fieldgate.assets.sharing.assignment_rows import AssignmentRows
from fieldgate.assets.sharing.grants_sql import (
    GrantsQueries,
    StoredByUser,
    group_assignments,
    to_complete_grants,
    to_grants,
    to_grants_with_named,
)
from fieldgate.assets.sharing.model.grants import AssetGrants, Grantee, owner_uids_by_permission
from fieldgate.assets.sharing.model.planning import Action, PermissionChange, reject_oversized
from fieldgate.assets.store import TOPIC
from fieldgate.assets.tables import assets, assignment_history, assignments
from fieldgate.assets.work_cost import run_by_cost
from fieldgate.db import Database, DataVersions, RowPage, in_values, paginate
from fieldgate.identity import User
from fieldgate.pagination import PageRequest

Result = TypeVar("Result")


class AssignmentStore:
    def __init__(self, database: Database, data_versions: DataVersions) -> None:
        self._database = database
        self._data_versions = data_versions

    @cached_property
    def _queries(self) -> GrantsQueries:
        return GrantsQueries(self._database)

    async def find_complete(self, uid: str) -> AssetGrants | None:
        """Return an asset with all its assignments, or None if it has too many to be read at once."""
        rows = await self._queries.find_complete(uid)
        if rows is None:
            return None
        if not rows:
            raise asset_not_found(uid)
        return to_complete_grants(rows)

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
        return SharingTransaction(self._database, self._data_versions, self._queries, connection)

    async def write(self, uid: str, write: "Callable[[SharingConnection], Result]") -> Result:
        """Lock an asset, run a short function that writes, and commit. See `Database.write`."""

        def run(connection: Connection) -> Result:
            return write(SharingConnection(self._database, self._data_versions, self._queries, connection))

        if self._database.is_sqlite:
            return await self._database.write(run)
        async with self._database.transaction() as connection:
            await self._lock(connection, [uid])
            return await connection.run_sync(run)

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


class SharingConnection:
    """Reads and writes assignments of one user in a function passed to `AssignmentStore.write`."""

    def __init__(
        self, database: Database, data_versions: DataVersions, queries: GrantsQueries, connection: Connection
    ) -> None:
        self._database = database
        self._data_versions = data_versions
        self._queries = queries
        self._connection = connection

    def load_with_user(self, uid: str, username: str, caller_id: int) -> tuple[AssetGrants, Grantee | None]:
        """Return an asset with the assignments of two users and the public, and the user with a name."""
        rows = self._queries.with_named_user.execute(
            self._connection, uid=uid, username_key=username_key(username), caller_id=caller_id
        )
        if not rows:
            raise asset_not_found(uid)
        return to_grants_with_named(rows)

    def write(self, action: Action, by: User, changes: Iterable[PermissionChange]) -> AssignmentRows:
        """Write changes, and every effect to the history. Returns the rows."""
        changes = [change for change in changes if change.effects]
        rows = AssignmentRows.of(changes, action, by.id)
        if changes:
            reject_oversized(changes)
            rows.write(self._connection, self._database)
            self._data_versions.bump_sync(self._connection, TOPIC)
        return rows


class SharingTransaction:
    """Reads and writes assignments in one transaction."""

    def __init__(
        self, database: Database, data_versions: DataVersions, queries: GrantsQueries, connection: AsyncConnection
    ) -> None:
        self._database = database
        self._data_versions = data_versions
        self._queries = queries
        self._connection = connection

    async def find_grantees(self, names: Iterable[str]) -> dict[str, Grantee]:
        """Return users by `username_key`, including disabled ones."""
        keys = {username_key(name) for name in names}
        rows = await self._connection.run_sync(self._queries.users_by_name.execute, keys=list(keys))
        return {key: Grantee(id_, username, disabled_at is None) for key, id_, username, disabled_at in rows}

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
        return [to_grants(row, rows, grantees) for row in found]

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
        run, ids = self._connection.run_sync, list(asset_ids)
        if user_ids is None:
            rows = await run(self._queries.assignments.execute, asset_ids=ids)
        else:
            some = list({*user_ids, PUBLIC_USER_ID})
            rows = await run(self._queries.assignments_of_users.execute, asset_ids=ids, user_ids=some)
        return await run_by_cost(len(rows), group_assignments, rows)

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
        rows = await run_by_cost(len(changes), AssignmentRows.of, changes, action, by.id, source)
        await self._connection.run_sync(rows.write, self._database)
        await self._data_versions.bump(self._connection, TOPIC)
