"""The index of events as it is stored in the database, so that a process need not build it when it starts.

It is part of the state of the database: what is read with it in one snapshot has the same history, also after a backup
was restored. It is used if its digest is right and events were only written row by row since. Otherwise the index is
built from rows.
"""

import asyncio
import hashlib
import logging
from collections.abc import AsyncIterator, Iterable
from typing import NamedTuple

from sqlalchemy import select

from fieldgate.db import Snapshot
from fieldgate.db.data_versions import IDENTITY_TOPIC
from fieldgate.db.tables import topic_versions
from fieldgate.events.search.index import Index
from fieldgate.events.search.index_codec import LAYOUT, UndecodableIndex, decode_index
from fieldgate.events.tables import index_parts, stored_indexes

READ_PARTS = 8  # in one query; a part has at most a megabyte

log = logging.getLogger(__name__)


class StoredIndex(NamedTuple):
    """A row of `event_indexes`."""

    id: str
    version: int
    rebuild_version: int
    format: int
    layout: int
    part_count: int
    digest: bytes
    stored_at: int  # microseconds since 1970


async def find_stored_index(state: Snapshot, *, rebuild_version: int, format: int, version: int) -> StoredIndex | None:
    """The newest stored index that changes up to this version can be applied to."""
    columns = stored_indexes.c
    is_usable = (
        columns.layout == LAYOUT,
        columns.rebuild_version == rebuild_version,
        columns.format == format,
        columns.version <= version,
    )
    query = select(*(columns[name] for name in StoredIndex._fields)).where(*is_usable)
    rows = await state.rows(query.order_by(columns.version.desc(), columns.id).limit(1))
    return StoredIndex(*rows[0]) if rows else None


async def read_stored_index(state: Snapshot, stored: StoredIndex) -> Index | None:
    """The index itself; None if anything is wrong with it."""
    parts = [part async for part in _read_parts(state, stored)]
    identity = await read_identity(state)
    try:
        return await asyncio.to_thread(_verify_and_decode, stored, identity, parts)
    except UndecodableIndex as error:
        log.warning("the stored event index is not used, and is built again: %s", error)
        return None


async def is_intact(state: Snapshot, stored: StoredIndex) -> bool:
    """Whether all parts of a stored index are there and have the right digest."""
    found = IndexDigest(stored, await read_identity(state))
    async for part in _read_parts(state, stored):
        await asyncio.to_thread(found.add, part)
    return found.part_count == stored.part_count and found.value() == stored.digest


async def read_identity(state: Snapshot) -> int:
    """The number that identifies the database, 0 if it has none."""
    rows = await state.rows(select(topic_versions.c.version).where(topic_versions.c.topic == IDENTITY_TOPIC))
    return int(rows[0][0]) if rows else 0


async def _read_parts(state: Snapshot, stored: StoredIndex) -> AsyncIterator[bytes]:
    columns = index_parts.c
    for start in range(0, stored.part_count, READ_PARTS):
        is_next = columns.index_id == stored.id, columns.number >= start, columns.number < start + READ_PARTS
        for row in await state.rows(select(columns.content).where(*is_next).order_by(columns.number)):
            yield bytes(row[0])


def _verify_and_decode(stored: StoredIndex, identity: int, parts: list[bytes]) -> Index:
    if len(parts) != stored.part_count or not parts:
        raise UndecodableIndex("parts are missing")
    if IndexDigest(stored, identity).add_all(parts).value() != stored.digest:
        raise UndecodableIndex("its digest is wrong")
    return decode_index(parts)


class IndexDigest:
    """The digest of all that a stored index depends on: database, versions, layout, and the parts in their order."""

    def __init__(self, stored: StoredIndex, identity: int) -> None:
        described = f"{identity} {stored.id} {stored.version} {stored.rebuild_version} {stored.format} {stored.layout}"
        self._hash = hashlib.blake2b(described.encode(), digest_size=32)
        self.part_count = 0

    def add(self, part: bytes) -> None:
        self._hash.update(b"%d " % len(part))
        self._hash.update(part)
        self.part_count += 1

    def add_all(self, parts: Iterable[bytes]) -> "IndexDigest":
        for part in parts:
            self.add(part)
        return self

    def value(self) -> bytes:
        return self._hash.digest()
