"""Stores the index of events (`stored_index.py`).

The index is built from rows in one state of the database, never from what a process holds in memory. One process stores
it at a time, under a lease, in short transactions: the parts first, then the row that makes them an index. A process
that is killed leaves parts without an index, which the next one deletes.

All parts are written after the state was read. So a database that has them all has the history of that state, even if
it was replaced by a backup meanwhile.
"""

import asyncio
import logging
import secrets
from contextlib import suppress
from datetime import timedelta
from typing import NamedTuple

from sqlalchemy import delete, insert, select

from fieldgate.db import Database, Timestamp, now, snapshot
from fieldgate.db.lease import Lease
from fieldgate.events.derived import EVENT_FORMAT
from fieldgate.events.search.index import Index
from fieldgate.events.search.index_codec import LAYOUT, encode_index
from fieldgate.events.stored_index import IndexDigest, StoredIndex, read_identity
from fieldgate.events.tables import index_parts, stored_indexes
from fieldgate.events.versioned_reads import VersionedReads

MAX_STORED_BYTES = 512 * 1024 * 1024  # a larger index is not stored: about 15 million events
STORE_LEASE_DURATION = timedelta(minutes=10)  # the time to build it, with many events on a slow disk
DELETED_PARTS = 8  # in one transaction

log = logging.getLogger(__name__)


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
            async with snapshot(self._database) as state:
                standing, index = await VersionedReads(self._database).build_index(0, state)
                identity = await read_identity(state)
            if standing.format != EVENT_FORMAT:
                return None
            new = StoredIndex(
                secrets.token_hex(16), standing.version, standing.rebuild_version, LAYOUT, 0, b"", Timestamp.pack(now())
            )
            return await self._write(new, identity, index)
        finally:
            with suppress(Exception):  # it expires by itself
                await self._lease.release()

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
