"""Reads of events, for the index, pages and details; `event_writer.py` has the writes.

What is read beside the index must have its version: `StaleIndex` if events were written since. A read that is given a
snapshot of the database needs no such check, if the index was brought up to date from the same snapshot.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from datetime import datetime
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import ColumnElement, and_, bindparam, func, or_, select

from fieldgate.db import (
    AsyncDatabase,
    DataVersions,
    PreparedQuery,
    RowPage,
    Snapshot,
    in_bound_list,
    paginate,
    snapshot,
)
from fieldgate.db.tables import topic_versions
from fieldgate.events.event_writer import BulkWriteResult, EventWriter
from fieldgate.events.model import Event, Visibility, unpack
from fieldgate.events.search.index import Index, IndexBuilder, IndexRow
from fieldgate.events.tables import (
    TOPIC,
    WHOLE_TOPIC,
    deleted,
    documents,
    events,
    index_rows,
    sources,
    words,
)
from fieldgate.events.visibility import ViewerScope
from fieldgate.pagination import PageRequest

MAX_CHANGES_AT_ONCE = 50_000  # more are applied to the index in several steps, to save memory


class StaleIndex(Exception):
    """Events were written after the index was built."""


class IndexVersion(NamedTuple):
    """The state an index was built from."""

    version: int
    whole_version: int  # changes when the index cannot be updated row by row


class IndexUpdate(msgspec.Struct, frozen=True):
    """A later state of an index."""

    version: IndexVersion
    index: Index
    changed_ids: set[int]


class StoredEvent(NamedTuple):
    """An event, and the data version that wrote it."""

    event: Event
    version: int


_EVENTS_VERSION = select(topic_versions.c.version).where(topic_versions.c.topic == TOPIC)
_SELECT_INDEX_ROWS = select(*(index_rows.c[name] for name in IndexRow._fields))


class EventStore:
    def __init__(self, database: AsyncDatabase, data_versions: DataVersions) -> None:
        self._database = database
        self._data_versions = data_versions
        stored = select(events.c.packed, events.c.version)
        self._by_id = PreparedQuery(database, stored.where(events.c.id == bindparam("id")))
        self._by_slug = PreparedQuery(database, stored.where(events.c.slug == bindparam("slug")))
        # With the version in one statement, so that both are of one state.
        rows = select(documents.c.id, documents.c.document, _EVENTS_VERSION.scalar_subquery())
        self._documents = PreparedQuery(
            database, rows.where(in_bound_list(database, documents.c.id, "ids"))
        )

    # Writing

    @asynccontextmanager
    async def writer(self) -> AsyncIterator["EventWriter"]:
        """Any number of writes in one transaction."""
        async with self._database.transaction() as connection:
            # One writer at a time, so that versions are committed in order.
            await connection.execute(
                select(topic_versions.c.version)
                .where(topic_versions.c.topic == TOPIC)
                .with_for_update()
            )
            yield EventWriter(connection, self._data_versions)

    async def upsert(self, new: Sequence[Event], *, is_demo: bool | None = None) -> BulkWriteResult:
        """Create or replace events. Unchanged ones are not written."""
        async with self.writer() as writing:
            return await writing.upsert(new, is_demo=is_demo)

    async def delete_demo(self) -> int:
        """Delete the demo events, without recording the deletions."""
        async with self._database.transaction() as connection:
            is_demo = select(events.c.id).where(events.c.is_demo)
            count: int = (
                await connection.execute(select(func.count()).select_from(is_demo.subquery()))
            ).scalar_one()
            if count:
                await self._data_versions.bump(connection, TOPIC, WHOLE_TOPIC)
                for table in (index_rows, documents, words, deleted, sources):
                    await connection.execute(table.delete().where(table.c.id.in_(is_demo)))
                await connection.execute(events.delete().where(events.c.is_demo))
            return count

    async def has_demo(self) -> bool:
        return (
            await self._database.first(select(events.c.id).where(events.c.is_demo).limit(1))
            is not None
        )

    async def has_real(self) -> bool:
        return (
            await self._database.first(select(events.c.id).where(~events.c.is_demo).limit(1))
            is not None
        )

    # Reads that belong to an index

    def open_snapshot(self) -> AbstractAsyncContextManager[Snapshot]:
        """One state of the database, for several of the following reads."""
        return snapshot(self._database)

    def _opened(self, state: Snapshot | None) -> AbstractAsyncContextManager[Snapshot]:
        return self.open_snapshot() if state is None else nullcontext(state)

    async def load_index(self, state: Snapshot | None = None) -> tuple[IndexVersion, Index]:
        """Build the index of all events in lists."""
        builder = IndexBuilder()
        async with self._opened(state) as state:
            version = await _index_version(state)
            async for some in state.batches(
                _SELECT_INDEX_ROWS.where(index_rows.c.parent_event.is_(None))
            ):
                await asyncio.to_thread(builder.add, some)
        return version, await asyncio.to_thread(builder.build)

    async def update_index(
        self, index: Index, since: IndexVersion, state: Snapshot | None = None
    ) -> IndexUpdate | None:
        """Apply all changes since a version to its index. None if the index must be loaded again."""
        async with self._opened(state) as state:
            version = await _index_version(state)
            if version.whole_version != since.whole_version or version.version < since.version:
                return None
            is_gone = deleted.c.version > since.version, deleted.c.kept_visibility.is_(None)
            gone = [row[0] for row in await state.rows(select(deleted.c.id).where(*is_gone))]
            changed_ids, rows = set(gone), list[IndexRow]()
            changed = _SELECT_INDEX_ROWS.add_columns(index_rows.c.parent_event)
            async for some in state.batches(changed.where(index_rows.c.version > since.version)):
                changed_ids.update(row[0] for row in some)
                rows += [IndexRow(*row[:-1]) for row in some if row[-1] is None]
                gone += [row[0] for row in some if row[-1] is not None]
                if len(rows) >= MAX_CHANGES_AT_ONCE:
                    index, rows, gone = (
                        await asyncio.to_thread(index.with_changes, rows, gone),
                        [],
                        [],
                    )
        if rows or gone:
            index = await asyncio.to_thread(index.with_changes, rows, gone)
        return IndexUpdate(version, index, changed_ids)

    async def documents(
        self, ids: Sequence[int], version: int, state: Snapshot | None = None
    ) -> list[bytes]:
        """The documents of events, in the order of the ids."""
        if state is None:
            rows: Sequence[Sequence[Any]] = await self._documents.all(ids=ids)
            if len(rows) < len(ids) or (rows and rows[0][2] != version):
                raise StaleIndex
        else:
            rows = await state.rows(
                select(documents.c.id, documents.c.document).where(documents.c.id.in_(ids))
            )
        found = {row[0]: row[1] for row in rows}
        return [found[id_] for id_ in ids]

    async def ids_by_words(
        self, condition: ColumnElement[bool], version: int, state: Snapshot | None = None
    ) -> list[int]:
        """The ids of the events that match a condition on the table of words."""
        query = select(words.c.id).where(condition)
        if state is not None:
            return [row[0] for row in await state.rows(query)]
        async with self._database.read_transaction() as connection:
            if ((await connection.execute(_EVENTS_VERSION)).scalar() or 0) != version:
                raise StaleIndex
            return list((await connection.execute(query)).scalars())

    async def stream_packed(
        self, version: int, state: Snapshot | None = None
    ) -> AsyncIterator[Sequence[tuple[int, bytes]]]:
        """All packed events in batches, for orderings by fields that are not in the index."""
        async with self._opened(state) as state:
            if (await _index_version(state)).version != version:
                raise StaleIndex
            async for some in state.batches(select(events.c.id, events.c.packed)):
                yield [(row[0], row[1]) for row in some]

    # One event

    async def find(self, key: int | str) -> StoredEvent | None:
        """The event with this id or slug."""
        if isinstance(key, str):
            row = await self._by_slug.first(slug=key)
        else:
            row = await self._by_id.first(id=key) if key < 2**63 else None
        return None if row is None else StoredEvent(unpack(row[0]), row[1])

    async def list_deleted(
        self, since: datetime | None, scope: ViewerScope, page: PageRequest
    ) -> RowPage:
        """Events a caller could see in lists and no longer can, oldest deletion first."""
        is_kept = and_(deleted.c.kept_visibility.is_not(None), _visible_condition(scope, "kept_"))
        query = select(deleted.c.id, deleted.c.deleted_at).where(
            _visible_condition(scope), ~is_kept
        )
        if since is not None:
            query = query.where(deleted.c.deleted_at >= since)
        return await paginate(
            self._database, query, page, order_by=[deleted.c.deleted_at, deleted.c.id]
        )


def _visible_condition(scope: ViewerScope, prefix: str = "") -> ColumnElement[bool]:
    """Whether a caller could see a deleted event, or still sees it with `kept_` as the prefix."""
    visibility, countries = deleted.c[prefix + "visibility"], deleted.c[prefix + "countries"]
    seen: ColumnElement[bool] = visibility.in_(sorted(scope.levels))
    for country in scope.countries:
        seen = or_(
            seen, and_(visibility == Visibility.SOCIETIES, countries.contains(f",{country},"))
        )
    return seen


async def _index_version(state: Snapshot) -> IndexVersion:
    found = dict(
        tuple(row)
        for row in await state.rows(select(topic_versions.c.topic, topic_versions.c.version))
    )
    return IndexVersion(found.get(TOPIC, 0), found.get(WHOLE_TOPIC, 0))
