"""Stores the index of events (`stored_index.py`).

The index is built from rows in one state of the database, never from what a process holds in memory. One process stores
it at a time, under a lease, in short transactions: the parts first, then the row that makes them an index. A process
that is killed leaves parts without an index, which the next one deletes.

A database can be replaced by a backup, or by a replica that lagged behind, while its index is built. Then the state
that was read is not in its history, and a later version would hide that. So a row marks the state: it is written while
no event can be, at the version that was read, and the index is completed only where that row is.
"""

import asyncio
import logging
import secrets
from contextlib import suppress
from datetime import timedelta
from typing import NamedTuple

from sqlalchemy import delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.db import Database, Snapshot, Timestamp, now, snapshot
from fieldgate.db.lease import Lease, LeaseExpired
from fieldgate.db.tables import topic_versions
from fieldgate.events.derived import EVENT_FORMAT
from fieldgate.events.event_writer import TOPIC
from fieldgate.events.search.index import Index
from fieldgate.events.search.index_codec import LAYOUT, encode_index
from fieldgate.events.stored_index import IndexDigest, StoredIndex, read_identity
from fieldgate.events.tables import index_parts, stored_indexes
from fieldgate.events.versioned_reads import VersionedReads

MAX_STORED_BYTES = 512 * 1024 * 1024  # a larger index is not stored: about 15 million events
STORE_LEASE_DURATION = timedelta(minutes=10)  # the time to build it, with many events on a slow disk
DELETED_PARTS = 8  # in one transaction
MARK_SECONDS = 5.0  # how long writers of events wait at most
STATE_MARK = -1  # the number of the part that marks the state; the others begin at 0

log = logging.getLogger(__name__)


class _HistoryLost(Exception):
    """The database is not the one whose state was read, or went back to an earlier state."""


class StoreResult(NamedTuple):
    """What was stored."""

    events: int
    bytes: int


class IndexStorer:
    """Builds the index from rows and stores it."""

    def __init__(
        self,
        database: Database,
        *,
        max_bytes: int = MAX_STORED_BYTES,
        lease_duration: timedelta = STORE_LEASE_DURATION,
    ) -> None:
        self._database = database
        self._max_bytes = max_bytes
        self._lease = Lease(database, "store event index", lease_duration)

    async def store(self) -> StoreResult | None:
        """Store the index. None if another process is storing it, events are being rebuilt, or it is too large."""
        if not await self._lease.acquire():
            return None
        try:
            await self._delete_unused_parts()
            return await self._build_and_write()
        except LeaseExpired:
            log.warning("the event index was not stored: another process took over")
        except _HistoryLost:
            log.warning("the event index was not stored: the database was replaced meanwhile")
        except TimeoutError:
            log.warning("the event index was not stored: the database took too long to answer")
        finally:
            with suppress(Exception):  # it expires by itself
                await self._lease.release()
        return None

    async def _build_and_write(self) -> StoreResult | None:
        reads = VersionedReads(self._database)
        async with snapshot(self._database) as state:
            new = await self._mark_state(reads, state)
            if new is None:
                return None
            _, index = await reads.build_index(0, state)
            identity = await read_identity(state)
        return await self._write(new, identity, index)

    async def _mark_state(self, reads: VersionedReads, state: Snapshot) -> StoredIndex | None:
        """Mark the state that a snapshot reads, whose first read is this. None while events are rebuilt."""
        topic = select(topic_versions.c.version).where(topic_versions.c.topic == TOPIC)
        async with self._database.transaction() as connection:
            await self._lease.renew(connection)
            version = (await connection.execute(topic.with_for_update())).scalar()  # writers of events wait
            async with asyncio.timeout(MARK_SECONDS):
                standing = await reads.load_version(state)
            if standing.version != (version or 0):
                raise _HistoryLost
            if standing.format != EVENT_FORMAT:
                return None
            new = StoredIndex(
                id=secrets.token_hex(16),
                version=standing.version,
                rebuild_version=standing.rebuild_version,
                format=standing.format,
                layout=LAYOUT,
                part_count=0,
                digest=b"",
                stored_at=Timestamp.pack(now()),
            )
            mark = {"index_id": new.id, "number": STATE_MARK, "content": b""}
            await connection.execute(insert(index_parts).values(mark))
        return new

    async def _check_state(self, connection: AsyncConnection, new: StoredIndex) -> None:
        """Raise `_HistoryLost` if the state is not marked in this database. Deletes the mark."""
        is_mark = index_parts.c.index_id == new.id, index_parts.c.number == STATE_MARK
        if not (await connection.execute(delete(index_parts).where(*is_mark))).rowcount:
            raise _HistoryLost

    async def _write(self, new: StoredIndex, identity: int, index: Index) -> StoreResult | None:
        digest, size = IndexDigest(new, identity), 0
        parts = encode_index(index)
        while (part := await asyncio.to_thread(next, parts, None)) is not None:
            size += len(part)
            if size > self._max_bytes:
                log.warning("the event index is too large to be stored: more than %d bytes", self._max_bytes)
                await self._delete_unused_parts()
                return None
            row = {"index_id": new.id, "number": digest.part_count, "content": part}
            async with self._database.transaction() as connection:
                await self._lease.renew(connection)
                await connection.execute(insert(index_parts).values(row))
            digest.add(part)
        complete = new._replace(part_count=digest.part_count, digest=digest.value())
        values = {**complete._asdict(), "stored_at": Timestamp.unpack(complete.stored_at)}
        async with self._database.transaction() as connection:
            await self._lease.renew(connection)
            await self._check_state(connection, new)
            await connection.execute(delete(stored_indexes))
            await connection.execute(insert(stored_indexes).values(values))
        await self._delete_unused_parts()
        return StoreResult(len(index), size)

    async def _delete_unused_parts(self) -> None:
        """Delete the parts that belong to no index, some at a time."""
        is_unused = index_parts.c.index_id.not_in(select(stored_indexes.c.id))
        query = select(index_parts.c.index_id, index_parts.c.number).where(is_unused).limit(DELETED_PARTS)
        while True:
            async with self._database.transaction() as connection:
                await self._lease.renew(connection)
                found = (await connection.execute(query)).all()
                for index_id, number in found:
                    is_part = index_parts.c.index_id == index_id, index_parts.c.number == number
                    await connection.execute(delete(index_parts).where(*is_part))
            if not found:
                return
