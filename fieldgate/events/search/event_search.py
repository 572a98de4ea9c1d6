"""Searches events: keeps the index up to date with the database, and answers lists from it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from operator import attrgetter
from typing import Generic, TypeVar, cast

import msgspec
from pyroaring import BitMap

from fieldgate.cache import BoundedCache
from fieldgate.db import DataVersions, Snapshot
from fieldgate.events.documents import DocumentRenderer, RecordCache, RecordShape
from fieldgate.events.search import ordering
from fieldgate.events.search.filters import (
    SQL_FILTERS,
    EventFilters,
    FilterContext,
    SqlFilterContext,
    matching_sets,
    ordering_terms,
    region_sets,
)
from fieldgate.events.search.index import NOT_FOUND, Index, intersection
from fieldgate.events.search.ordering_fields import ORDERINGS, SourceOrdering
from fieldgate.events.store import EventStore, IndexVersion, StaleIndex
from fieldgate.events.tables import TOPIC
from fieldgate.events.visibility import ViewerScope
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message
from fieldgate.pagination import PageRequest
from fieldgate.reference.reference_data import ReferenceData
from fieldgate.reference.store import TOPIC as REFERENCE
from fieldgate.reference.store import ReferenceStore

RECORD_CACHE_BYTES = 24 * 1024 * 1024  # about 10,000 records
MAX_CACHED_SELECTIONS = 128
MAX_CACHED_ORDERS = 4  # about 8 MB each for a million events
MAX_CACHED_RANKS = 10  # of as many fields; about 4 MB each
DEFAULT_ORDERING = (("disaster_start_date", True),)  # the order of the index itself
MAX_SNAPSHOTS = 4  # of the database, open at the same time
START_WAIT_SECONDS = 2.0  # how long a readiness check waits for the index
START_RETRY_SECONDS = 1.0

log = logging.getLogger(__name__)

Value = TypeVar("Value")

_sql_filter_values = attrgetter(*SQL_FILTERS)


class SingleFlightCache(Generic[Value]):
    """Caches results and computes each only once, however many callers wait for it.

    Who waits for a computation that turns out to be stale does its own: it may have a snapshot, unlike the first one.
    """

    def __init__(self, max_entries: int) -> None:
        self._futures = BoundedCache[object, asyncio.Future[Value]](max_entries)

    async def get(self, key: object, make: Callable[[], Awaitable[Value]]) -> Value:
        if (begun := self._futures.get(key)) is not None:
            with suppress(StaleIndex):
                return await asyncio.shield(begun)
        future = asyncio.ensure_future(make())
        self._futures.put(key, future)
        future.add_done_callback(lambda done: self._discard_failed(key, done))
        return await asyncio.shield(future)

    def _discard_failed(self, key: object, future: asyncio.Future[Value]) -> None:
        if (future.cancelled() or future.exception() is not None) and self._futures.get(
            key
        ) is future:
            self._futures.discard(key)


class EventPage(msgspec.Struct, frozen=True):
    """How many events match, the rendered records of a page, and the data versions they were read from."""

    count: int
    records: list[bytes]
    versions: tuple[int, int]


class EventState:
    """One state of the events: index and reference data. Immutable, apart from its caches.

    Reads that need the database raise `StaleIndex` if events were written since, unless they are given a snapshot of
    the database that has the version of the index.
    """

    def __init__(
        self,
        index_version: IndexVersion,
        index: Index,
        reference_data: ReferenceData,
        reference_version: int,
        store: EventStore,
        record_cache: RecordCache,
    ) -> None:
        self.index_version = index_version
        self.index = index
        self.reference_data = reference_data
        self.versions = (index_version.version, reference_version)
        self.record_cache = record_cache
        self._store = store
        self._selections = SingleFlightCache[BitMap](MAX_CACHED_SELECTIONS)
        self._ranks = SingleFlightCache[ordering.Ranks](MAX_CACHED_RANKS)
        self._orders = SingleFlightCache[ordering.EventOrder](MAX_CACHED_ORDERS)
        # A partial, not a method: a state that refers to itself would stay in memory until garbage collection.
        self.context = FilterContext(index, reference_data, region_sets(index, reference_data))
        self._match_facets = lru_cache(MAX_CACHED_SELECTIONS)(partial(_match_facets, self.context))
        self._renderers = {
            language: DocumentRenderer(reference_data, language) for language in Language
        }

    def renderer(self, language: Language) -> DocumentRenderer:
        """Renders documents in a language. It keeps what it has made from the reference data; threads can share it."""
        return self._renderers[language]

    def render(self, template: bytes, language: Language, scope: ViewerScope) -> bytes:
        """Render a template as a caller may see it."""
        return self._renderers[language].templates.render(template, scope)

    async def records(
        self,
        ids: Sequence[int],
        language: Language,
        scope: ViewerScope,
        shape: RecordShape,
        snapshot: Snapshot | None,
    ) -> list[bytes]:
        """The records or rows of these events as a caller may see them."""
        variant = (language, scope, shape)
        found = self.record_cache.get(variant, ids)
        if all(found):
            return cast(list[bytes], found)
        missing = [number for number, record in zip(ids, found, strict=True) if record is None]
        documents = await self._store.documents(missing, self.index_version.version, snapshot)
        rendered = dict(
            zip(missing, self._renderers[language].render(documents, scope, shape), strict=True)
        )
        self.record_cache.put(variant, rendered)
        return [record or rendered[number] for number, record in zip(ids, found, strict=True)]

    async def visible_documents(
        self, ids: Sequence[int], scope: ViewerScope, snapshot: Snapshot | None = None
    ) -> list[bytes]:
        """The documents of those of these events that a caller sees in lists."""
        seen = self._match_facets(EventFilters(), scope)
        positions = zip(ids, self.index.positions(ids).tolist(), strict=True)
        visible = [id_ for id_, position in positions if position != NOT_FOUND and position in seen]
        return await self._store.documents(visible, self.index_version.version, snapshot)

    async def matching_ids(
        self,
        filters: EventFilters,
        scope: ViewerScope,
        language: Language,
        page: PageRequest,
        snapshot: Snapshot | None = None,
    ) -> tuple[int, list[int]]:
        """How many events match, and the ids of a page of them."""
        terms = ordering_terms(filters.ordering)
        chosen = await self.selection(filters, scope, snapshot)
        if terms and terms != DEFAULT_ORDERING:
            order = await self._orders.get(
                (terms, language), lambda: self._build_order(terms, language, snapshot)
            )
            places = await asyncio.to_thread(order.ordinals, chosen)
            return len(chosen), order.page(self.index, places, page.limit, page.offset)
        return len(chosen), self.index.page(chosen, page.limit, page.offset)

    async def selection(
        self, filters: EventFilters, scope: ViewerScope, snapshot: Snapshot | None = None
    ) -> BitMap:
        """The positions of the matching events. Callers must not change it."""
        wanted = (
            msgspec.structs.replace(filters, ordering="") if filters.ordering else filters
        )  # a key of caches
        if any(_sql_filter_values(wanted)):
            return await self._selections.get(
                (wanted, scope), lambda: self._select(wanted, scope, snapshot)
            )
        return self._match_facets(wanted, scope)

    async def _select(
        self, filters: EventFilters, scope: ViewerScope, snapshot: Snapshot | None
    ) -> BitMap:
        """The events that match, with filters that need the database."""
        sets = [self._match_facets(filters, scope)]
        context = SqlFilterContext(
            self._store, self.index, self.index_version.version, self.reference_data, snapshot
        )
        for name, select in SQL_FILTERS.items():
            if value := getattr(filters, name):
                sets.append(await select(context, value))
        return intersection(sets)

    async def _build_order(
        self, terms: ordering.Terms, language: Language, snapshot: Snapshot | None
    ) -> ordering.EventOrder:
        ranks = {
            field: await self._ranks.get(
                (field, language),
                lambda field=field: self._build_ranks(field, language, snapshot),  # type: ignore[misc]
            )
            for field, _ in terms
        }
        return await asyncio.to_thread(ordering.build_order, terms, ranks, self.index.ids)

    async def _build_ranks(
        self, field: str, language: Language, snapshot: Snapshot | None
    ) -> ordering.Ranks:
        by = ORDERINGS[field]
        if isinstance(by, SourceOrdering):
            builder = ordering.RankBuilder(by, self.index, language)
            async for some in self._store.stream_packed(self.index_version.version, snapshot):
                await asyncio.to_thread(builder.add, some)
            return await asyncio.to_thread(builder.build)
        return await asyncio.to_thread(
            ordering.indexed_ranks, by, self.index, self.reference_data, language
        )


class IndexNotBuilt:
    """Why a process that has just started is not ready."""

    code = "starting"
    message = Message("The service is starting: the index of events is not built yet.")
    retry_seconds = 5


class EventSearch:
    """Finds events in the current state of the database. Every process has one."""

    def __init__(
        self,
        store: EventStore,
        reference: ReferenceStore,
        data_versions: DataVersions,
        *,
        record_cache_bytes: int = RECORD_CACHE_BYTES,
    ) -> None:
        self._store = store
        self._reference = reference
        self._data_versions = data_versions
        self._record_cache_bytes = record_cache_bytes
        self._state: EventState | None = None
        self._generation = 0
        self._update_lock = asyncio.Lock()
        self._snapshot_slots = asyncio.Semaphore(MAX_SNAPSHOTS)
        self._start: asyncio.Task[None] | None = None

    async def find(
        self,
        filters: EventFilters,
        scope: ViewerScope,
        language: Language,
        page: PageRequest,
        shape: RecordShape = RecordShape.RECORD,
        known_versions: Sequence[int] = (),
    ) -> EventPage:
        """A page of the matching events."""

        async def find(state: EventState, snapshot: Snapshot | None) -> EventPage:
            count, ids = await state.matching_ids(filters, scope, language, page, snapshot)
            return EventPage(
                count, await state.records(ids, language, scope, shape, snapshot), state.versions
            )

        return await self.read(find, known_versions)

    async def read(
        self,
        work: Callable[[EventState, Snapshot | None], Awaitable[Value]],
        known_versions: Sequence[int] = (),
    ) -> Value:
        """Do work that reads index and database. If events were written meanwhile, it is done a second time, with both
        from one snapshot of the database: there, nothing can be written meanwhile."""
        with suppress(StaleIndex):
            return await work(await self.current(known_versions), None)
        # It ends by itself, also if the caller is cancelled: others may wait for what is built from its snapshot.
        return await asyncio.shield(asyncio.ensure_future(self._read_snapshot(work)))

    async def _read_snapshot(
        self, work: Callable[[EventState, Snapshot | None], Awaitable[Value]]
    ) -> Value:
        async with self._snapshot_slots, self._store.open_snapshot() as snapshot:
            # The first read of the snapshot: it is not older than the state.
            return await work(await self.refresh(snapshot), snapshot)

    async def current(self, known_versions: Sequence[int] = ()) -> EventState:
        """The current state. `known_versions` are those of events and reference data, if the caller has just asked."""
        version, reference_version = known_versions or await self._data_versions.versions(
            (TOPIC, REFERENCE)
        )
        if self._generation != self._data_versions.generation:
            # The database went back to an earlier state: the index may hold what no longer exists.
            self._generation, self._state = self._data_versions.generation, None
        state = self._state
        if state is None or state.index_version.version < version:
            async with self._update_lock:
                state = self._state
                if state is None or state.index_version.version < version:
                    state = self._state = await self._updated(state)
        return await self._with_reference(state, reference_version)

    async def state_for_writes(self) -> EventState:
        """A state with current reference data. Its index can be old, so that a write does not wait for it."""
        if self._state is None or self._generation != self._data_versions.generation:
            return await self.current()
        return await self._with_reference(self._state, await self._data_versions.version(REFERENCE))

    async def _with_reference(self, state: EventState, version: int) -> EventState:
        """A state with reference data of at least this version."""
        if state.versions[1] < version:
            loaded_version, reference_data = await self._reference.current_with_version()
            cache = RecordCache(self._record_cache_bytes)
            state = self._state = EventState(
                state.index_version, state.index, reference_data, loaded_version, self._store, cache
            )
        return state

    async def refresh(self, snapshot: Snapshot | None = None) -> EventState:
        """Bring the state up to date with the database, whatever version is known here."""
        async with self._update_lock:
            self._state = await self._updated(self._state, snapshot)
            return self._state

    async def _updated(
        self, state: EventState | None, snapshot: Snapshot | None = None
    ) -> EventState:
        """The state of now, or of a snapshot of the database."""
        update = None
        if state is not None:
            update = await self._store.update_index(state.index, state.index_version, snapshot)
            if update is not None and update.version == state.index_version:
                return state
        index_version, index = (
            (update.version, update.index) if update else await self._store.load_index(snapshot)
        )
        # After the events, which may use new reference data.
        version, reference_data = await self._reference.reload()
        if state is not None and update is not None and version == state.versions[1]:
            cache = state.record_cache.transfer_unchanged(update.changed_ids)
        else:
            cache = RecordCache(self._record_cache_bytes)
        return EventState(index_version, index, reference_data, version, self._store, cache)

    def start(self) -> None:
        """Build the index in the background."""
        self._start = asyncio.create_task(self._build())

    async def _build(self) -> None:
        while True:
            try:
                await self.current()
                return
            except Exception as error:  # such as a database that is away
                log.warning("building the event index failed, trying again: %s", error)
                await asyncio.sleep(START_RETRY_SECONDS)

    async def unready_reason(self) -> IndexNotBuilt | None:
        """Why this process cannot answer yet, for `/readyz`; waits a moment for the index."""
        if self._start is None or self._start.done():
            return None
        await asyncio.wait([self._start], timeout=START_WAIT_SECONDS)
        return None if self._start.done() else IndexNotBuilt()

    async def stop(self) -> None:
        if self._start is not None:
            self._start.cancel()
            await asyncio.wait([self._start])


def _match_facets(context: FilterContext, filters: EventFilters, scope: ViewerScope) -> BitMap:
    """The events that a caller sees and that match all filters the index answers."""
    return intersection([context.index.visible_to(scope), *matching_sets(context, filters)])
