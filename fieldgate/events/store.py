"""Reads of events, for the index, pages and details; `event_writer.py` has the writes."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ColumnElement, Table, and_, bindparam, func, or_, select

from fieldgate.db import Database, DataVersions, PreparedQuery, RowPage, Snapshot, paginate, snapshot
from fieldgate.db.read_replica import ReadReplica, ReplicaRouter
from fieldgate.db.tables import topic_versions
from fieldgate.events.event_writer import TOPIC, EventWriter, EventWriteResult
from fieldgate.events.model import Event, Visibility, unpack
from fieldgate.events.search.index import Index
from fieldgate.events.tables import deleted, documents, events, history, sources, words
from fieldgate.events.versioned_reads import (
    REBUILD_TOPIC,
    IndexChanges,
    IndexVersion,
    SnapshotExpired,
    VersionedReads,
)
from fieldgate.events.visibility import ViewerScope
from fieldgate.pagination import PageRequest


class StoredEvent(NamedTuple):
    """An event, and the data version that wrote it."""

    event: Event
    version: int


class EventStore:
    def __init__(self, database: Database, data_versions: DataVersions, replica: ReadReplica | None = None) -> None:
        self._database = database
        self._data_versions = data_versions
        replica_reads = None if replica is None else VersionedReads(replica.database, is_replica=True)
        self._reads = ReplicaRouter(VersionedReads(database), replica, replica_reads)
        stored = select(events.c.packed, events.c.version)
        self._by_id = PreparedQuery(database, stored.where(events.c.id == bindparam("id")))
        self._by_slug = PreparedQuery(database, stored.where(events.c.slug == bindparam("slug")))

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

    # Large reads, which a replica answers if it has the version. With a state they are reads of the primary.

    def open_state(self) -> AbstractAsyncContextManager[Snapshot]:
        """One state of the primary, for several of the following reads."""
        return snapshot(self._database)

    async def load_index(self, at_least: int = 0, state: Snapshot | None = None) -> tuple[IndexVersion, Index]:
        """Build the index of all events in lists, of this data version or a later one."""
        if state is not None:
            return await self._reads.primary.load_index(at_least, state)
        return await self._reads.read(lambda reads: reads.load_index(at_least))

    async def load_changes(
        self, since: IndexVersion, at_least: int = 0, state: Snapshot | None = None
    ) -> IndexChanges | None:
        """The new state, changed rows, and ids no longer in lists. None if the index must be rebuilt."""
        if state is not None:
            return await self._reads.primary.load_changes(since, at_least, state)
        return await self._reads.read(lambda reads: reads.load_changes(since, at_least))

    async def documents(self, ids: Sequence[int], version: int) -> list[bytes]:
        """The list templates of events, in the order of the ids, as in the reader's index."""
        if self._reads.replica_reads is None:
            return await self._reads.primary.documents(ids, version)
        return await self._reads.read(lambda reads: reads.documents(ids, version))

    async def ids_by_name(self, word: str, version: int) -> list[int]:
        """The ids of events whose name contains a folded word, in any language."""
        return await self._matching_ids(lambda table: table.c.names.contains(word, autoescape=True), version)

    async def ids_by_glide(self, glide: str, version: int) -> list[int]:
        return await self._matching_ids(lambda table: table.c.glide == glide, version)

    async def ids_by_appeal_code(self, code: str, version: int) -> list[int]:
        pattern = f",{code.upper()},"
        return await self._matching_ids(lambda table: table.c.appeal_codes.contains(pattern, autoescape=True), version)

    async def _matching_ids(self, condition: Callable[[Table], ColumnElement[bool]], version: int) -> list[int]:
        return await self._reads.read(lambda reads: reads.matching_ids(condition, version))

    async def stream_packed(
        self, version: int, state: Snapshot | None = None
    ) -> AsyncIterator[Sequence[tuple[int, bytes]]]:
        """All packed events in batches. `SnapshotExpired` if the reader lags behind, or the replica fails midway."""
        if state is None and (replica_reads := self._reads.replica_reads) is not None:
            has_begun = False
            try:
                async for some in replica_reads.stream_packed(version):
                    has_begun = True
                    yield some
                return
            except Exception as error:
                self._reads.report(error)
                if has_begun:
                    raise SnapshotExpired from error
        async for some in self._reads.primary.stream_packed(version, state):
            yield some

    # One event

    async def find(self, key: int | str) -> StoredEvent | None:
        """The event with this id or slug."""
        if isinstance(key, str):
            row = await self._by_slug.first(slug=key)
        else:
            row = await self._by_id.first(id=key) if key < 2**63 else None
        return None if row is None else StoredEvent(unpack(row[0]), row[1])

    async def by_id(self, id_: int) -> Event | None:
        found = await self.find(id_)
        return None if found is None else found.event

    async def list_deleted(self, since: datetime | None, scope: ViewerScope, page: PageRequest) -> RowPage:
        """Events a caller could see in lists and no longer can, oldest deletion first."""
        is_kept = and_(deleted.c.kept_visibility.is_not(None), _visible_condition(scope, "kept_"))
        query = select(deleted.c.id, deleted.c.deleted_at).where(_visible_condition(scope), ~is_kept)
        if since is not None:
            query = query.where(deleted.c.deleted_at >= since)
        async with self._database.read_transaction() as connection:
            return await paginate(connection, query, page, order_by=[deleted.c.deleted_at, deleted.c.id])


def _visible_condition(scope: ViewerScope, prefix: str = "") -> ColumnElement[bool]:
    """Whether a caller could see a deleted event, or still sees it with `kept_` as the prefix."""
    visibility, countries = deleted.c[prefix + "visibility"], deleted.c[prefix + "countries"]
    seen: ColumnElement[bool] = visibility.in_(sorted(scope.levels))
    for country in scope.countries:
        seen = or_(seen, and_(visibility == Visibility.SOCIETIES, countries.contains(f",{country},")))
    return seen
