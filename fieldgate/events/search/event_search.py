"""The events as they stand now: the index, kept up with the data, and what lists ask of it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, partial, reduce
from importlib import import_module
from operator import and_
from typing import TYPE_CHECKING, Generic, TypeVar, cast

import msgspec
from pyroaring import BitMap

from fieldgate.cache import BoundedCache
from fieldgate.db import DataVersions
from fieldgate.errors import ServiceUnavailable
from fieldgate.events.document_templates import TemplateRenderer
from fieldgate.events.search.filters import EventFilters, matching_sets, ordering_terms, region_sets, search_words
from fieldgate.events.search.index import Index, RebuildRequired
from fieldgate.events.search.record_cache import RecordCache
from fieldgate.events.store import TOPIC, EventStore, IndexVersion, SnapshotExpired
from fieldgate.events.visibility import ViewerScope
from fieldgate.i18n.languages import Language
from fieldgate.pagination import PageRequest
from fieldgate.reference.reference_data import ReferenceData, fold_text
from fieldgate.reference.store import TOPIC as REFERENCE
from fieldgate.reference.store import ReferenceStore

if TYPE_CHECKING:
    from fieldgate.events.search import ordering  # not at run time: it loads numpy

MAX_BLOCKING_REBUILD_EVENTS = (
    100_000  # events whose index is made anew while the caller waits; beyond, beside the answers
)
RECORD_CACHE_BYTES = 24 * 1024 * 1024  # bytes, some 10,000 records
MAX_CACHED_SELECTIONS = 128
MAX_CACHED_ORDERS = 4  # some 8 MB each for a million events
MAX_CACHED_RANKS = 10  # of as many fields; some 4 MB each
DEFAULT_ORDERING = (("disaster_start_date", True),)  # the order of the index itself; clients like to name it
MAX_ATTEMPTS = 3  # at an answer, when the data runs away under it

log = logging.getLogger(__name__)

Value = TypeVar("Value")


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
    """What a list asks for: how many match, the records of the page as the caller is shown them, and the versions of
    the data they are of."""

    count: int
    records: list[bytes]
    versions: tuple[int, int]


class EventSnapshot:
    """One state of the events: never changes, and forgets nothing it was asked within its bounds."""

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
        # By partial, not by method: a view that refers to itself would stay in memory for a while.
        narrowed = partial(_match_facets, index, reference_data, region_sets(index, reference_data))
        self._match_facets = lru_cache(MAX_CACHED_SELECTIONS)(narrowed)
        self._renderers = {language: TemplateRenderer(reference_data, language) for language in Language}

    def render(self, template: bytes, language: Language, scope: ViewerScope) -> bytes:
        """A document as a caller may see it."""
        return self._renderers[language].render(template, scope)

    async def records(self, ids: Sequence[int], language: Language, scope: ViewerScope) -> list[bytes]:
        """The records of these events as a caller may see them."""
        to = (language, scope)
        found = self.record_cache.get(to, ids)
        if all(found):
            return cast(list[bytes], found)
        missing = [number for number, record in zip(ids, found, strict=True) if record is None]
        documents = await self._store.documents(missing, self.index_version.version)
        reader = self._renderers[language]
        read = {number: reader.render(each, scope) for number, each in zip(missing, documents, strict=True)}
        self.record_cache.put(to, read)
        return [record or read[number] for number, record in zip(ids, found, strict=True)]

    async def find(self, filters: EventFilters, scope: ViewerScope, language: Language, page: PageRequest) -> EventPage:
        """A page of the events that match."""
        count, numbers = await self.matching_ids(filters, scope, language, page)
        return EventPage(count, await self.records(numbers, language, scope), self.versions)

    async def matching_ids(
        self, filters: EventFilters, scope: ViewerScope, language: Language, page: PageRequest
    ) -> tuple[int, list[int]]:
        """How many events match, and the ids of a page of them."""
        terms = ordering_terms(filters.ordering)
        wanted = msgspec.structs.replace(filters, ordering="") if filters.ordering else filters
        if wanted.search or wanted.glide or wanted.appeal_code:
            chosen = await self._selections.get((wanted, scope), lambda: self._select(wanted, scope))
        else:
            chosen = self._match_facets(wanted, scope)
        if terms and terms != DEFAULT_ORDERING:
            order = await self._orders.get((terms, language), lambda: self._build_order(terms, language))
            places = await self._ordinals.get(
                (wanted, scope, terms, language), lambda: asyncio.to_thread(order.ordinals, chosen)
            )
            return len(chosen), order.page(self.index, places, page.limit, page.offset)
        return len(chosen), self.index.page(chosen, page.limit, page.offset)

    async def _select(self, filters: EventFilters, scope: ViewerScope) -> BitMap:
        """The events that match, where sets alone do not tell."""
        index, version = self.index, self.index_version.version
        sets = [self._match_facets(filters, scope)]
        for word in search_words(filters.search):
            named = index.by_ids(await self._store.ids_by_name(fold_text(word), version))
            about = [f"c{country}" for country in self.reference_data.countries_matching(word)]
            about += [f"d{kind}" for kind in self.reference_data.types_matching(word)]
            sets.append(named | index.with_any_facet(*about))
        if filters.glide:
            sets.append(index.by_ids(await self._store.ids_by_glide(filters.glide, version)))
        if filters.appeal_code:
            sets.append(index.by_ids(await self._store.ids_by_appeal_code(filters.appeal_code, version)))
        return reduce(and_, sorted(sets, key=len))

    async def _build_order(self, terms: "ordering.Terms", language: Language) -> "ordering.EventOrder":
        # In a thread and not before: it brings numpy, which takes a tenth of a second, and its 16 MB.
        await asyncio.to_thread(import_module, "fieldgate.events.search.ordering")
        from fieldgate.events.search import ordering

        ranks = {
            field: await self._ranks.get((field, language), lambda field=field: self._build_ranks(field, language))  # type: ignore[misc]
            for field, _ in terms
        }
        return await asyncio.to_thread(ordering.build_order, terms, ranks, self.index.ids)

    async def _build_ranks(self, field: str, language: Language) -> "ordering.Ranks":
        from fieldgate.events.search import ordering

        if field in ordering.UNINDEXED_FIELDS:
            reading = ordering.RankBuilder(field, self.index, language)
            async for some in self._store.stream_packed(self.index_version.version):
                await asyncio.to_thread(reading.add, some)
            return await asyncio.to_thread(reading.build)
        return await asyncio.to_thread(ordering.indexed_ranks, field, self.index, self.reference_data, language)


class EventSearch:
    """Finds events in the state the database is in. Every process has one."""

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
        self._refresh_lock = asyncio.Lock()
        self._rebuild_task: asyncio.Task[None] | None = None
        self._stale_since: float | None = None

    async def find(
        self,
        filters: EventFilters,
        scope: ViewerScope,
        language: Language,
        page: PageRequest,
        snapshot: EventSnapshot | None = None,
    ) -> EventPage:
        """A page of the events that match, and how many do; in the view the caller has, if that can be read."""
        for _ in range(MAX_ATTEMPTS):
            snapshot = snapshot or await self.snapshot()
            with suppress(SnapshotExpired):
                return await snapshot.find(filters, scope, language, page)
            snapshot = None
            await self.wait_for_rebuild()
        raise ServiceUnavailable

    async def snapshot(self, known_versions: Sequence[int] = ()) -> EventSnapshot:
        """The events as of now, or, while a large index is made anew, as of a moment ago.

        Who has just asked for the versions of events and reference data hands them in.
        """
        version, directory_version = known_versions or await self._data_versions.versions((TOPIC, REFERENCE))
        view = self._snapshot
        if view is None or view.index_version.version < version:
            async with self._refresh_lock:
                view = self._snapshot
                if view is None or view.index_version.version < version:
                    view = self._snapshot = await self._refresh(view)
        if view.versions[1] < directory_version:
            known_as, directory = await self._reference.current_with_version()
            view = self._snapshot = self._make_snapshot(view.index_version, view.index, directory, known_as)
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
        """A document that was read beside the view, and may name what came after it."""
        view = await self.snapshot()
        try:
            return view.render(template, language, scope)
        except KeyError:
            known_as, directory = await self._reference.reload()
            return self._make_snapshot(view.index_version, view.index, directory, known_as).render(
                template, language, scope
            )

    async def _refresh(self, snapshot: EventSnapshot | None) -> EventSnapshot:
        if snapshot is None:
            return await self._build_snapshot()
        if self._rebuild_task is not None and not self._rebuild_task.done():
            return snapshot
        changes = await self._store.load_changes(snapshot.index_version)
        if changes is not None:
            standing, rows, gone = changes
            with suppress(RebuildRequired):
                index = await asyncio.to_thread(snapshot.index.with_changes, rows, gone)
                # After the events, which may name what was not known before.
                known_as, directory = await self._reference.reload()
                is_as_before = known_as == snapshot.versions[1]
                shown = (
                    snapshot.record_cache.transfer_unchanged({*(row.id for row in rows), *gone})
                    if is_as_before
                    else None
                )
                return self._make_snapshot(standing, index, directory, known_as, shown)
        if len(snapshot.index) <= self._max_blocking_rebuild_events:
            return await self._build_snapshot()
        self._rebuild_task = asyncio.create_task(self._rebuild_in_background())
        return snapshot

    async def _build_snapshot(self) -> EventSnapshot:
        standing, index = await self._store.load_index()
        known_as, directory = await self._reference.reload()
        return self._make_snapshot(standing, index, directory, known_as)

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

    async def _rebuild_in_background(self) -> None:
        try:
            self._snapshot = await self._build_snapshot()
        except Exception:  # the next request begins another one
            log.exception("the index of events could not be made")

    async def warm(self) -> None:
        """Make the index before somebody asks for it."""
        try:
            await self.snapshot()
        except Exception:
            log.exception("the index of events could not be made")

    async def wait_for_rebuild(self) -> None:
        """Wait for the index that is being made."""
        if self._rebuild_task is not None:
            await asyncio.wait([self._rebuild_task])

    @property
    def lag(self) -> float:
        """Seconds for which answers have been of an earlier state; 0 while they are of now."""
        return 0.0 if self._stale_since is None else _clock() - self._stale_since

    async def stop(self) -> None:
        if self._rebuild_task is not None:
            self._rebuild_task.cancel()
            with suppress(asyncio.CancelledError):
                await self._rebuild_task


def _match_facets(
    index: Index,
    reference_data: ReferenceData,
    regions: Mapping[int, BitMap],
    filters: EventFilters,
    scope: ViewerScope,
) -> BitMap:
    """The events that a caller sees and that match, as far as sets alone tell."""
    return reduce(
        and_, sorted([index.visible_to(scope), *matching_sets(index, reference_data, regions, filters)], key=len)
    )


def _clock() -> float:
    return asyncio.get_running_loop().time()
