"""Reads of events, for the index, pages and details; `event_writer.py` has the writes."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Table, and_, bindparam, exists, func, or_, select, union_all

from fieldgate.db import (
    Database,
    DataVersions,
    PreparedQuery,
    RowPage,
    Snapshot,
    in_bound_list,
    paginate,
    snapshot,
)
from fieldgate.db.tables import rebuilds, topic_versions
from fieldgate.events.derived import EVENT_FORMAT
from fieldgate.events.document_templates import build_list_template
from fieldgate.events.event_writer import TOPIC, EventWriter, EventWriteResult
from fieldgate.events.model import Event, Visibility, unpack
from fieldgate.events.search.index import Index, IndexBuilder, IndexRow
from fieldgate.events.tables import deleted, documents, events, history, sources, words
from fieldgate.events.visibility import ViewerScope
from fieldgate.pagination import PageRequest

REBUILD_TOPIC = "events, as a whole"  # bumped when rows changed without a new version of their own
FORMAT_NAME = "events"  # of the stored format in `rebuilds`
MAX_INCREMENTAL_CHANGES = 20_000  # with more changes the index is rebuilt


class IndexVersion(NamedTuple):
    """The state an index was built from."""

    version: int
    rebuild_version: int  # changes when the index cannot be updated row by row
    format: int  # every event has at least this `EVENT_FORMAT`


class SnapshotExpired(Exception):
    """The reader lags so far behind that the state it reads is no longer stored."""


class EventStore:
    def __init__(self, database: Database, data_versions: DataVersions) -> None:
        self._database = database
        self._data_versions = data_versions
        is_before = history.c.id == bindparam("id"), history.c.until > bindparam("version")
        self._documents = PreparedQuery(
            database,
            select(documents.c.id, documents.c.version, documents.c.document).where(
                in_bound_list(database, documents.c.id, "ids"), documents.c.format == EVENT_FORMAT
            ),
        )
        self._documents_or_packed = PreparedQuery(
            database,
            select(documents.c.id, documents.c.version, documents.c.format, documents.c.document, events.c.packed)
            .join_from(documents, events, events.c.id == documents.c.id)
            .where(in_bound_list(database, documents.c.id, "ids")),
        )
        self._previous_document = PreparedQuery(
            database, select(history.c.format, history.c.document).where(*is_before).order_by(history.c.until).limit(1)
        )
        self._by_id = PreparedQuery(database, select(events.c.packed).where(events.c.id == bindparam("id")))
        self._by_slug = PreparedQuery(database, select(events.c.packed).where(events.c.slug == bindparam("slug")))

    # Writing

    @asynccontextmanager
    async def writer(self) -> AsyncIterator["EventWriter"]:
        """Any number of writes in one transaction."""
        async with self._database.transaction() as connection:
            # One writer at a time, so that versions are committed in order.
            await connection.execute(
                select(topic_versions.c.version).where(topic_versions.c.topic == TOPIC).with_for_update()
            )
            yield EventWriter(connection, self._data_versions)

    async def upsert(self, new: Sequence[Event], *, is_demo: bool | None = None) -> EventWriteResult:
        """Create or replace events. Unchanged ones are not written."""
        async with self.writer() as writing:
            return await writing.upsert(new, is_demo=is_demo)

    async def delete(self, ids: Sequence[int]) -> int:
        """Delete events and record the deletions. Returns how many there were."""
        async with self.writer() as writing:
            return await writing.delete(ids)

    async def delete_demo(self) -> int:
        """Delete the demo events, without recording the deletions."""
        async with self._database.transaction() as connection:
            is_demo = select(events.c.id).where(events.c.is_demo)
            count: int = (await connection.execute(select(func.count()).select_from(is_demo.subquery()))).scalar_one()
            if count:
                await self._data_versions.bump(connection, TOPIC, REBUILD_TOPIC)
                for table in (documents, words, history, deleted, sources):
                    await connection.execute(table.delete().where(table.c.id.in_(is_demo)))
                await connection.execute(events.delete().where(events.c.is_demo))
            return count

    async def has_demo(self) -> bool:
        return await self._exists(events.c.is_demo)

    async def has_real(self) -> bool:
        return await self._exists(~events.c.is_demo)

    async def _exists(self, condition: ColumnElement[bool]) -> bool:
        async with self._database.read_transaction() as connection:
            found = await connection.execute(select(events.c.id).where(condition).limit(1))
            return found.first() is not None

    # For the index

    def open_state(self) -> AbstractAsyncContextManager[Snapshot]:
        """One state of the database, for several of the following reads."""
        return snapshot(self._database)

    async def load_index(self, state: Snapshot) -> tuple[IndexVersion, Index]:
        """Build the index of all events in lists."""
        builder = IndexBuilder()
        standing = await _load_index_version(state)
        async for some in state.batches(_SELECT_INDEX_ROWS.where(events.c.parent_event.is_(None))):
            await asyncio.to_thread(builder.add, some)
        return standing, await asyncio.to_thread(builder.build)

    async def load_changes(
        self, state: Snapshot, since: IndexVersion
    ) -> tuple[IndexVersion, list[IndexRow], list[int]] | None:
        """The new state, changed rows, and ids no longer in lists. None if the index must be rebuilt."""
        standing = await _load_index_version(state)
        if standing.rebuild_version != since.rebuild_version:
            return None
        is_since = events.c.version > since.version
        changed = await state.rows(
            _SELECT_INDEX_ROWS.add_columns(events.c.parent_event).where(is_since).limit(MAX_INCREMENTAL_CHANGES)
        )
        is_gone = deleted.c.version > since.version, deleted.c.kept_visibility.is_(None)
        gone = await state.rows(select(deleted.c.id).where(*is_gone).limit(MAX_INCREMENTAL_CHANGES))
        if len(changed) == MAX_INCREMENTAL_CHANGES or len(gone) == MAX_INCREMENTAL_CHANGES:
            return None
        rows = [IndexRow(*row[:5]) for row in changed if row[5] is None]
        return standing, rows, [row[0] for row in (*gone, *(row for row in changed if row[5] is not None))]

    # For pages: all of these read the version of the reader's index.

    async def documents(self, ids: Sequence[int], version: int) -> list[bytes]:
        """The list templates of events, in the order of the ids."""
        found = {row[0]: row[2] for row in await self._documents.all(ids=ids) if row[1] <= version}
        if len(found) < len(ids):
            await self._add_missing_documents(found, [id_ for id_ in ids if id_ not in found], version)
        return [found[id_] for id_ in ids]

    async def _add_missing_documents(self, found: dict[int, bytes], ids: Sequence[int], version: int) -> None:
        """Documents in another format, built from the packed event; then those of events that were edited since."""
        rows = [row for row in await self._documents_or_packed.all(ids=ids) if row[1] <= version]
        found.update(await asyncio.to_thread(_current_documents, rows))
        for id_ in ids:
            if id_ not in found:
                row = await self._previous_document.first(id=id_, version=version)
                # An earlier release archived it, while this one was running already.
                if row is None or row[0] != EVENT_FORMAT:
                    raise SnapshotExpired
                found[id_] = row[1]

    async def ids_by_name(self, word: str, version: int) -> list[int]:
        """The ids of events whose name contains a folded word, in any language."""
        return await self._matching_ids(lambda table: table.c.names.contains(word, autoescape=True), version)

    async def ids_by_glide(self, glide: str, version: int) -> list[int]:
        return await self._matching_ids(lambda table: table.c.glide == glide, version)

    async def ids_by_appeal_code(self, code: str, version: int) -> list[int]:
        pattern = f",{code.upper()},"
        return await self._matching_ids(lambda table: table.c.appeal_codes.contains(pattern, autoescape=True), version)

    async def _matching_ids(self, condition: Callable[[Table], ColumnElement[bool]], version: int) -> list[int]:
        earlier = history.alias()
        is_state = (
            history.c.until > version,
            ~exists().where(earlier.c.id == history.c.id, earlier.c.until > version, earlier.c.until < history.c.until),
        )
        query = union_all(
            select(words.c.id).where(words.c.version <= version, condition(words)),
            select(history.c.id).where(*is_state, condition(history)),
        )
        async with self._database.read_transaction() as connection:
            return list((await connection.execute(query)).scalars())

    async def stream_packed(self, state: Snapshot, version: int) -> AsyncIterator[Sequence[tuple[int, bytes]]]:
        """All packed events in batches, for orderings by fields that are not in the index.

        Earlier versions are not stored: a reader that lags behind gets `SnapshotExpired`.
        """
        if (await _load_index_version(state)).version != version:
            raise SnapshotExpired
        async for some in state.batches(select(events.c.id, events.c.packed)):
            yield [(row[0], row[1]) for row in some]

    # One event

    async def by_id(self, id_: int) -> Event | None:
        row = await self._by_id.first(id=id_) if id_ < 2**63 else None
        return None if row is None else unpack(row[0])

    async def by_slug(self, slug: str) -> Event | None:
        row = await self._by_slug.first(slug=slug)
        return None if row is None else unpack(row[0])

    async def list_deleted(self, since: datetime | None, scope: ViewerScope, page: PageRequest) -> RowPage:
        """Events a caller could see in lists and no longer can, oldest deletion first."""
        is_kept = and_(deleted.c.kept_visibility.is_not(None), _visible_condition(scope, "kept_"))
        query = select(deleted.c.id, deleted.c.deleted_at).where(_visible_condition(scope), ~is_kept)
        if since is not None:
            query = query.where(deleted.c.deleted_at >= since)
        async with self._database.read_transaction() as connection:
            return await paginate(connection, query, page, order_by=[deleted.c.deleted_at, deleted.c.id])


_SELECT_INDEX_ROWS = select(events.c.id, events.c.start, events.c.created, events.c.updated, events.c.facets)


def _current_documents(rows: Iterable[Sequence[Any]]) -> dict[int, bytes]:
    """The documents of rows (id, version, format, document, packed), built anew where the format is another one."""
    return {
        id_: document if format_ == EVENT_FORMAT else build_list_template(unpack(packed))
        for id_, _, format_, document, packed in rows
    }


def _visible_condition(scope: ViewerScope, prefix: str = "") -> ColumnElement[bool]:
    """Whether a caller could see a deleted event, or still sees it with `kept_` as the prefix."""
    visibility, countries = deleted.c[prefix + "visibility"], deleted.c[prefix + "countries"]
    seen: ColumnElement[bool] = visibility.in_(sorted(scope.levels))
    for country in scope.countries:
        seen = or_(seen, and_(visibility == Visibility.SOCIETIES, countries.contains(f",{country},")))
    return seen


async def _load_index_version(state: Snapshot) -> IndexVersion:
    rows = await state.rows(select(topic_versions.c.topic, topic_versions.c.version))
    found = {row[0]: row[1] for row in rows}
    formats = await state.rows(select(rebuilds.c.format).where(rebuilds.c.name == FORMAT_NAME))
    return IndexVersion(found.get(TOPIC, 0), found.get(REBUILD_TOPIC, 0), formats[0][0] if formats else 0)
