"""Lists of the assets that a caller can view.

page = await lists.load(caller, AssetSearch(asset_type="survey"), PageRequest(50, 100))
page.count, page.rows
"""

from array import array
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import (
    JSON,
    Column,
    ColumnElement,
    Integer,
    ScalarSelect,
    Select,
    Text,
    bindparam,
    case,
    cast,
    func,
    select,
    true,
)
from sqlalchemy.sql.selectable import FromClause

from fieldgate.accounts.store import TOPIC as ACCOUNTS_TOPIC
from fieldgate.accounts.tables import PUBLIC_USER_ID, team_members, users, with_teams_of
from fieldgate.assets import visibility_sql
from fieldgate.assets.authorization import audience_key, effective_user_id
from fieldgate.assets.search_sql import SearchCompiler
from fieldgate.assets.store import TOPIC, is_newest_version
from fieldgate.assets.tables import assets, assignments, has_not_ended, versions
from fieldgate.cache import BoundedCache
from fieldgate.db import Database, PreparedQuery, in_bound_list
from fieldgate.db.data_versions import timed_version
from fieldgate.db.tables import topic_versions
from fieldgate.http.search_grammar import SearchExpression
from fieldgate.identity import Caller
from fieldgate.pagination import PageRequest

# Everything that a list of assets shows or depends on is written together with one of their versions.
LIST_TOPICS = (TOPIC, ACCOUNTS_TOPIC)

_USER_ID = bindparam("user_id", type_=Integer)

MAX_ID_CACHE_BYTES = 8 * 1024 * 1024


class AssetSearch(msgspec.Struct, frozen=True):
    """Filters and order of a list of assets."""

    expression: SearchExpression | None = None
    asset_type: str = ""
    status: str | None = None
    ordering: str = "-date_modified"
    collections_first: bool = False


class PageHead(NamedTuple):
    """What is read once with the rows of a page: versions of data, and the user whose list it is."""

    assets_version: int | None
    accounts_version: int | None
    username: str | None
    disabled_at: int | None
    teams: str | None  # of the user: a JSON array of `ListedTeam`


class ListedTeam(msgspec.Struct, frozen=True, array_like=True):
    id: int
    uid: str
    username: str


class ListedAsset(NamedTuple):
    """A row of a list, as the drivers return it: JSON is text, times are stored numbers."""

    id: int
    uid: str
    owner_id: int
    parent_id: int | None
    asset_type: str
    name: str
    settings: str
    tags: str
    summary: str
    created_at: int
    modified_at: int
    deployed_version_uid: str | None
    deployed_at: int | None
    deployment_active: int | None
    username: str
    owner_disabled_at: int | None
    modifier: str | None
    has_xform: int
    version_uid: str
    version_number: int
    is_shared: int  # with other users than the public
    collection_uid: str | None
    collection_owner_id: int | None
    collection_owner: str | None
    collection_owner_disabled_at: int | None
    # Assignments of the user, the user's teams and the public, on the asset and on its collection, as JSON arrays; see
    # `StoredGrant`. NULL or empty if there are none.
    granted: str | None
    granted_by_collection: str | None

    @property
    def status(self) -> str:
        """The sharing status, as `visibility_sql.sharing_status` has it."""
        public, inherited = map(_of_public, (self.granted, self.granted_by_collection))
        if public or inherited:
            if _grants(public, visibility_sql.DISCOVER):
                return visibility_sql.DISCOVERABLE
            is_denied = any(each.permission == visibility_sql.VIEW and each.is_denied for each in public)
            if _grants(public, visibility_sql.VIEW) or (_grants(inherited, visibility_sql.VIEW) and not is_denied):
                return visibility_sql.PUBLIC
        return visibility_sql.SHARED if self.is_shared else visibility_sql.PRIVATE

    def parent_uid(self, caller: Caller) -> str | None:
        """The uid of the collection, if the caller can view it."""
        user_id, given = effective_user_id(caller), decode_grants(self.granted_by_collection)
        is_denied = any(
            each.user_id == user_id and each.permission == visibility_sql.VIEW and each.is_denied for each in given
        )
        if is_denied:
            given = [each for each in given if each.user_id == PUBLIC_USER_ID]
        is_owner = self.collection_owner_id == user_id
        can_view = is_owner or caller.is_superuser or _grants(given, visibility_sql.VIEW)
        return self.collection_uid if can_view else None


class StoredGrant(msgspec.Struct, frozen=True, array_like=True):
    """An assignment in a row of a list."""

    user_id: int
    id: int
    uid: str
    permission: str
    is_denied: int
    filters: dict[str, list[dict[str, Any]]] | None
    expires_at: int | None


_teams_decoder = msgspec.json.Decoder(list[ListedTeam])
_grants_decoder = msgspec.json.Decoder(list[StoredGrant])


def decode_grants(stored: str | None) -> list[StoredGrant]:
    """The assignments in a column of a `ListedAsset`."""
    return [] if stored is None or stored == "[]" else _grants_decoder.decode(stored)


def _of_public(stored: str | None) -> list[StoredGrant]:
    return [each for each in decode_grants(stored) if each.user_id == PUBLIC_USER_ID]


def _grants(stored: Sequence[StoredGrant], permission: str) -> bool:
    return any(each.permission == permission and not each.is_denied for each in stored)


_ASSET_COLUMNS = tuple(assets.c[name] for name in ListedAsset._fields if name in assets.c)

_ORDERS: dict[str, ColumnElement[Any]] = {
    "date_modified": assets.c.modified_at,
    "date_created": assets.c.created_at,
    "name": assets.c.name_key,
    "asset_type": assets.c.asset_type,
    "owner__username": select(users.c.username_key).where(users.c.id == assets.c.owner_id).scalar_subquery(),
    "subscribers_count": assets.c.id,  # nobody subscribes: all have the same
}


def listed_ids(caller: Caller, search: AssetSearch, *, is_sqlite: bool) -> Select[int]:
    """Select the ids of all assets in a caller's list, not in order."""
    query = select(assets.c.id).where(visibility_sql.is_listed(effective_user_id(caller), search.status))
    if search.status == visibility_sql.SHARED:
        query = query.where(assets.c.owner_id != effective_user_id(caller))
    if caller.limits.assets is not None:
        query = query.where(assets.c.uid.in_(sorted(caller.limits.assets)))
    if search.asset_type:
        query = query.where(assets.c.asset_type == search.asset_type)
    if search.expression is not None:
        query = query.where(SearchCompiler(caller, is_sqlite=is_sqlite).compile(search.expression))
    return query


def list_order(search: AssetSearch) -> list[ColumnElement[Any]]:
    """The order of a list, which ends with the id, so that it is total."""
    order = _ORDERS[search.ordering.removeprefix("-")]
    orders = [order.desc() if search.ordering.startswith("-") else order.asc(), assets.c.id]
    if search.collections_first:
        orders.insert(0, case((assets.c.asset_type == "collection", 0), else_=1))
    return orders


def page_query(database: Database) -> Select[Any]:
    """Select a `PageHead` and the `ListedAsset` of each id in `ids`, for `user_id`, in one row each.

    One statement sees one snapshot on both databases. If no asset is found, there is one row with the head.
    """
    head = select(
        timed_version(database, TOPIC, assignments.c.expires_at).label("assets_version"),
        _version(ACCOUNTS_TOPIC).label("accounts_version"),
        _of_user(users.c.username).label("username"),
        _of_user(users.c.disabled_at).label("disabled_at"),
        _teams(database).label("teams"),
    ).subquery("head")
    rows = _select_listed(database).subquery("listed")
    return select(*head.c, *rows.c).select_from(head.outerjoin(rows, true()))


def _select_listed(database: Database) -> Select[Any]:
    parents, modifiers, holders = assets.alias("parents"), users.alias("modifiers"), users.alias("holders")
    return (
        select(
            *map(_as_text, _ASSET_COLUMNS),
            users.c.username,
            users.c.disabled_at.label("owner_disabled_at"),
            modifiers.c.username.label("modifier"),
            _has_xform(database).label("has_xform"),
            versions.c.uid.label("version_uid"),
            versions.c.number.label("version_number"),
            case((visibility_sql.is_shared(), 1), else_=0).label("is_shared"),
            parents.c.uid.label("collection_uid"),
            parents.c.owner_id.label("collection_owner_id"),
            holders.c.username.label("collection_owner"),
            holders.c.disabled_at.label("collection_owner_disabled_at"),
            _granted(database, assets.c.id).label("granted"),
            _granted(database, assets.c.parent_id).label("granted_by_collection"),
        )
        # An outer join, although every asset has an owner: with few users, PostgreSQL would read those first.
        .outerjoin_from(assets, users, users.c.id == assets.c.owner_id)
        .join(versions, is_newest_version())
        .outerjoin(parents, parents.c.id == assets.c.parent_id)
        .outerjoin(modifiers, modifiers.c.id == assets.c.modified_by)
        .outerjoin(holders, holders.c.id == parents.c.owner_id)
        .where(in_bound_list(database, assets.c.id, "ids"))
    )


def _has_xform(database: Database) -> ColumnElement[Any]:
    # SQLite reads the whole text, and the content before it, to tell whether it is NULL, but not for its type.
    is_null = func.typeof(versions.c.xform) == "null" if database.is_sqlite else versions.c.xform.is_(None)
    return case((is_null, 0), else_=1)


def _granted(database: Database, asset_id: ColumnElement[Any]) -> ColumnElement[Any]:
    """The assignments of the user, the user's teams and the public on an asset, as a JSON array of `StoredGrant`."""
    given: FromClause = assignments.alias()
    is_denied = cast(given.c.is_denied, Integer)
    filters = func.json(given.c.filters) if database.is_sqlite else given.c.filters
    columns = (given.c.user_id, given.c.id, given.c.uid, given.c.permission, is_denied, filters, given.c.expires_at)
    holders = with_teams_of(_USER_ID, PUBLIC_USER_ID)
    query = select(cast(_json_array(database, *columns), Text)).where(
        given.c.asset_id == asset_id, given.c.user_id.in_(holders), has_not_ended(given)
    )
    granted = query.correlate_except(given).scalar_subquery()
    # Most assets are in no collection.
    return granted if asset_id is assets.c.id else case((asset_id.is_not(None), granted))


def _json_array(database: Database, *columns: ColumnElement[Any]) -> ColumnElement[Any]:
    """The rows of a query as one JSON array of arrays."""
    if database.is_sqlite:
        return func.json_group_array(func.json_array(*columns))
    return func.json_agg(func.json_build_array(*columns))


def _teams(database: Database) -> ScalarSelect[Any]:
    """The teams of the user."""
    found = _json_array(database, users.c.id, users.c.uid, users.c.username)
    query = select(cast(found, Text)).join_from(team_members, users, users.c.id == team_members.c.team_id)
    return query.where(team_members.c.user_id == _USER_ID).scalar_subquery()


def _as_text(column: Column[Any]) -> ColumnElement[Any]:
    """JSON as text: some connections to PostgreSQL would decode it."""
    return cast(column, Text).label(column.name) if isinstance(column.type, JSON) else column


def _of_user(column: ColumnElement[Any]) -> ScalarSelect[Any]:
    return select(column).where(users.c.id == _USER_ID).scalar_subquery()


def _version(topic: str) -> ScalarSelect[Any]:
    return select(topic_versions.c.version).where(topic_versions.c.topic == topic).scalar_subquery()


_HEAD_LENGTH = len(PageHead._fields)


class AssetPage(msgspec.Struct, frozen=True):
    """One page of a list, with the versions of `LIST_TOPICS` and the state of the user whose list it is."""

    count: int
    rows: Sequence[ListedAsset]
    versions: tuple[int, int]
    username: str  # empty if the user was deleted during the request
    is_active: bool
    teams: Sequence[ListedTeam] = ()


class AssetLists:
    """Lists of assets. The ids of a list are remembered until the next write, for those who read all of its pages."""

    def __init__(self, database: Database) -> None:
        self._database = database
        # By audience and search: the data versions that the ids were read at, and the ids in order.
        self._ids = BoundedCache[tuple[str, AssetSearch], tuple[tuple[int, int], "array[int]"]](MAX_ID_CACHE_BYTES)

    @cached_property
    def _rows(self) -> PreparedQuery:
        return PreparedQuery(self._database, page_query(self._database))

    async def load(self, caller: Caller, search: AssetSearch, page: PageRequest) -> AssetPage:
        """Return the number of assets in a caller's list, and those of a page, without their contents."""
        user_id, wanted = effective_user_id(caller), slice(page.offset, page.offset + page.limit)
        key = audience_key(caller), search
        known_versions, ids = self._ids.get(key) or (None, array("q"))
        if known_versions is not None:
            found = _asset_page(ids, wanted, await self._rows.all(ids=ids[wanted].tolist(), user_id=user_id))
            if found.versions == known_versions:
                return found
        query = listed_ids(caller, search, is_sqlite=self._database.is_sqlite).order_by(*list_order(search))
        async with self._database.read_transaction() as connection:
            # Read before the ids: an assignment can end in between, which a snapshot of the data does not prevent.
            head = await connection.run_sync(self._rows.execute, ids=[], user_id=user_id)
            if search.expression is not None:
                # Each form of an expression is a new statement of up to 400 KB: keep it out of SQLAlchemy's cache.
                await connection.execution_options(compiled_cache=None)
            ids = array("q", (await connection.execute(query)).scalars())
            rows = await connection.run_sync(self._rows.execute, ids=ids[wanted].tolist(), user_id=user_id)
        found = msgspec.structs.replace(
            _asset_page(ids, wanted, rows), versions=_asset_page(ids, slice(0), head).versions
        )
        if search.expression is None:
            self._ids.put(key, (found.versions, ids), size=len(ids) * ids.itemsize + 256)
        return found


def _asset_page(ids: Sequence[int], wanted: slice, rows: Sequence[Sequence[Any]]) -> AssetPage:
    """Make a page of the ids of a list and the rows of `page_query`. An asset that was deleted since is left out."""
    head = PageHead._make(rows[0][:_HEAD_LENGTH])
    by_id = {row[_HEAD_LENGTH]: ListedAsset._make(row[_HEAD_LENGTH:]) for row in rows}
    versions = head.assets_version or 0, head.accounts_version or 0
    found = [by_id[id_] for id_ in ids[wanted] if id_ in by_id]
    teams = _teams_decoder.decode(head.teams or "[]")
    return AssetPage(len(ids), found, versions, head.username or "", head.disabled_at is None, teams)
