"""Lists of the assets that a caller can view.

page = await lists.load(caller, AssetSearch(asset_type="survey"), PageRequest(50, 100))
page.total, page.rows
"""

from array import array
from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Select, case, select
from sqlalchemy.engine import Connection

from fieldgate.accounts.store import TOPIC as ACCOUNTS_TOPIC
from fieldgate.accounts.tables import users
from fieldgate.assets import visibility_sql
from fieldgate.assets.authorization import audience_key, effective_user_id
from fieldgate.assets.search_sql import SearchCompiler
from fieldgate.assets.store import TOPIC, read_visible
from fieldgate.assets.tables import assets
from fieldgate.cache import BoundedCache
from fieldgate.db import AsyncDatabase, RowPage
from fieldgate.http.search_grammar import SearchExpression
from fieldgate.identity import Caller
from fieldgate.pagination import PageRequest

# Everything that a list of assets shows or depends on is written together with one of their versions.
LIST_TOPICS = (TOPIC, ACCOUNTS_TOPIC)

MAX_ID_CACHE_BYTES = 8 * 1024 * 1024


class AssetSearch(msgspec.Struct, frozen=True):
    """Filters and order of a list of assets."""

    expression: SearchExpression | None = None
    asset_type: str = ""
    status: str | None = None
    ordering: str = "-date_modified"
    collections_first: bool = False


_ORDERS: dict[str, ColumnElement[Any]] = {
    "date_modified": assets.c.modified_at,
    "date_created": assets.c.created_at,
    "name": assets.c.name_key,
    "asset_type": assets.c.asset_type,
    "owner__username": select(users.c.username_key)
    .where(users.c.id == assets.c.owner_id)
    .scalar_subquery(),
    "subscribers_count": assets.c.id,  # nobody subscribes: all have the same
}


def listed_ids(caller: Caller, search: AssetSearch, *, is_sqlite: bool) -> Select[int]:
    """Select the ids of all assets in a caller's list, not in order."""
    query = select(assets.c.id).where(
        visibility_sql.is_listed(effective_user_id(caller), search.status)
    )
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


class AssetLists:
    """Lists of assets. The ids of a list are remembered until the next write, for those who read all of its pages."""

    def __init__(self, database: AsyncDatabase) -> None:
        self._database = database
        # The ids in order, by audience, search and data versions.
        self._ids = BoundedCache[tuple[str, AssetSearch, tuple[int, ...]], "array[int]"](
            MAX_ID_CACHE_BYTES
        )

    async def load(
        self, caller: Caller, search: AssetSearch, page: PageRequest, versions: Sequence[int] = ()
    ) -> RowPage:
        """Return the number of assets in a caller's list, and those of a page, without their contents.

        `versions` are those of `LIST_TOPICS`, if the caller of this method has just asked for them.
        """
        key = audience_key(caller), search, tuple(versions)
        known_ids = self._ids.get(key) if versions else None

        def read(connection: Connection) -> tuple["array[int]", RowPage]:
            ids = self._read_ids(connection, caller, search) if known_ids is None else known_ids
            wanted = ids[page.offset : page.offset + page.limit].tolist()
            rows = {row.id: row for row in read_visible(connection, self._database, caller, wanted)}
            return ids, RowPage(len(ids), [rows[id_] for id_ in wanted if id_ in rows])

        ids, found = await self._database.read(read)
        if known_ids is None and versions and search.expression is None:
            self._ids.put(key, ids, size=len(ids) * ids.itemsize + 256)
        return found

    def _read_ids(
        self, connection: Connection, caller: Caller, search: AssetSearch
    ) -> "array[int]":
        query = listed_ids(caller, search, is_sqlite=self._database.is_sqlite).order_by(
            *list_order(search)
        )
        # Each form of an expression is a new statement of up to 400 KB: keep it out of SQLAlchemy's cache.
        options = {} if search.expression is None else {"compiled_cache": None}
        return array("q", connection.execute(query, execution_options=options).scalars())
