"""Searches events: keeps the index up to date with the database, and answers lists from it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar, cast
from weakref import ref

import msgspec
from pyroaring import BitMap

from fieldgate.cache import BoundedCache
from fieldgate.db import DataVersions, Snapshot
from fieldgate.errors import ServiceUnavailable
from fieldgate.events.event_writer import TOPIC
from fieldgate.events.figures import FIGURES_MARK
from fieldgate.events.search.bindings import unfinished_filters, unfinished_orderings
from fieldgate.events.search.filters import EventFilters, FilterContext, matching_sets, ordering_terms, region_sets
from fieldgate.events.search.index import Index, RebuildRequired, intersection
from fieldgate.events.search.ordering_fields import ORDERINGS, SourceOrdering
from fieldgate.events.search.record_cache import RecordCache
from fieldgate.events.search.sql_filters import SQL_FILTERS, SqlFilterContext
from fieldgate.events.store import EventStore
from fieldgate.events.stored_documents import DocumentRenderer, RecordShape
from fieldgate.events.versioned_reads import IndexVersion, SnapshotExpired
from fieldgate.events.visibility import ViewerScope
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message
from fieldgate.pagination import PageRequest
from fieldgate.reference.reference_data import ReferenceData
from fieldgate.reference.store import TOPIC as REFERENCE
from fieldgate.reference.store import ReferenceStore

if TYPE_CHECKING:
    from fieldgate.events.search import ordering  # not at run time: it loads numpy

MAX_BLOCKING_REBUILD_EVENTS = 100_000  # a larger index is rebuilt in the background
RECORD_CACHE_BYTES = 24 * 1024 * 1024  # about 10,000 records
MAX_CACHED_SELECTIONS = 128
MAX_CACHED_ORDERS = 4  # about 8 MB each for a million events
MAX_CACHED_RANKS = 10  # of as many fields; about 4 MB each
DEFAULT_ORDERING = (("disaster_start_date", True),)  # the order of the index itself
MAX_ATTEMPTS = 3  # to answer, when the data changes meanwhile
REBUILD_RETRY_SECONDS = 30  # when to ask again for a filter whose data is being rebuilt

log = logging.getLogger(__name__)

Value = TypeVar("Value")

_sql_filter_values = attrgetter(*SQL_FILTERS)


class SingleFlightCache(Generic[Value]):
    """Caches results and computes each only once, however many callers wait for it."""

    def __init__(self, max_entries: int) -> None:
        self._futures = BoundedCache[object, asyncio.Future[Value]](max_entries)

    async def get(self, key: object, make: Callable[[], Awaitable[Value]]) -> Value:
        future = self._futures.get(key)
        if future is None:
            future = asyncio.ensure_future(make())
            self._futures.put(key, future)
            future.add_done_callback(lambda done: self._discard_failed(key, done))
        return await asyncio.shield(future)

    def _discard_failed(self, key: object, future: asyncio.Future[Value]) -> None:
        if (future.cancelled() or future.exception() is not None) and self._futures.get(key) is future:
            self._futures.discard(key)


class EventPage(msgspec.Struct, frozen=True):
    """How many events match, the rendered records of a page, and the data versions they were read from."""

    count: int
    records: list[bytes]
    versions: tuple[int, int]


class EventSnapshot:
    """One state of the events. Immutable, apart from its caches."""

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
        self._ranks = SingleFlightCache["ordering.Ranks"](MAX_CACHED_RANKS)
        self._orders = SingleFlightCache["ordering.EventOrder"](MAX_CACHED_ORDERS)
        self._ordinals = SingleFlightCache[BitMap](MAX_CACHED_SELECTIONS)
        # A partial, not a method: a snapshot that refers to itself would stay in memory until garbage collection.
        self.context = FilterContext(index, reference_data, region_sets(index, reference_data))
        self._match_facets = lru_cache(MAX_CACHED_SELECTIONS)(partial(_match_facets, self.context))
        self._unfinished_filters = unfinished_filters(index_version.format)
        self._unfinished_orderings = unfinished_orderings(index_version.format)
        self._renderers = {language: DocumentRenderer(reference_data, language) for language in Language}

    def renderer(self, language: Language) -> DocumentRenderer:
        """Renders documents in a language. It keeps what it has made from the reference data; threads can share it."""
        return self._renderers[language]

    def render(self, template: bytes, language: Language, scope: ViewerScope) -> bytes:
        """Render a template as a caller may see it."""
        return self._renderers[language].templates.render(template, scope)

    async def records(
        self, ids: Sequence[int], language: Language, scope: ViewerScope, shape: RecordShape = RecordShape.RECORD
    ) -> list[bytes]:
        """The records or rows of these events as a caller may see them."""
        variant = (language, scope, shape)
        found = self.record_cache.get(variant, ids)
        if all(found):
            return cast(list[bytes], found)
        missing = [number for number, record in zip(ids, found, strict=True) if record is None]
        documents = await self._store.documents(missing, self.index_version.version)
        rendered = dict(zip(missing, self._renderers[language].render(documents, scope, shape), strict=True))
        self.record_cache.put(variant, rendered)
        return [record or rendered[number] for number, record in zip(ids, found, strict=True)]

    async def find(
        self,
        filters: EventFilters,
        scope: ViewerScope,
        language: Language,
        page: PageRequest,
        shape: RecordShape = RecordShape.RECORD,
    ) -> EventPage:
        """A page of the matching events."""
        count, numbers = await self.matching_ids(filters, scope, language, page)
        return EventPage(count, await self.records(numbers, language, scope, shape), self.versions)

    async def matching_ids(
        self, filters: EventFilters, scope: ViewerScope, language: Language, page: PageRequest
    ) -> tuple[int, list[int]]:
        """How many events match, and the ids of a page of them."""
        terms = ordering_terms(filters.ordering)
        if self._unfinished_filters or self._unfinished_orderings:
            self._check_finished(filters, terms)
        wanted = msgspec.structs.replace(filters, ordering="") if filters.ordering else filters
        chosen = await self._selection(wanted, scope)
        if terms and terms != DEFAULT_ORDERING:
            order = await self._orders.get((terms, language), lambda: self._build_order(terms, language))
            places = await self._ordinals.get(
                (wanted, scope, terms, language), lambda: asyncio.to_thread(order.ordinals, chosen)
            )
            return len(chosen), order.page(self.index, places, page.limit, page.offset)
        return len(chosen), self.index.page(chosen, page.limit, page.offset)

    async def selection(self, filters: EventFilters, scope: ViewerScope) -> BitMap:
        """The positions of the matching events, whose figures are all known. Callers must not change it."""
        self._check_finished(filters, ())
        chosen = await self._selection(msgspec.structs.replace(filters, ordering=""), scope)
        if not chosen.issubset(self.index.with_any_facet(FIGURES_MARK)):
            raise _upgrading("summary")
        return chosen

    async def _selection(self, wanted: EventFilters, scope: ViewerScope) -> BitMap:
        """`wanted` has no ordering: it is a key of caches."""
        if any(_sql_filter_values(wanted)):
            return await self._selections.get((wanted, scope), lambda: self._select(wanted, scope))
        return self._match_facets(wanted, scope)

    def _check_finished(self, filters: EventFilters, terms: "ordering.Terms") -> None:
        """Refuse filters and orderings whose data is still being rebuilt after an upgrade."""
        names = [name for name in sorted(self._unfinished_filters) if getattr(filters, name) not in (None, (), "")]
        names += [f"ordering={field}" for field, _ in terms if field in self._unfinished_orderings]
        if names:
            raise _upgrading(*names)

    async def _select(self, filters: EventFilters, scope: ViewerScope) -> BitMap:
        """The events that match, with filters that need the database."""
        sets = [self._match_facets(filters, scope)]
        context = SqlFilterContext(self._store, self.index, self.index_version.version, self.reference_data)
        for name, sql_filter in SQL_FILTERS.items():
            if value := getattr(filters, name):
                sets.append(await sql_filter.select(context, value))
        return intersection(sets)

    async def prepare(self, filters: EventFilters, language: Language, state: Snapshot) -> None:
        """Build the order that a list needs, from a state of the database that has the version of this snapshot."""
        terms = ordering_terms(filters.ordering)
        if terms and terms != DEFAULT_ORDERING:
            await self._orders.get((terms, language), lambda: self._build_order(terms, language, state))

    async def _build_order(
        self, terms: "ordering.Terms", language: Language, state: Snapshot | None = None
    ) -> "ordering.EventOrder":
        # Imported in a thread, when needed: numpy takes a tenth of a second to load, and 16 MB.
        await asyncio.to_thread(import_module, "fieldgate.events.search.ordering")
        from fieldgate.events.search import ordering

        ranks = {
            field: await self._ranks.get(
                (field, language),
                lambda field=field: self._build_ranks(field, language, state),  # type: ignore[misc]
            )
            for field, _ in terms
        }
        return await asyncio.to_thread(ordering.build_order, terms, ranks, self.index.ids)

    async def _build_ranks(self, field: str, language: Language, state: Snapshot | None) -> "ordering.Ranks":
        from fieldgate.events.search import ordering

        by = ORDERINGS[field]
        if isinstance(by, SourceOrdering):
            builder = ordering.RankBuilder(by, self.index, language)
            async for some in self._store.stream_packed(self.index_version.version, state):
                await asyncio.to_thread(builder.add, some)
            return await asyncio.to_thread(builder.build)
        return await asyncio.to_thread(ordering.indexed_ranks, by, self.index, self.reference_data, language)


class _ConsistentBuild(NamedTuple):
    """A snapshot that was built for a list, and when that began."""

    key: tuple[str, Language]
    began: float
    snapshot: ref[EventSnapshot]  # weak: an index can be large


class EventSearch:
    """Finds events in the current state of the database. Every process has one."""

    def __init__(
        self,
        store: EventStore,
        reference: ReferenceStore,
        data_versions: DataVersions,
        *,
        max_blocking_rebuild_events: int = MAX_BLOCKING_REBUILD_EVENTS,
        record_cache_bytes: int = RECORD_CACHE_BYTES,
        on_lag: Callable[[float], None] = lambda _: None,
    ) -> None:
        self._store = store
        self._reference = reference
        self._data_versions = data_versions
        self._max_blocking_rebuild_events = max_blocking_rebuild_events
        self._record_cache_bytes = record_cache_bytes
        self._on_lag = on_lag
        self._snapshot: EventSnapshot | None = None
        self._generation = 0
        self._refresh_lock = asyncio.Lock()
        self._consistency_lock = asyncio.Lock()
        self._last_consistent: _ConsistentBuild | None = None
        self._rebuild_task: asyncio.Task[None] | None = None
        self._stale_since: float | None = None

    async def find(
        self,
        filters: EventFilters,
        scope: ViewerScope,
        language: Language,
        page: PageRequest,
        snapshot: EventSnapshot | None = None,
        shape: RecordShape = RecordShape.RECORD,
    ) -> EventPage:
        """A page of the matching events; from the given snapshot, if it can still be read."""
        snapshot = snapshot or await self.snapshot()
        for _ in range(MAX_ATTEMPTS):
            with suppress(SnapshotExpired):
                return await snapshot.find(filters, scope, language, page, shape)
            snapshot = await self.consistent_snapshot(filters, language)
        raise ServiceUnavailable

    async def consistent_snapshot(self, filters: EventFilters, language: Language) -> EventSnapshot:
        """The state of the database now, with all that a list needs, for a request whose state is no longer stored.

        Index and order are read from one state of the database, so a write that is committed meanwhile changes nothing.
        What this process has heard of writes does not matter: another process may have written just now.
        Requests that wait for each other share the result, if it was begun after they were received.
        """
        received, key = _clock(), (filters.ordering, language)
        async with self._consistency_lock:
            last = self._last_consistent
            if last is not None and last.key == key and last.began >= received and (found := last.snapshot()):
                return found
            began = _clock()
            snapshot = await self._build_consistent(filters, language)
            self._last_consistent = _ConsistentBuild(key, began, ref(snapshot))
            return snapshot

    async def _build_consistent(self, filters: EventFilters, language: Language) -> EventSnapshot:
        async with self._store.open_state() as state:
            newest = self._snapshot
            view = None if newest is None else await self._apply_changes(newest, 0, state)
            if view is None:
                view = await self._build_snapshot(0, state)
            await view.prepare(filters, language, state)
        if self._snapshot is None or self._snapshot.index_version.version <= view.index_version.version:
            self._snapshot = view
        return view

    async def snapshot(self, known_versions: Sequence[int] = ()) -> EventSnapshot:
        """The current state, or, while a large index is being rebuilt, the one before.

        `known_versions` are those of events and reference data, if the caller has just asked for them.
        """
        version, reference_version = known_versions or await self._data_versions.versions((TOPIC, REFERENCE))
        if self._generation != self._data_versions.generation:
            # The database went back to an earlier state: the index may hold what no longer exists.
            self._generation, self._snapshot = self._data_versions.generation, None
        view = self._snapshot
        if view is None or view.index_version.version < version:
            async with self._refresh_lock:
                view = self._snapshot
                if view is None or view.index_version.version < version:
                    view = self._snapshot = await self._refresh(view, version)
        if view.versions[1] < reference_version:
            loaded_version, reference_data = await self._reference.current_with_version()
            view = self._snapshot = self._make_snapshot(view.index_version, view.index, reference_data, loaded_version)
        self._track_lag(is_stale=view.index_version.version < version)
        return view

    def _track_lag(self, *, is_stale: bool) -> None:
        if not is_stale and self._stale_since is None:
            return
        if not is_stale:
            self._stale_since = None
        elif self._stale_since is None:
            self._stale_since = _clock()
        self._on_lag(self.lag)

    async def render(self, template: bytes, language: Language, scope: ViewerScope) -> bytes:
        """Render a template that may be newer than the snapshot, and use newer reference data."""
        view = await self.snapshot()
        try:
            return view.render(template, language, scope)
        except KeyError:
            version, reference_data = await self._reference.reload()
            newer = self._make_snapshot(view.index_version, view.index, reference_data, version)
            return newer.render(template, language, scope)

    async def _refresh(self, snapshot: EventSnapshot | None, version: int) -> EventSnapshot:
        if snapshot is None:
            return await self._build_snapshot(version)
        if self._rebuild_task is not None and not self._rebuild_task.done():
            return snapshot
        if (changed := await self._apply_changes(snapshot, version)) is not None:
            return changed
        if len(snapshot.index) <= self._max_blocking_rebuild_events:
            return await self._build_snapshot(version)
        self._rebuild_task = asyncio.create_task(self._rebuild_in_background(version))
        return snapshot

    async def _apply_changes(
        self, snapshot: EventSnapshot, at_least: int, state: Snapshot | None = None
    ) -> EventSnapshot | None:
        """The snapshot of a later state. None if its index must be built from the beginning."""
        changes = await self._store.load_changes(snapshot.index_version, at_least, state)
        if changes is None:
            return None
        index_version, rows, deleted_ids = changes
        if index_version == snapshot.index_version:
            return snapshot
        with suppress(RebuildRequired):
            index = await asyncio.to_thread(snapshot.index.with_changes, rows, deleted_ids)
            # After the events, which may use new reference data.
            version, reference_data = await self._reference.reload()
            record_cache = None
            if version == snapshot.versions[1]:
                changed_ids = {*(row.id for row in rows), *deleted_ids}
                record_cache = snapshot.record_cache.transfer_unchanged(changed_ids)
            return self._make_snapshot(index_version, index, reference_data, version, record_cache)
        return None

    async def _build_snapshot(self, version: int, state: Snapshot | None = None) -> EventSnapshot:
        index_version, index = await self._store.load_index(version, state)
        reference_version, reference_data = await self._reference.reload()
        return self._make_snapshot(index_version, index, reference_data, reference_version)

    def _make_snapshot(
        self,
        index_version: IndexVersion,
        index: Index,
        reference_data: ReferenceData,
        reference_version: int,
        record_cache: RecordCache | None = None,
    ) -> EventSnapshot:
        return EventSnapshot(
            index_version,
            index,
            reference_data,
            reference_version,
            self._store,
            record_cache or RecordCache(self._record_cache_bytes),
        )

    async def _rebuild_in_background(self, version: int) -> None:
        try:
            self._snapshot = await self._build_snapshot(version)
        except Exception:  # the next request starts another rebuild
            log.exception("building the event index failed")

    async def warm(self) -> None:
        """Build the index before the first request."""
        try:
            await self.snapshot()
        except Exception:
            log.exception("building the event index failed")

    async def wait_for_rebuild(self) -> None:
        """Wait for the index that is being built in the background."""
        if self._rebuild_task is not None:
            await asyncio.wait([self._rebuild_task])

    @property
    def lag(self) -> float:
        """Seconds for which answers have come from an earlier state; 0 while they are current."""
        return 0.0 if self._stale_since is None else _clock() - self._stale_since

    async def stop(self) -> None:
        if self._rebuild_task is not None:
            self._rebuild_task.cancel()
            with suppress(asyncio.CancelledError):
                await self._rebuild_task


def _match_facets(context: FilterContext, filters: EventFilters, scope: ViewerScope) -> BitMap:
    """The events that a caller sees and that match all filters the index answers."""
    return intersection([context.index.visible_to(scope), *matching_sets(context, filters)])


def _upgrading(*names: str) -> ServiceUnavailable:
    message = Message(
        "This is not available yet, because stored events are being upgraded: {names}. Please try again later.",
        names=", ".join(names),
    )
    return ServiceUnavailable(message, retry_after_seconds=REBUILD_RETRY_SECONDS)


def _clock() -> float:
    return asyncio.get_running_loop().time()
