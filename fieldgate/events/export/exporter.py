"""Exports: all matching events as one file, generated while it is sent.

Memory holds one batch of records and the ids of all. Slow work runs in threads, so other requests are not blocked.
"""

import asyncio
import itertools
import logging
from collections.abc import Callable, Sequence
from contextlib import aclosing, suppress

import msgspec

from fieldgate.concurrency import MeasuredTransfer, NoFreeSlot, OwnShareUsed, SharedSlots, SlotHolder, SlotShares
from fieldgate.errors import ServiceUnavailable, TooManyRequests
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
from fieldgate.i18n.messages import Message, PluralMessage
from fieldgate.pagination import PageRequest
from fieldgate.runtime.outgoing_transfer import OutgoingTransfer

BATCH_SIZE = 500  # events
ID_BATCH_SIZE = 20_000
MAX_CONCURRENT_EXPORTS = 4  # in one process
# Readers choose how long an export takes: those without credentials never have all, and nobody has more than two.
EXPORT_SHARES = SlotShares(
    total=MAX_CONCURRENT_EXPORTS,
    per_user=2,
    per_address=2,
    reserved_for_users=1,
    wait_seconds=15.0,  # longer than it takes to see that a client is slow
    max_waiting=16,
)
RETRY_SECONDS = 60
# Half of the time for which an earlier state can be read.
MAX_SNAPSHOT_AGE_SECONDS = HISTORY_RETENTION.total_seconds() / 2

log = logging.getLogger(__name__)


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
        shares: SlotShares = EXPORT_SHARES,
        batch_size: int = BATCH_SIZE,
        max_snapshot_age: float = MAX_SNAPSHOT_AGE_SECONDS,
        on_broken_off: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_broken_off` is called for each export that gives way to another one."""
        self._search = search
        self._store = store
        self._slots = SharedSlots(shares, self._record_broken_off)
        self._on_broken_off = on_broken_off
        self._batch_size = batch_size
        self._max_snapshot_age = max_snapshot_age

    async def stream(
        self,
        filters: EventFilters,
        scope: ViewerScope,
        serializer: EventSerializer,
        context: FileContext,
        holder: SlotHolder,
        transfer: OutgoingTransfer | None = None,
    ) -> Chunks:
        """Yield the file in chunks. A slot of the holder is taken until the file is complete or the client is gone.

        A transfer that is slow is broken off if all slots are taken and somebody without an export waits.
        """
        try:
            async with self._slots.slot(holder, transfer):
                records = self._record_batches(filters, scope, context.language, serializer.shape)
                async with aclosing(records), aclosing(serializer.stream(records, context)) as chunks:
                    async for chunk in chunks:
                        yield chunk
        except OwnShareUsed as refusal:
            raise TooManyRequests(
                PluralMessage(
                    "{count} export for you or your address is running already. Wait until it is finished, then try "
                    "again.",
                    "{count} exports for you or your address are running already. Wait until one is finished, then try "
                    "again.",
                    refusal.count,
                ),
                RETRY_SECONDS,
            ) from None
        except NoFreeSlot:
            raise ServiceUnavailable(
                Message("Too many exports are running. Please try again in a minute."), RETRY_SECONDS
            ) from None

    def _record_broken_off(self, holder: SlotHolder, transfer: MeasuredTransfer) -> None:
        kind = "user" if holder.is_user else "address"
        log.warning(
            "An export was broken off: its client (%s %s) reads %d bytes a second, and others wait",
            kind, holder.key, transfer.rate,
        )  # fmt: skip
        self._on_broken_off()

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
