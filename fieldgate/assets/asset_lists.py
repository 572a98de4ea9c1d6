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
from fieldgate.db import AsyncDatabase, RowPage
from fieldgate.db.kept_lists import KeptLists, read_columns, slice_page
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
    """Lists of assets. Their order is kept until the next write, for those who read more than a first page."""

    def __init__(self, database: AsyncDatabase) -> None:
        self._database = database
        self._lists = KeptLists(MAX_ID_CACHE_BYTES)

    async def load(
        self, caller: Caller, search: AssetSearch, page: PageRequest, versions: Sequence[int] = ()
    ) -> RowPage:
        """Return the number of assets in a caller's list, and those of a page, without their contents.

        `versions` are those of `LIST_TOPICS`, if the caller of this method has just asked for them.
        """
        key = audience_key(caller), search, tuple(versions)

        def ordered_ids() -> Select[int]:
            query = listed_ids(caller, search, is_sqlite=self._database.is_sqlite)
            return query.order_by(*list_order(search))

        def read(connection: Connection) -> RowPage:
            if search.expression is not None:
                listed = slice_page((_matching_ids(connection, ordered_ids()),), page)
            elif versions:
                listed = self._lists.page(connection, key, ordered_ids, page)
            else:
                listed = slice_page(read_columns(connection, ordered_ids()), page)
            ids = [row[0] for row in listed.rows]
            rows = {row.id: row for row in read_visible(connection, self._database, caller, ids)}
            return RowPage(listed.count, [rows[id_] for id_ in ids if id_ in rows])

        return await self._database.read(read)


def _matching_ids(connection: Connection, query: Select[int]) -> "array[int]":
    """The ids that match an expression. Each form of one is a new statement of up to 400 KB: it is not kept."""
    options = {"compiled_cache": None}
    return array("q", connection.execute(query, execution_options=options).scalars())
