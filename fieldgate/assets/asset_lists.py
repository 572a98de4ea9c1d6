"""Lists of the assets that a caller can view.

page = await lists.load(caller, AssetSearch(asset_type="survey"), PageRequest(50, 100))
page.count, page.rows
"""

from collections.abc import Sequence
from functools import cached_property

import msgspec

from fieldgate.assets.authorization import effective_user_id
from fieldgate.assets.list_sql import AssetSearch, ListedAsset, PageHead, list_order, listed_ids, page_query
from fieldgate.db import Database, PreparedQuery, paginate
from fieldgate.identity import Caller
from fieldgate.pagination import PageRequest

_HEAD_LENGTH = len(PageHead._fields)


class AssetPage(msgspec.Struct, frozen=True):
    """One page of a list, with the versions of `LIST_TOPICS` and the state of the user whose list it is."""

    count: int
    rows: Sequence[ListedAsset]
    versions: tuple[int, int]
    username: str  # empty if the user was deleted during the request
    is_active: bool


class AssetLists:
    def __init__(self, database: Database) -> None:
        self._database = database

    @cached_property
    def _rows(self) -> PreparedQuery:
        return PreparedQuery(self._database, page_query(self._database))

    async def load(self, caller: Caller, search: AssetSearch, page: PageRequest) -> AssetPage:
        """Return the number of assets in a caller's list, and those of a page, without their contents."""
        query = listed_ids(caller, search, is_sqlite=self._database.is_sqlite)
        async with self._database.read_transaction() as connection:
            if search.expression is not None:
                # Each form of an expression is a new statement of up to 400 KB: keep it out of SQLAlchemy's cache.
                await connection.execution_options(compiled_cache=None)
            count, found = await paginate(connection, query, page, order_by=list_order(search))
            ids = [row.id for row in found]
            user_id = effective_user_id(caller)
            rows = await connection.run_sync(self._rows.execute, ids=ids, user_id=user_id)
        head = PageHead._make(rows[0][:_HEAD_LENGTH])
        by_id = {row[_HEAD_LENGTH]: ListedAsset._make(row[_HEAD_LENGTH:]) for row in rows}
        versions = head.assets_version or 0, head.accounts_version or 0
        return AssetPage(count, [by_id[id_] for id_ in ids], versions, head.username or "", head.disabled_at is None)
