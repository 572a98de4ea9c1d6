"""Exports: all matching events as one file, generated while it is sent.

The ids are fixed at the start. Records are read in batches, as they are then: events that were deleted or hidden
meanwhile are left out. Between two batches nothing is open in the database, however slow the reader is. Memory holds
one batch of records and the ids of all. Slow work runs in threads, so other requests are not blocked. Callers take
turns with each batch: an export of one delays those of others little.
"""

from array import array
from collections.abc import Hashable, Sequence
from contextlib import aclosing

from fieldgate.db import Snapshot
from fieldgate.events.documents import DocumentRenderer, RecordShape
from fieldgate.events.export.file_context import FileContext
from fieldgate.events.export.serializers import Chunks, EventSerializer, RecordBatches
from fieldgate.events.search.event_search import EventSearch, EventState
from fieldgate.events.search.filters import EventFilters
from fieldgate.events.visibility import ViewerScope
from fieldgate.i18n.languages import Language
from fieldgate.overload import Exports, run_in_thread
from fieldgate.pagination import PageRequest

BATCH_SIZE = 250  # events
ALL_EVENTS = PageRequest(2**31)


class EventExporter:
    """Streams exports, a limited number at a time (`Exports`). There is one per process."""

    def __init__(
        self, search: EventSearch, exports: Exports, *, batch_size: int = BATCH_SIZE
    ) -> None:
        self._search = search
        self._exports = exports
        self._batch_size = batch_size

    def stream(
        self,
        filters: EventFilters,
        scope: ViewerScope,
        serializer: EventSerializer,
        context: FileContext,
        caller: Hashable,
    ) -> Chunks:
        """Yield the file in chunks. `caller` is the id of a user, or an address."""
        return self._exports.stream(self._chunks(filters, scope, serializer, context), caller)

    async def _chunks(
        self,
        filters: EventFilters,
        scope: ViewerScope,
        serializer: EventSerializer,
        context: FileContext,
    ) -> Chunks:
        records = self._record_batches(filters, scope, context.language, serializer.shape)
        async with aclosing(records), aclosing(serializer.stream(records, context)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def _record_batches(
        self, filters: EventFilters, scope: ViewerScope, language: Language, shape: RecordShape
    ) -> RecordBatches:
        """Yield all matching records in batches; rows are joined, those of a batch are one element."""
        ids = await self._search.read(
            lambda state, snapshot: _all_ids(state, filters, scope, language, snapshot)
        )
        for offset in range(0, len(ids), self._batch_size):
            some = ids[offset : offset + self._batch_size]
            renderer, documents = await self._search.read(
                lambda state, snapshot: _read_batch(state, some, scope, language, snapshot)  # noqa: B023
            )
            if documents:
                yield await run_in_thread(_render_batch, renderer, documents, scope, shape)


async def _all_ids(
    state: EventState,
    filters: EventFilters,
    scope: ViewerScope,
    language: Language,
    snapshot: Snapshot | None,
) -> "array[int]":
    """The ids of all matching events."""
    _, ids = await state.matching_ids(filters, scope, language, ALL_EVENTS, snapshot)
    return array("q", ids)


async def _read_batch(
    state: EventState,
    ids: Sequence[int],
    scope: ViewerScope,
    language: Language,
    snapshot: Snapshot | None,
) -> tuple[DocumentRenderer, list[bytes]]:
    return state.renderer(language), await state.visible_documents(ids, scope, snapshot)


def _render_batch(
    renderer: DocumentRenderer, documents: Sequence[bytes], scope: ViewerScope, shape: RecordShape
) -> list[bytes]:
    if shape is RecordShape.ROW:
        return [renderer.render_joined_rows(documents, scope)]
    return renderer.render(documents, scope, shape)
