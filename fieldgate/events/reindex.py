"""Rebuilds what is derived from stored events (`derived.py`) after an upgrade, or on demand."""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Row, Select, bindparam, func, select, true, update
from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.db import Database, DataVersions
from fieldgate.db.rebuild import Batch, Rebuilder
from fieldgate.db.tables import topic_versions
from fieldgate.events.derived import EVENT_FORMAT, DerivedData, derive
from fieldgate.events.event_writer import FORMAT_NAME, TOPIC
from fieldgate.events.facets import FACETS
from fieldgate.events.figures import FIGURES_SINCE
from fieldgate.events.model import unpack
from fieldgate.events.search.sql_filters import SQL_FILTERS
from fieldgate.events.tables import documents, events, words
from fieldgate.events.versioned_reads import REBUILD_TOPIC

BATCH_SIZE = 500  # events of one transaction


class RebuiltEvent(NamedTuple):
    id: int
    version: int
    derived: DerivedData
    has_new_facets: bool
    has_new_words: bool


class EventFormat:
    """The derived data of events as a `StoredFormat`."""

    name = FORMAT_NAME

    def __init__(self, database: Database, data_versions: DataVersions, batch_size: int = BATCH_SIZE) -> None:
        self._database = database
        self._data_versions = data_versions
        self._batch_size = batch_size

    @property
    def format(self) -> int:
        return EVENT_FORMAT

    async def count(self) -> int:
        async with self._database.read_transaction() as connection:
            return int((await connection.execute(select(func.count()).select_from(events))).scalar_one())

    async def load_batch(self, after: int, *, include_current: bool) -> Batch[RebuiltEvent] | None:
        async with self._database.read_transaction() as connection:
            found = (await connection.execute(self._next_rows(after, include_current))).all()
        if not found:
            return None
        return Batch(await asyncio.to_thread(_rebuild_rows, found), found[-1].id)

    def _next_rows(self, after: int, include_current: bool) -> Select[tuple[object, ...]]:
        return (
            select(
                documents.c.id, documents.c.version, events.c.packed, events.c.facets,
                words.c.names, words.c.glide, words.c.appeal_codes,
            )
            .join_from(documents, events, events.c.id == documents.c.id)
            .join(words, words.c.id == documents.c.id)
            .where(documents.c.id > after, true() if include_current else documents.c.format != EVENT_FORMAT)
            .order_by(documents.c.id)
            .limit(self._batch_size)
        )  # fmt: skip

    async def lock(self, connection: AsyncConnection) -> None:
        topic = topic_versions.c.topic == TOPIC
        await connection.execute(select(topic_versions.c.version).where(topic).with_for_update())

    async def write_batch(self, connection: AsyncConnection, batch: Batch[RebuiltEvent]) -> None:
        # The version of the rows stays the same, so no cache is invalidated: what callers get does not change.
        for statement, rows in (
            (_UPDATE_DOCUMENT, [_document_values(row) for row in batch.rows]),
            (_UPDATE_FACETS, [_facet_values(row) for row in batch.rows if row.has_new_facets]),
            (_UPDATE_WORDS, [_word_values(row) for row in batch.rows if row.has_new_words]),
        ):
            if rows:
                await connection.execute(statement, rows)

    async def finish(self, connection: AsyncConnection, previous: int, *, is_forced: bool) -> None:
        """Have every process load its index again, once, if filters or sums have new data."""
        formats = {*(facet.since for facet in FACETS.values()), *(each.since for each in SQL_FILTERS.values())}
        if is_forced or max(*formats, FIGURES_SINCE) > previous:
            await self._data_versions.bump(connection, TOPIC, REBUILD_TOPIC)


def event_rebuilder(database: Database, data_versions: DataVersions) -> Rebuilder[RebuiltEvent]:
    return Rebuilder(database, EventFormat(database, data_versions))


def _rebuild_rows(rows: Sequence[Row[tuple[object, ...]]]) -> list[RebuiltEvent]:
    rebuilt = []
    for row in rows:
        new = derive(unpack(row.packed))
        stored_words = row.names, row.glide, row.appeal_codes
        has_new_words = (new.names, new.glide, new.appeal_codes) != stored_words
        rebuilt.append(RebuiltEvent(row.id, row.version, new, new.facets != row.facets, has_new_words))
    return rebuilt


_UPDATE_DOCUMENT = (
    update(documents)
    .where(documents.c.id == bindparam("row_id"), documents.c.version == bindparam("row_version"))
    .values(document=bindparam("new_document"), format=bindparam("new_format"))
)
_UPDATE_FACETS = (
    update(events)
    .where(events.c.id == bindparam("row_id"), events.c.version == bindparam("row_version"))
    .values(facets=bindparam("new_facets"))
)
_UPDATE_WORDS = (
    update(words)
    .where(words.c.id == bindparam("row_id"), words.c.version == bindparam("row_version"))
    .values(names=bindparam("new_names"), glide=bindparam("new_glide"), appeal_codes=bindparam("new_appeal_codes"))
)


def _document_values(row: RebuiltEvent) -> dict[str, object]:
    return {
        "row_id": row.id,
        "row_version": row.version,
        "new_document": row.derived.document,
        "new_format": EVENT_FORMAT,
    }


def _facet_values(row: RebuiltEvent) -> dict[str, object]:
    return {"row_id": row.id, "row_version": row.version, "new_facets": row.derived.facets}


def _word_values(row: RebuiltEvent) -> dict[str, object]:
    return {
        "row_id": row.id,
        "row_version": row.version,
        "new_names": row.derived.names,
        "new_glide": row.derived.glide,
        "new_appeal_codes": row.derived.appeal_codes,
    }
