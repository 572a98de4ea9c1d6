"""Lists of the assets that a caller can view.

    page = await lists.load(caller, AssetSearch(asset_type="survey"), PageRequest(50, 100))
    page.count, page.rows

The ids of a list are kept in memory, with the data versions they were read at. The statement that reads the rows of a
page also reads the versions, in the same snapshot. If they changed, so may have the list, and it is read again.
"""

import asyncio
from array import array
from collections.abc import Sequence
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.assets.authorization import effective_user_id
from fieldgate.assets.list_sql import AssetSearch, ListedAsset, PageHead, list_order, listed_ids, page_query
from fieldgate.cache import BoundedCache
from fieldgate.db import Database, PreparedQuery, paginate
from fieldgate.identity import Caller
from fieldgate.pagination import PageRequest

MAX_CACHE_BYTES = 8 * 1024 * 1024  # ids of all lists, per process
MAX_CACHED_IDS = 100_000  # of one list; of a longer one, only the page is read
MAX_ROWS_AT_ONCE = 100  # read from SQLite on the event loop
_ID_BYTES = 8
_ENTRY_BYTES = 600
_EXPRESSION_BYTES = 8_000  # at most

_HEAD_LENGTH = len(PageHead._fields)

Versions = tuple[int, int, int]


class ListKey(msgspec.Struct, frozen=True):
    """What the ids in a list depend on, besides the data."""

    user_id: int
    is_superuser: bool
    search: AssetSearch


class KnownList(NamedTuple):
    """The ids of a list in its order, and the data versions they were read at."""

    versions: Versions
    ids: "array[int]"


class AssetPage(msgspec.Struct, frozen=True):
    """One page of a list, with the versions of `LIST_TOPICS` and the state of the user whose list it is."""

    count: int
    rows: Sequence[ListedAsset]
    versions: tuple[int, int]
    username: str
    is_active: bool


class AssetLists:
    def __init__(self, database: Database, max_cache_bytes: int = MAX_CACHE_BYTES) -> None:
        self._database = database
        self._known = BoundedCache[ListKey, KnownList](max_cache_bytes)
        self._locks: WeakValueDictionary[ListKey, asyncio.Lock] = WeakValueDictionary()
        self._rows = PreparedQuery(database, page_query(database))

    async def load(self, caller: Caller, search: AssetSearch, page: PageRequest) -> AssetPage:
        """Return the number of assets in a caller's list, and those of a page, without their contents."""
        key = ListKey(effective_user_id(caller), caller.is_superuser, search)
        known = self._known.get(key)
        found = None if known is None else await self._load_known(key, known, page)
        if found is not None:
            return found
        lock = self._locks.setdefault(key, asyncio.Lock())
        async with lock:  # requests that wait use the list that the first of them reads
            latest = self._known.get(key)
            found = None if latest is None or latest is known else await self._load_known(key, latest, page)
            return found or await self._load_new(key, caller, page)

    async def _load_known(self, key: ListKey, known: KnownList, page: PageRequest) -> AssetPage | None:
        """Load a page of a known list. None if the data changed since it was read."""
        ids = known.ids[page.offset : page.offset + page.limit].tolist()
        rows: list[ListedAsset] = []
        for start in range(0, max(1, len(ids)), MAX_ROWS_AT_ONCE):
            if start:
                await asyncio.sleep(0)  # other requests have their turn
            some = ids[start : start + MAX_ROWS_AT_ONCE]
            found = await self._rows.all(ids=some, user_id=key.user_id)
            head = PageHead._make(found[0][:_HEAD_LENGTH])
            by_id = _by_id(found)
            if _versions(head) != known.versions or not by_id.keys() >= set(some):
                return None
            rows += [by_id[id_] for id_ in some]
        return _page(len(known.ids), head, rows)

    async def _load_new(self, key: ListKey, caller: Caller, page: PageRequest) -> AssetPage:
        """Read a list and the rows of a page in one snapshot, and keep the ids."""
        query = listed_ids(caller, key.search, is_sqlite=self._database.is_sqlite)
        order = list_order(key.search)
        async with self._database.read_transaction() as connection:
            found = (await connection.execute(query.order_by(*order).limit(MAX_CACHED_IDS + 1))).scalars().all()
            if len(found) > MAX_CACHED_IDS:
                count, some = await paginate(connection, query, page, order_by=order)
                head, rows = await self._read_rows(connection, key, [row.id for row in some])
                return _page(count, head, rows)
            ids = array("q", found)
            head, rows = await self._read_rows(connection, key, ids[page.offset : page.offset + page.limit].tolist())
        size = _ENTRY_BYTES + _ID_BYTES * len(ids) + (0 if key.search.expression is None else _EXPRESSION_BYTES)
        self._known.put(key, KnownList(_versions(head), ids), size)
        return _page(len(ids), head, rows)

    async def _read_rows(
        self, connection: AsyncConnection, key: ListKey, ids: list[int]
    ) -> tuple[PageHead, list[ListedAsset]]:
        found = await connection.run_sync(self._rows.execute, ids=ids, user_id=key.user_id)
        by_id = _by_id(found)
        return PageHead._make(found[0][:_HEAD_LENGTH]), [by_id[id_] for id_ in ids]


def _by_id(found: Sequence[Sequence[Any]]) -> dict[int, ListedAsset]:
    return {row[_HEAD_LENGTH]: ListedAsset._make(row[_HEAD_LENGTH:]) for row in found}


def _versions(head: PageHead) -> Versions:
    return head.assets_version or 0, head.accounts_version or 0, head.identity or 0


def _page(count: int, head: PageHead, rows: Sequence[ListedAsset]) -> AssetPage:
    return AssetPage(count, rows, _versions(head)[:2], head.username, head.disabled_at is None)
