"""Large reads of events, all of a known data version: the index, the documents of pages, search texts, packed events.

They can be answered by a replica, which must have that version: `StaleReplica` if it has not.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Table, bindparam, exists, select, union_all

from fieldgate.db import Database, PreparedQuery, Snapshot, in_bound_list, snapshot
from fieldgate.db.read_replica import StaleReplica
from fieldgate.db.tables import rebuilds, topic_versions
from fieldgate.events.derived import EVENT_FORMAT
from fieldgate.events.event_writer import FORMAT_NAME, TOPIC
from fieldgate.events.model import unpack
from fieldgate.events.search.index import Index, IndexBuilder, IndexRow
from fieldgate.events.stored_documents import build_document
from fieldgate.events.tables import deleted, documents, events, history, words

REBUILD_TOPIC = "events, as a whole"  # bumped when rows changed without a new version of their own
MAX_INCREMENTAL_CHANGES = 20_000  # with more changes the index is rebuilt

IndexChanges = tuple["IndexVersion", list[IndexRow], list[int]]


class IndexVersion(NamedTuple):
    """The state an index was built from."""

    version: int
    rebuild_version: int  # changes when the index cannot be updated row by row
    format: int  # every event has at least this `EVENT_FORMAT`


class SnapshotExpired(Exception):
    """The reader lags so far behind that the state it reads is no longer stored."""


class VersionedReads:
    """Reads of one server. Those of a replica check the version that it has."""

    def __init__(self, database: Database, *, is_replica: bool = False) -> None:
        self._database = database
        self._is_replica = is_replica
        current = select(documents.c.id, documents.c.version, documents.c.document).where(
            in_bound_list(database, documents.c.id, "ids"), documents.c.format == EVENT_FORMAT
        )
        self._documents = PreparedQuery(
            database, current.add_columns(_EVENTS_VERSION.scalar_subquery()) if is_replica else current
        )
        self._documents_or_packed = PreparedQuery(
            database,
            select(documents.c.id, documents.c.version, documents.c.format, documents.c.document, events.c.packed)
            .join_from(documents, events, events.c.id == documents.c.id)
            .where(in_bound_list(database, documents.c.id, "ids")),
        )
        is_before = history.c.id == bindparam("id"), history.c.until > bindparam("version")
        self._previous_document = PreparedQuery(
            database, select(history.c.format, history.c.document).where(*is_before).order_by(history.c.until).limit(1)
        )

    def _open(self, state: Snapshot | None) -> AbstractAsyncContextManager[Snapshot]:
        """The given state of the database, or the current one."""
        return snapshot(self._database) if state is None else nullcontext(state)

    # For the index

    async def load_index(self, at_least: int, state: Snapshot | None = None) -> tuple[IndexVersion, Index]:
        """Build the index of all events in lists."""
        builder = IndexBuilder()
        async with self._open(state) as state:
            standing = await self._load_index_version(state, at_least)
            async for some in state.batches(_SELECT_INDEX_ROWS.where(events.c.parent_event.is_(None))):
                await asyncio.to_thread(builder.add, some)
        return standing, await asyncio.to_thread(builder.build)

    async def load_changes(
        self, since: IndexVersion, at_least: int, state: Snapshot | None = None
    ) -> IndexChanges | None:
        """The new state, changed rows, and ids no longer in lists. None if the index must be rebuilt."""
        async with self._open(state) as state:
            standing = await self._load_index_version(state, at_least)
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

    async def _load_index_version(self, state: Snapshot, at_least: int) -> IndexVersion:
        rows = await state.rows(select(topic_versions.c.topic, topic_versions.c.version))
        found = {row[0]: row[1] for row in rows}
        self._check_version(found.get(TOPIC, 0), at_least)
        formats = await state.rows(select(rebuilds.c.format).where(rebuilds.c.name == FORMAT_NAME))
        return IndexVersion(found.get(TOPIC, 0), found.get(REBUILD_TOPIC, 0), formats[0][0] if formats else 0)

    def _check_version(self, found: int, needed: int) -> None:
        if self._is_replica and found < needed:
            raise StaleReplica(TOPIC, needed)

    # For pages: all of these read the version of the reader's index.

    async def documents(self, ids: Sequence[int], version: int) -> list[bytes]:
        """The list templates of events, in the order of the ids."""
        rows = await self._documents.all(ids=ids)
        found = {row[0]: row[2] for row in rows if row[1] <= version}
        if self._is_replica:
            self._check_version(min((row[3] for row in rows), default=0), version)
            if len(found) < len(ids):  # edited since, or in another format: the primary knows the rest
                raise SnapshotExpired
        elif len(found) < len(ids):
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

    async def matching_ids(self, condition: Callable[[Table], ColumnElement[bool]], version: int) -> list[int]:
        """The ids of events whose search texts, in the table `words` or in the history, meet a condition."""
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
            if self._is_replica:
                self._check_version((await connection.execute(_EVENTS_VERSION)).scalar() or 0, version)
            return list((await connection.execute(query)).scalars())

    async def stream_packed(
        self, version: int, state: Snapshot | None = None
    ) -> AsyncIterator[Sequence[tuple[int, bytes]]]:
        """All packed events in batches, for orderings by fields that are not in the index.

        Earlier versions are not stored: a reader that lags behind gets `SnapshotExpired`.
        """
        async with self._open(state) as state:
            if (await self._load_index_version(state, version)).version != version:
                raise SnapshotExpired
            async for some in state.batches(select(events.c.id, events.c.packed)):
                yield [(row[0], row[1]) for row in some]


_EVENTS_VERSION = select(topic_versions.c.version).where(topic_versions.c.topic == TOPIC)
_SELECT_INDEX_ROWS = select(events.c.id, events.c.start, events.c.created, events.c.updated, events.c.facets)


def _current_documents(rows: Iterable[Sequence[Any]]) -> dict[int, bytes]:
    """The documents of rows (id, version, format, document, packed), built again where the format is another one."""
    return {
        id_: document if format_ == EVENT_FORMAT else build_document(unpack(packed))
        for id_, _, format_, document, packed in rows
    }
