"""Lists of the assets that a caller can view.

    page = await lists.load(caller, AssetSearch(asset_type="survey"), PageRequest(50, 100))
    page.count, page.rows

The ids of a list are kept in memory, with the data versions they were read at. The statement that reads the rows of a
page also reads the versions, in the same snapshot. If they changed, so may have the list, and it is read again.
"""

import asyncio
from array import array
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.assets.authorization import effective_user_id
from fieldgate.assets.list_sql import (
    AssetSearch,
    ListedAsset,
    PageHead,
    ids_in_order,
    list_order,
    listed_ids,
    page_query,
)
from fieldgate.cache import BoundedCache
from fieldgate.db import Database, PreparedQuery, paginate
from fieldgate.identity import Caller
from fieldgate.pagination import PageRequest

MAX_CACHE_BYTES = 8 * 1024 * 1024  # ids of all lists, per process
MAX_CACHED_IDS = 100_000  # of one list; ids of a longer one are not kept
MAX_ROWS_AT_ONCE = 100  # read from SQLite on the event loop
_ID_BYTES = 8
_ENTRY_BYTES = 600
_EXPRESSION_BYTES = 8_000  # at most

_HEAD_LENGTH = len(PageHead._fields)

_ids_decoder = msgspec.json.Decoder(list[int])

Versions = tuple[int, int, int]
_NO_VERSIONS: Versions = (0, 0, 0)


class ListKey(msgspec.Struct, frozen=True):
    """What the ids in a list depend on, besides the data."""

    user_id: int
    is_superuser: bool
    search: AssetSearch


class KnownList(NamedTuple):
    """The ids of a list in its order, and the data versions they were read at."""

    versions: Versions
    ids: "array[int]"
    is_long: bool = False  # it had more ids than are kept


class AssetPage(msgspec.Struct, frozen=True):
    """One page of a list, with the versions of `LIST_TOPICS` and the state of the user whose list it is."""

    count: int
    rows: Sequence[ListedAsset]
    versions: tuple[int, int]
    username: str  # empty if the user was deleted during the request
    is_active: bool


class AssetLists:
    def __init__(self, database: Database, max_cache_bytes: int = MAX_CACHE_BYTES) -> None:
        self._database = database
        self._known = BoundedCache[ListKey, KnownList](max_cache_bytes)
        self._locks: WeakValueDictionary[ListKey, asyncio.Lock] = WeakValueDictionary()

    @cached_property
    def _rows(self) -> PreparedQuery:
        return PreparedQuery(self._database, page_query(self._database))

    async def load(self, caller: Caller, search: AssetSearch, page: PageRequest) -> AssetPage:
        """Return the number of assets in a caller's list, and those of a page, without their contents."""
        key = ListKey(effective_user_id(caller), caller.is_superuser, search)
        known = self._known.get(key)
        if known is not None and known.is_long:
            async with self._database.read_transaction() as connection:
                return await self._load_long(connection, key, caller, page)
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
        query = ids_in_order(self._database, caller, key.search, MAX_CACHED_IDS + 1)
        async with self._database.read_transaction() as connection:
            await _limit_statement_cache(connection, key.search)
            stored = (await connection.execute(query)).scalar_one()
            ids = array("q", [] if stored is None else _ids_decoder.decode(stored))
            if len(ids) > MAX_CACHED_IDS:
                self._keep(key, KnownList(_NO_VERSIONS, array("q"), is_long=True))
                return await self._load_long(connection, key, caller, page)
            head, rows = await self._read_rows(connection, key, ids[page.offset : page.offset + page.limit].tolist())
        self._keep(key, KnownList(_versions(head), ids))
        self._database.enlarge_reader_cache()  # a quarter less time for pages that are far apart
        return _page(len(ids), head, rows)

    async def _load_long(
        self, connection: AsyncConnection, key: ListKey, caller: Caller, page: PageRequest
    ) -> AssetPage:
        """Count a list and read the ids of a page only."""
        await _limit_statement_cache(connection, key.search)
        query = listed_ids(caller, key.search, is_sqlite=self._database.is_sqlite)
        count, found = await paginate(connection, query, page, order_by=list_order(key.search))
        if count <= MAX_CACHED_IDS:
            self._known.discard(key)
        head, rows = await self._read_rows(connection, key, [row.id for row in found])
        return _page(count, head, rows)

    def _keep(self, key: ListKey, known: KnownList) -> None:
        expression_size = 0 if key.search.expression is None else _EXPRESSION_BYTES
        self._known.put(key, known, _ENTRY_BYTES + _ID_BYTES * len(known.ids) + expression_size)

    async def _read_rows(
        self, connection: AsyncConnection, key: ListKey, ids: list[int]
    ) -> tuple[PageHead, list[ListedAsset]]:
        found = await connection.run_sync(self._rows.execute, ids=ids, user_id=key.user_id)
        by_id = _by_id(found)
        return PageHead._make(found[0][:_HEAD_LENGTH]), [by_id[id_] for id_ in ids]


async def _limit_statement_cache(connection: AsyncConnection, search: AssetSearch) -> None:
    """Keep searches with expressions out of SQLAlchemy's cache: each form of one is a new statement of up to 400 KB."""
    if search.expression is not None:
        await connection.execution_options(compiled_cache=None)


def _by_id(found: Sequence[Sequence[Any]]) -> dict[int, ListedAsset]:
    return {row[_HEAD_LENGTH]: ListedAsset._make(row[_HEAD_LENGTH:]) for row in found}


def _versions(head: PageHead) -> Versions:
    return head.assets_version or 0, head.accounts_version or 0, head.identity or 0


def _page(count: int, head: PageHead, rows: Sequence[ListedAsset]) -> AssetPage:
    return AssetPage(count, rows, _versions(head)[:2], head.username or "", head.disabled_at is None)
