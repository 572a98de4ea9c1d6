"""SQL for assignments, and for their history, which is a view of the log.

def add(transaction: SharingTransaction) -> None:
    asset = transaction.load(uid)
    transaction.write(Action.ASSIGN, user, changes)

await store.change([uid], add)  # locks the asset
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cached_property, partial
from typing import Any, ParamSpec, TypeVar

import msgspec
from sqlalchemy import (
    JSON,
    AdaptedConnection,
    ColumnElement,
    Select,
    Text,
    and_,
    bindparam,
    func,
    not_,
    or_,
    select,
    true,
)
from sqlalchemy.engine import Connection

from fieldgate.accounts.store import username_key
from fieldgate.accounts.tables import PUBLIC_USER_ID, TEAM_PREFIX, team_members, teams, users
from fieldgate.assets.authorization import (
    AssetAuthorizer,
    AssignmentScope,
    AuthorizedAsset,
    asset_not_found,
    effective_user_id,
)
from fieldgate.assets.sharing.change_log import LoggedEffect, change_entries, logged_effects
from fieldgate.assets.sharing.grants import (
    Action,
    AssetGrants,
    Grantee,
    PermissionChange,
    StoredAssignment,
    reject_oversized,
    run_by_cost,
)
from fieldgate.assets.store import TOPIC, lock_assets
from fieldgate.assets.tables import assets, assignments, has_not_ended, is_live
from fieldgate.db import (
    AsyncDatabase,
    DataVersions,
    PreparedQuery,
    Timestamp,
    in_bound_list,
    in_values,
    insert_rows_sync,
    new_uid,
    now,
)
from fieldgate.db.log import log, write_log_sync
from fieldgate.errors import NotFound
from fieldgate.i18n.messages import Message
from fieldgate.identity import Caller, User
from fieldgate.pagination import PageRequest
from fieldgate.permissions.catalogue import PARTIAL
from fieldgate.permissions.effects import EffectKind
from fieldgate.permissions.submission_filters import Filters

Params = ParamSpec("Params")
Result = TypeVar("Result")
StoredByUser = dict[int, list[StoredAssignment]]
TeamsByUser = defaultdict[int, list[int]]  # ids


class AssignmentStore:
    def __init__(self, database: AsyncDatabase, data_versions: DataVersions) -> None:
        self._database = database
        self._data_versions = data_versions
        # What a write is checked with before it begins, and a read.
        self._authorizer = AssetAuthorizer(database)

    async def authorize(self, uid: str, caller: Caller) -> AuthorizedAsset:
        """Return what a caller may do with an asset. Raise `NotFound` if the caller cannot view it."""
        return await self._authorizer.authorize(uid, caller)

    @cached_property
    def _queries(self) -> "_Queries":
        return _Queries(self._database)

    async def change(
        self,
        uids: Collection[str],
        work: "Callable[[SharingTransaction], Result]",
        *,
        is_dry_run: bool = False,
    ) -> Result:
        """Run a function that changes assignments in a transaction. The assets are locked, except in a dry run."""
        if is_dry_run:
            return await self._read(work)

        def run(connection: Connection) -> Result:
            if not self._database.is_sqlite:  # SQLite has one writer at a time
                lock_assets(
                    connection, self._database, in_values(self._database, assets.c.uid, uids)
                )
            return work(self.in_transaction(connection))

        return await self._database.write(run)

    async def _read(self, work: "Callable[[SharingTransaction], Result]") -> Result:
        return await self._database.read(lambda connection: work(self.in_transaction(connection)))

    def in_transaction(self, connection: Connection) -> "SharingTransaction":
        """Use an open transaction. To write, the assets must be locked already."""
        return SharingTransaction(self._database, self._data_versions, self._queries, connection)

    async def load_visible(self, asset: AuthorizedAsset, caller: Caller) -> AssetGrants:
        """Return an asset with the assignments that the caller can see, and perhaps others: use `visible_to`."""
        return await self._read(lambda transaction: transaction.load_visible(asset, caller))

    async def load_of_user(self, uids: Collection[str], user_id: int) -> dict[int, AssetGrants]:
        """Return assets by id with the assignments of a user, the user's teams and the public."""
        found = await self._read(lambda transaction: transaction.load_many(uids, [user_id]))
        return {each.id: each for each in found}

    async def get_asset_name(self, uid: str) -> str:
        name = await self._database.scalar(
            select(assets.c.name).where(assets.c.uid == uid, is_live())
        )
        if name is None:
            raise asset_not_found()
        return str(name)

    async def history(
        self, asset_uid: str, page: PageRequest
    ) -> tuple[int, list[tuple[Any, LoggedEffect]]]:
        """Return the number of effects, and a page of them with their entries of the log, newest first."""
        is_change = (log.c.object_uid == asset_uid) & (log.c.effect_count > 0)
        last = func.sum(log.c.effect_count).over(order_by=log.c.id.desc())
        counted = (
            select(log.c.id, log.c.effect_count, last.label("last")).where(is_change).subquery()
        )
        first = counted.c.last - counted.c.effect_count
        entries = select(log, first.label("first")).join_from(
            log, counted, log.c.id == counted.c.id
        )
        on_page = (counted.c.last > page.offset, first < page.offset + page.limit)
        async with self._database.read_transaction() as connection:
            total = await connection.execute(select(func.sum(log.c.effect_count)).where(is_change))
            rows = (
                await connection.execute(entries.where(*on_page).order_by(log.c.id.desc()))
            ).all()
        effects = [
            (row, effect) for row in rows for effect in reversed(logged_effects(row.details))
        ]
        start = page.offset - rows[0].first if rows else 0
        return int(total.scalar() or 0), effects[start : start + page.limit]


class SharingTransaction:
    """Reads and writes assignments in one transaction."""

    def __init__(
        self,
        database: AsyncDatabase,
        data_versions: DataVersions,
        queries: "_Queries",
        connection: Connection,
    ) -> None:
        self._database = database
        self._data_versions = data_versions
        self._queries = queries
        self._connection = connection

    def find_grantees(
        self, names: Iterable[str], by: Caller, uids: Collection[str]
    ) -> dict[str, Grantee]:
        """Return users, including disabled ones, by `username_key`, and teams by `team:` and name or uid.

        The caller can name own teams, superusers all of them; and by uid teams that have permissions on the assets, or
        on their collections.
        """
        names = set(names)
        keys = {username_key(name) for name in names}
        rows = self._queries.users.execute(self._connection, keys=list(keys))
        found = {
            key: Grantee(id_, name, disabled_at is None, uid)
            for key, id_, name, disabled_at, uid in rows
        }
        if named := [
            name.removeprefix(TEAM_PREFIX) for name in names if name.startswith(TEAM_PREFIX)
        ]:
            is_known = team_members.c.user_id == by.id
            known = select(team_members.c.team_id).where(true() if by.sees_everything else is_known)
            is_on_asset = assignments.c.asset_id.in_((assets.c.id, assets.c.parent_id))
            holding = select(assignments.c.user_id).join_from(assignments, assets, is_on_asset)
            found |= self._find_teams(
                named, known, holding.where(in_values(self._database, assets.c.uid, uids))
            )
        return found

    def _find_teams(
        self, names: Collection[str], known: Select[Any], holding: Select[Any]
    ) -> dict[str, Grantee]:
        keys = list(map(username_key, names))
        columns = (
            users.c.id,
            users.c.username,
            users.c.uid,
            teams.c.name_key,
            teams.c.id.in_(known).label("is_known"),
        )
        by_uid = in_values(self._database, users.c.uid, names)
        by_name = in_values(self._database, teams.c.name_key, keys) & teams.c.id.in_(known)
        query = select(*columns).join_from(teams, users, users.c.id == teams.c.id)
        query = query.where(
            or_(by_uid & or_(teams.c.id.in_(known), teams.c.id.in_(holding)), by_name)
        )
        found: dict[str, Grantee] = {}
        ambiguous = set()
        for row in self._connection.execute(query):
            team = Grantee(row.id, row.username, uid=row.uid)
            found[username_key(TEAM_PREFIX + row.uid)] = team
            if (
                row.is_known
                and found.setdefault(name := TEAM_PREFIX + row.name_key, team) is not team
            ):
                ambiguous.add(name)
        return {key: team for key, team in found.items() if key not in ambiguous}

    def find_inside(self, collection_ids: Iterable[int]) -> Sequence[str]:
        """Return the uids of assets in collections, which pass permissions on to them."""
        is_inside = in_values(self._database, assets.c.parent_id, list(collection_ids))
        return (
            self._connection.execute(select(assets.c.uid).where(is_inside, is_live()))
            .scalars()
            .all()
        )

    def load(self, uid: str, user_ids: Collection[int] | None = None) -> AssetGrants:
        """Return an asset with all its assignments, or those of some users and the public. Raise `NotFound`."""
        found = self.load_many([uid], user_ids)
        if not found:
            raise asset_not_found()
        return found[0]

    def load_visible(self, asset: AuthorizedAsset, caller: Caller) -> AssetGrants:
        """Return an asset with the assignments that the caller can see, and perhaps others: use `visible_to`."""
        grants = self.load(
            asset.uid, None if asset.may_manage else (effective_user_id(caller), asset.owner_id)
        )
        grants.authorize(caller)
        return grants

    def load_many(
        self, uids: Collection[str], user_ids: Collection[int] | None = None
    ) -> list[AssetGrants]:
        """Like `load` for several assets, in order of id. Unknown uids are left out."""
        queries, connection = self._queries, self._connection
        found = queries.assets.execute(connection, uids=list(uids))
        asset_ids = list({id_ for row in found for id_ in (row[0], row[4]) if id_ is not None})
        if user_ids is None:
            rows = queries.assignments.execute(connection, asset_ids=asset_ids)
        else:
            some = list({*user_ids, PUBLIC_USER_ID})
            rows = queries.assignments_of_users.execute(
                connection, asset_ids=asset_ids, user_ids=some
            )
        stored, grantees = self.run_by_cost(len(rows), _group_assignments, rows)
        members = self._load_members(grantees, user_ids)
        return [_to_grants(row, stored, grantees, members) for row in found]

    def _load_members(
        self, grantees: dict[int, Grantee], user_ids: Collection[int] | None
    ) -> TeamsByUser:
        """Return the teams of all their members, or of some users. Adds the members to `grantees`."""
        found = TeamsByUser(list)
        team_ids = [grantee.id for grantee in grantees.values() if grantee.is_team]
        if not team_ids:
            return found
        if user_ids is None:
            rows = self._queries.members.execute(self._connection, team_ids=team_ids)
        else:
            some = {"team_ids": team_ids, "user_ids": list(user_ids)}
            rows = self._queries.members_of_users.execute(self._connection, **some)
        for team_id, user_id, username, disabled_at, uid in rows:
            found[user_id].append(team_id)
            grantees.setdefault(user_id, Grantee(user_id, username, disabled_at is None, uid))
        return found

    def write(
        self,
        action: Action,
        by: User,
        changes: Iterable[PermissionChange],
        source: str | None = None,
    ) -> None:
        """Write changes and their entries of the log. Rows that do not change keep their uid.

        `source` is the uid of the asset that was cloned.
        """
        changes = [change for change in changes if change.effects]
        if not changes:
            return
        reject_oversized(changes)
        rows = self.run_by_cost(len(changes), AssignmentRows.of, changes)
        entries = self.run_by_cost(len(changes), change_entries, changes, action, source)
        self._lock_users({change.user.id for change in changes})
        rows.write(self._connection, self._queries)
        write_log_sync(self._connection, by, entries)
        self._data_versions.bump_sync(self._connection, TOPIC)

    def _lock_users(self, ids: Collection[int]) -> None:
        """Keep users from leaving, before their assignments are locked: those who leave lock them in this order."""
        if self._database.is_sqlite:
            return
        present = (
            select(users.c.id)
            .where(in_values(self._database, users.c.id, ids))
            .order_by(users.c.id)
        )
        if len(
            self._connection.execute(present.with_for_update(read=True, key_share=True)).all()
        ) < len(ids):
            raise NotFound(
                Message("Somebody whose permissions this changes has just left. Please try again.")
            )

    def run_by_cost(
        self, cost: int, work: Callable[Params, Result], *args: Params.args, **kwargs: Params.kwargs
    ) -> Result:
        """Run a function for as many assignments. For many of them, the event loop goes on while a thread runs it."""
        adapted = self._connection.connection.dbapi_connection
        if isinstance(adapted, AdaptedConnection):  # this runs on the event loop
            run = partial(run_by_cost, cost, work, *args, **kwargs)
            result: Result = adapted.run_async(lambda _: run())
            return result
        return work(*args, **kwargs)


class _Queries:
    """Statements that load and remove assignments. They are compiled once."""

    def __init__(self, database: AsyncDatabase) -> None:
        self.users = PreparedQuery(
            database,
            select(
                users.c.username_key, users.c.id, users.c.username, users.c.disabled_at, users.c.uid
            ).where(in_bound_list(database, users.c.username_key, "keys", Text)),
        )
        self.assets = PreparedQuery(
            database,
            _select_assets()
            .where(in_bound_list(database, assets.c.uid, "uids", Text))
            .order_by(assets.c.id),
        )
        is_on_asset = in_bound_list(database, assignments.c.asset_id, "asset_ids")
        of_users = select(team_members.c.team_id).where(
            in_bound_list(database, team_members.c.user_id, "user_ids")
        )
        is_of_user = in_bound_list(
            database, assignments.c.user_id, "user_ids"
        ) | assignments.c.user_id.in_(of_users)
        members = (
            select(
                team_members.c.team_id,
                users.c.id,
                users.c.username,
                users.c.disabled_at,
                users.c.uid,
            )
            .join_from(team_members, users, users.c.id == team_members.c.user_id)
            .where(in_bound_list(database, team_members.c.team_id, "team_ids"))
            .order_by(team_members.c.user_id, team_members.c.team_id)
        )
        is_of_some = in_bound_list(database, team_members.c.user_id, "user_ids")
        self.members = PreparedQuery(database, members)
        self.members_of_users = PreparedQuery(database, members.where(is_of_some))
        self.assignments = PreparedQuery(database, _select_assignments(is_on_asset))
        self.assignments_of_users = PreparedQuery(
            database, _select_assignments(is_on_asset, is_of_user)
        )
        has_ended = and_(
            is_on_asset,
            in_bound_list(database, assignments.c.user_id, "user_ids"),
            not_(has_not_ended()),
        )
        removed = in_bound_list(database, assignments.c.id, "deleted_ids") | has_ended
        self.removal = PreparedQuery(
            database, assignments.delete().where(removed).returning(assignments.c.id)
        )


def _select_assets() -> Select[Any]:
    """Assets with their collections, and the owners of both."""
    collections, owners, collection_owners = assets.alias(), users.alias(), users.alias()
    return (
        select(
            assets.c.id,
            assets.c.uid,
            assets.c.asset_type,
            assets.c.owner_id,
            assets.c.parent_id,
            collections.c.uid,
            collections.c.owner_id,
            assets.c.name,
            owners.c.username,
            owners.c.disabled_at,
            owners.c.uid,
            collection_owners.c.username,
            collection_owners.c.disabled_at,
            collection_owners.c.uid,
        )
        .join_from(assets, owners, owners.c.id == assets.c.owner_id)
        .outerjoin(collections, collections.c.id == assets.c.parent_id)
        .outerjoin(collection_owners, collection_owners.c.id == collections.c.owner_id)
        .where(is_live())
    )


def _select_assignments(*conditions: ColumnElement[bool]) -> Select[Any]:
    query = select(
        assignments.c.id,
        assignments.c.uid,
        assignments.c.asset_id,
        assignments.c.user_id,
        assignments.c.permission,
        assignments.c.is_denied,
        assignments.c.filters,
        assignments.c.expires_at,
        users.c.username,
        users.c.disabled_at,
        users.c.uid,
    )
    joined = query.join_from(assignments, users, users.c.id == assignments.c.user_id)
    return joined.where(*conditions, has_not_ended()).order_by(assignments.c.id)


def _to_grants(
    row: Sequence[Any],
    stored: dict[int, StoredByUser],
    grantees: dict[int, Grantee],
    members: TeamsByUser,
) -> AssetGrants:
    """Return an asset of a row, with its assignments among these. Adds the owners to `grantees`."""
    id_, uid, asset_type, owner_id, parent_id, collection_uid, collection_owner_id, name = row[:8]
    for user_id, username, disabled_at, user_uid in (
        (owner_id, *row[8:11]),
        (collection_owner_id, *row[11:]),
    ):
        if user_id is not None:
            grantees[user_id] = Grantee(user_id, username, disabled_at is None, user_uid)
    direct, on_collection = stored.get(id_, {}), stored.get(parent_id, {})
    holding = {
        user_id: here
        for user_id, team_ids in members.items()
        if (here := [each for each in team_ids if each in direct or each in on_collection])
    }
    return AssetGrants(
        id=id_,
        uid=uid,
        name=name,
        scope=AssignmentScope(
            asset_type=asset_type,
            owner_id=owner_id,
            direct=direct,
            collection_owner_id=collection_owner_id,
            on_collection=on_collection,
            teams=holding,
        ),
        collection_uid=collection_uid,
        grantees_by_id=grantees,
    )


def _group_assignments(
    rows: Iterable[Sequence[Any]],
) -> tuple[dict[int, StoredByUser], dict[int, Grantee]]:
    """Return assignments by asset and user, and the users by id."""
    stored: dict[int, StoredByUser] = defaultdict(lambda: defaultdict(list))
    grantees: dict[int, Grantee] = {}
    for (
        id_,
        uid,
        asset_id,
        user_id,
        permission,
        is_denied,
        filters,
        end,
        username,
        disabled_at,
        user_uid,
    ) in rows:
        if user_id not in grantees:
            grantees[user_id] = Grantee(user_id, username, disabled_at is None, user_uid)
        parsed = None if filters is None else decode_filters(filters)
        expires_at = None if end is None else Timestamp.unpack(end)
        assignment = StoredAssignment(
            permission, bool(is_denied), parsed, expires_at, id=id_, uid=uid
        )
        stored[asset_id][user_id].append(assignment)
    return stored, grantees


def decode_filters(stored: str | dict[str, Any]) -> Filters | None:
    """The engine's connections to PostgreSQL decode JSON, the driver's own do not."""
    filters = msgspec.json.decode(stored) if isinstance(stored, str) else stored
    return (
        None if filters is None else {codename: tuple(given) for codename, given in filters.items()}
    )


Row = dict[str, object]


class AssignmentRows(msgspec.Struct, frozen=True):
    deleted_ids: list[int]
    # Of these users on these assets, rows that have ended may be in the way of new ones.
    asset_ids: set[int]
    user_ids: set[int]
    new: list[Row]
    updates: list[Row]

    @classmethod
    def of(cls, changes: Sequence[PermissionChange]) -> "AssignmentRows":
        return cls(
            [id_ for change in changes for id_ in _deleted_ids(change)],
            {change.asset.id for change in changes},
            {change.user.id for change in changes},
            _new_rows(changes, Timestamp.pack(now())),
            [row for change in changes for row in _updates(change)],
        )

    def write(self, connection: Connection, queries: "_Queries") -> None:
        if self.updates:  # first, because one may have ended meanwhile
            update = assignments.update().where(assignments.c.id == bindparam("row_id"))
            filters = bindparam("new_filters", type_=JSON(none_as_null=True))
            values = {"filters": filters, "expires_at": bindparam("new_end")}
            connection.execute(update.values(values), self.updates)
        if self.deleted_ids or self.new:
            queries.removal.execute(
                connection,
                deleted_ids=self.deleted_ids,
                asset_ids=list(self.asset_ids),
                user_ids=list(self.user_ids),
            )
        insert_rows_sync(connection, assignments, self.new)


def _deleted_ids(change: PermissionChange) -> Iterable[int]:
    before, after = change.before, change.after
    removed = (before.granted - after.granted) | (before.denied - after.denied)
    if removed:
        for row in change.asset.scope.direct.get(change.user.id, ()):
            if isinstance(row, StoredAssignment) and row.permission in removed:
                yield row.id


def _new_rows(changes: Iterable[PermissionChange], timestamp: int) -> list[Row]:
    rows: list[Row] = []
    for change in changes:
        before, after = change.before, change.after
        granted = [(permission, False) for permission in sorted(after.granted - before.granted)]
        denied = [(permission, True) for permission in sorted(after.denied - before.denied)]
        for permission, is_denied in (*granted, *denied):
            has_filters = permission == PARTIAL and not is_denied
            end = None if is_denied else after.ends.get(permission)
            rows.append(
                {
                    "uid": new_uid("p"),
                    "asset_id": change.asset.id,
                    "user_id": change.user.id,
                    "permission": permission,
                    "is_denied": is_denied,
                    "filters": msgspec.json.encode(after.filters).decode() if has_filters else None,
                    "created_at": timestamp,
                    "expires_at": None if end is None else Timestamp.pack(end),
                }
            )
    return rows


def _updates(change: PermissionChange) -> Iterable[Row]:
    """New filters and ends of assignments that stay."""
    before, after = change.before, change.after
    changed = {
        effect.permission
        for effect in change.effects
        if effect.kind in (EffectKind.FILTERED, EffectKind.ENDS)
    }
    for row in change.asset.scope.direct[change.user.id] if changed else ():
        if (
            isinstance(row, StoredAssignment)
            and row.permission in changed & before.granted & after.granted
        ):
            filters = after.filters if row.permission == PARTIAL else None
            yield {
                "row_id": row.id,
                "new_filters": filters,
                "new_end": after.ends.get(row.permission),
            }
