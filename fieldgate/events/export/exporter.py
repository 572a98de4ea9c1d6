"""Exports: all matching events as one file, generated while it is sent.

Memory holds one batch of records and the ids of all. Slow work runs in threads, so other requests are not blocked.
"""

import asyncio
import itertools
from collections.abc import Hashable, Sequence
from contextlib import aclosing, suppress

import msgspec

from fieldgate.errors import ServiceUnavailable
from fieldgate.events.event_writer import HISTORY_RETENTION
from fieldgate.events.export.file_context import FileContext
from fieldgate.events.export.serializers import Chunks, EventSerializer, RecordBatches
from fieldgate.events.search import int_arrays
from fieldgate.events.search.event_search import MAX_ATTEMPTS, EventSearch, EventSnapshot
from fieldgate.events.search.filters import EventFilters
from fieldgate.events.search.int_arrays import Int64Array
from fieldgate.events.store import EventStore
from fieldgate.events.stored_documents import DocumentRenderer, RecordShape
from fieldgate.events.versioned_reads import SnapshotExpired
from fieldgate.events.visibility import ViewerScope
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message
from fieldgate.overload import Slots
from fieldgate.pagination import PageRequest

BATCH_SIZE = 500  # events
ID_BATCH_SIZE = 20_000
# In one process. Readers choose how long an export takes: nobody has more than two, and those without credentials never
# have the slots of users.
MAX_EXPORTS = 8  # of users, and as many of addresses
MAX_EXPORTS_PER_CALLER = 2
TOO_MANY_EXPORTS = Message("Too many exports are running. Please try again in a minute.")
RETRY_SECONDS = 60
# Half of the time for which an earlier state can be read.
MAX_SNAPSHOT_AGE_SECONDS = HISTORY_RETENTION.total_seconds() / 2


class _ExportState(msgspec.Struct):
    """The ids of the matching events, and the data version they match in."""

    ids: Int64Array
    version: int
    renderer: DocumentRenderer
    started_at: float
    offset: int = 0  # in `ids`; removing the ids already exported would copy the rest each time


class EventExporter:
    """Streams exports, a limited number at a time. There is one per process."""

    def __init__(
        self,
        search: EventSearch,
        store: EventStore,
        *,
        max_exports: int = MAX_EXPORTS,
        batch_size: int = BATCH_SIZE,
        max_snapshot_age: float = MAX_SNAPSHOT_AGE_SECONDS,
    ) -> None:
        self._search = search
        self._store = store
        self._user_slots, self._address_slots = (
            Slots(max_exports, MAX_EXPORTS_PER_CALLER, refusal=TOO_MANY_EXPORTS, retry_seconds=RETRY_SECONDS)
            for _ in range(2)
        )
        self._batch_size = batch_size
        self._max_snapshot_age = max_snapshot_age

    async def stream(
        self,
        filters: EventFilters,
        scope: ViewerScope,
        serializer: EventSerializer,
        context: FileContext,
        caller: Hashable,
    ) -> Chunks:
        """Yield the file in chunks. A slot of the caller is taken until the file is complete or the client is gone.

        `caller` is the id of a user, or an address.
        """
        slots = self._user_slots if isinstance(caller, int) else self._address_slots
        async with slots.slot(caller):
            records = self._record_batches(filters, scope, context.language, serializer.shape)
            async with aclosing(records), aclosing(serializer.stream(records, context)) as chunks:
                async for chunk in chunks:
                    yield chunk

    async def _record_batches(
        self, filters: EventFilters, scope: ViewerScope, language: Language, shape: RecordShape
    ) -> RecordBatches:
        """Yield all matching records in batches; rows are joined, those of a batch are one element.

        Records are read from the data version at the start of the export, as long as that is available. After that,
        the remaining records are read from the current data: events that no longer match are left out, and events
        that match only now are not added.
        """
        state = await self._load_state(filters, scope, language)
        while state.offset < len(state.ids):
            if _clock() - state.started_at > self._max_snapshot_age:
                state = await self._refresh_state(state, filters, scope, language)
            for _ in range(MAX_ATTEMPTS):
                with suppress(SnapshotExpired):
                    ids = state.ids[state.offset : state.offset + self._batch_size].tolist()
                    documents = await self._store.documents(ids, state.version)
                    break
                state = await self._refresh_state(state, filters, scope, language)
            else:
                raise ServiceUnavailable
            state.offset += self._batch_size
            if documents:
                yield await asyncio.to_thread(_render_batch, state.renderer, documents, scope, shape)

    async def _load_state(self, filters: EventFilters, scope: ViewerScope, language: Language) -> _ExportState:
        started_at = _clock()
        try:
            return await self._read_ids(await self._search.snapshot(), filters, scope, language, started_at)
        except SnapshotExpired:  # the order needs events that were written meanwhile
            snapshot = await self._search.consistent_snapshot(filters, language)
            return await self._read_ids(snapshot, filters, scope, language, started_at)

    async def _read_ids(
        self, snapshot: EventSnapshot, filters: EventFilters, scope: ViewerScope, language: Language, started_at: float
    ) -> _ExportState:
        ids = int_arrays.int64_array()
        count = 1
        for offset in itertools.count(0, ID_BATCH_SIZE):
            if offset >= count:
                break
            count, batch = await snapshot.matching_ids(filters, scope, language, PageRequest(ID_BATCH_SIZE, offset))
            ids.extend(batch)
            await asyncio.sleep(0)
        return _ExportState(ids, snapshot.index_version.version, snapshot.renderer(language), started_at)

    async def _refresh_state(
        self, old: _ExportState, filters: EventFilters, scope: ViewerScope, language: Language
    ) -> _ExportState:
        """Switch the remaining events to the current data version."""
        started_at = _clock()
        snapshot = await self._search.consistent_snapshot(filters, language)
        new = await self._read_ids(snapshot, filters, scope, language, started_at)
        new.ids = await asyncio.to_thread(_remaining_ids, old, new.ids)
        return new


def _remaining_ids(old: _ExportState, current: Int64Array) -> Int64Array:
    """The ids not exported yet that still match."""
    return int_arrays.intersect(old.ids[old.offset :], current)


def _render_batch(
    renderer: DocumentRenderer, documents: Sequence[bytes], scope: ViewerScope, shape: RecordShape
) -> list[bytes]:
    if shape is RecordShape.ROW:
        return [renderer.render_joined_rows(documents, scope)]
    return renderer.render(documents, scope, shape)


def _clock() -> float:
    return asyncio.get_running_loop().time()
