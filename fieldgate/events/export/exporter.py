"""Exports: all matching events as one file, generated while it is sent.

The ids are fixed at the start. Records are read in batches, as they are then: events that were deleted or hidden
meanwhile are left out. Between two batches nothing is open in the database, however slow the reader is. Memory holds
one batch of records and the ids of all. Callers take turns with each batch: an export of one delays those of others
little.
"""

from collections.abc import Hashable, Sequence
from contextlib import aclosing

from fieldgate.db import AsyncDatabase, ReadTransaction
from fieldgate.events.export.file_context import FileContext
from fieldgate.events.export.serializers import Chunks, EventSerializer, RecordBatches
from fieldgate.events.filters import EventFilters
from fieldgate.events.reader import EventReader, Shape
from fieldgate.events.records import Viewer
from fieldgate.overload import Exports

BATCH_SIZE = 250  # events


class EventExporter:
    """Streams exports, a limited number at a time (`Exports`). There is one per process."""

    def __init__(
        self,
        database: AsyncDatabase,
        reader: EventReader,
        exports: Exports,
        *,
        batch_size: int = BATCH_SIZE,
    ) -> None:
        self._database = database
        self._reader = reader
        self._exports = exports
        self._batch_size = batch_size

    def stream(
        self,
        filters: EventFilters,
        viewer: Viewer,
        serializer: EventSerializer,
        context: FileContext,
        caller: Hashable,
    ) -> Chunks:
        """Yield the file in chunks. `caller` is the id of a user, or an address."""
        return self._exports.stream(self._chunks(filters, viewer, serializer, context), caller)

    async def _chunks(
        self,
        filters: EventFilters,
        viewer: Viewer,
        serializer: EventSerializer,
        context: FileContext,
    ) -> Chunks:
        records = self._record_batches(filters, viewer, serializer.shape)
        async with aclosing(records), aclosing(serializer.stream(records, context)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def _record_batches(
        self, filters: EventFilters, viewer: Viewer, shape: Shape
    ) -> RecordBatches:
        """Yield all matching records in batches."""

        def read_ids(transaction: ReadTransaction) -> Sequence[int]:
            return self._reader.ids(transaction, filters, viewer)

        ids = await self._database.in_read(read_ids)
        for offset in range(0, len(ids), self._batch_size):
            batch_ids = ids[offset : offset + self._batch_size]

            def read_batch(
                transaction: ReadTransaction, batch_ids: Sequence[int] = batch_ids
            ) -> list[bytes]:
                return self._reader.batch(transaction, batch_ids, viewer, shape)

            records = await self._database.in_read(read_batch)
            if records:
                yield records
