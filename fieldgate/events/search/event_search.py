"""The events as they stand now: the index, kept up with the data, and what lists ask of it."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, partial, reduce
from importlib import import_module
from operator import and_
from typing import TYPE_CHECKING, Generic, TypeVar, cast

import msgspec
from pyroaring import BitMap

from fieldgate.db import DataVersions
from fieldgate.errors import ServiceUnavailable
from fieldgate.events.document_templates import Reader
from fieldgate.events.search.filters import EventFilters, in_regions, narrow, ordering_terms, search_words
from fieldgate.events.search.index import CannotApply, Index
from fieldgate.events.search.record_cache import Shown
from fieldgate.events.store import TOPIC, EventStore, Missed, Standing
from fieldgate.events.visibility import Sight
from fieldgate.i18n.languages import Language
from fieldgate.pagination import PageRequest
from fieldgate.reference.reference_data import ReferenceData, fold_text
from fieldgate.reference.store import TOPIC as REFERENCE
from fieldgate.reference.store import ReferenceStore

if TYPE_CHECKING:
    from fieldgate.events.search import ordering  # not at run time: it loads numpy

AT_ONCE = 100_000  # events whose index is made anew while the caller waits; beyond, beside the answers
KEPT_RECORDS = 24 * 1024 * 1024  # bytes, some 10,000 records
KEPT_SELECTIONS = 128
KEPT_ORDERS = 4  # some 8 MB each for a million events
KEPT_RANKS = 10  # of as many fields; some 4 MB each
USUAL = (("disaster_start_date", True),)  # the order of the index itself; clients like to name it
ATTEMPTS = 3  # at an answer, when the data runs away under it

log = logging.getLogger(__name__)

Value = TypeVar("Value")


class _Kept(Generic[Value]):
    """What was made lately, each once."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[object, asyncio.Future[Value]] = OrderedDict()

    async def get(self, key: object, make: Callable[[], Awaitable[Value]]) -> Value:
        making = self._values.get(key)
        if making is None:
            making = self._values[key] = asyncio.ensure_future(make())
            making.add_done_callback(lambda made: self._forget_failed(key, made))
            while len(self._values) > self._most:
                self._values.popitem(last=False)
        else:
            self._values.move_to_end(key)
        return await asyncio.shield(making)

    def _forget_failed(self, key: object, made: asyncio.Future[Value]) -> None:
        if (made.cancelled() or made.exception() is not None) and self._values.get(key) is made:
            del self._values[key]


class Found(msgspec.Struct, frozen=True):
    """What a list asks for: how many match, the records of the page as the caller is shown them, and the versions of
    the data they are of."""

    count: int
    records: list[bytes]
    versions: tuple[int, int]


class View:
    """One state of the events: never changes, and forgets nothing it was asked within its bounds."""

    def __init__(
        self,
        standing: Standing,
        index: Index,
        directory: ReferenceData,
        directory_version: int,
        store: EventStore,
        shown: Shown,
    ) -> None:
        self.standing = standing
        self.index = index
        self.directory = directory
        self.versions = (standing.version, directory_version)
        self.shown = shown
        self._store = store
        self._selections = _Kept[BitMap](KEPT_SELECTIONS)
        self._ranks = _Kept["ordering.Ranks"](KEPT_RANKS)
        self._orders = _Kept["ordering.Order"](KEPT_ORDERS)
        self._places = _Kept[BitMap](KEPT_SELECTIONS)
        # By partial, not by method: a view that refers to itself would stay in memory for a while.
        narrowed = partial(_narrowed, index, directory, in_regions(index, directory))
        self._narrowed = lru_cache(KEPT_SELECTIONS)(narrowed)
        self._readers = {language: Reader(directory, language) for language in Language}

    def read(self, document: bytes, language: Language, sight: Sight) -> bytes:
        """A document as a caller may see it."""
        return self._readers[language].read(document, sight)

    async def records(self, numbers: Sequence[int], language: Language, sight: Sight) -> list[bytes]:
        """The records of these events as a caller may see them."""
        to = (language, sight)
        found = self.shown.get(to, numbers)
        if all(found):
            return cast(list[bytes], found)
        missing = [number for number, record in zip(numbers, found, strict=True) if record is None]
        documents = await self._store.documents(missing, self.standing.version)
        reader = self._readers[language]
        read = {number: reader.read(each, sight) for number, each in zip(missing, documents, strict=True)}
        self.shown.put(to, read)
        return [record or read[number] for number, record in zip(numbers, found, strict=True)]

    async def find(self, filters: EventFilters, sight: Sight, language: Language, page: PageRequest) -> Found:
        """A page of the events that match."""
        count, numbers = await self.numbers(filters, sight, language, page)
        return Found(count, await self.records(numbers, language, sight), self.versions)

    async def numbers(
        self, filters: EventFilters, sight: Sight, language: Language, page: PageRequest
    ) -> tuple[int, list[int]]:
        """How many events match, and the ids of a page of them."""
        terms = ordering_terms(filters.ordering)
        wanted = msgspec.structs.replace(filters, ordering="") if filters.ordering else filters
        if wanted.search or wanted.glide or wanted.appeal_code:
            chosen = await self._selections.get((wanted, sight), lambda: self._select(wanted, sight))
        else:
            chosen = self._narrowed(wanted, sight)
        if terms and terms != USUAL:
            order = await self._orders.get((terms, language), lambda: self._order(terms, language))
            places = await self._places.get((wanted, sight, terms, language), lambda: _in_thread(order.places, chosen))
            return len(chosen), order.page(self.index, places, page.limit, page.offset)
        return len(chosen), self.index.page(chosen, page.limit, page.offset)

    async def _select(self, filters: EventFilters, sight: Sight) -> BitMap:
        """The events that match, where sets alone do not tell."""
        index, version = self.index, self.standing.version
        sets = [self._narrowed(filters, sight)]
        for word in search_words(filters.search):
            named = index.numbered(await self._store.named(fold_text(word), version))
            about = [f"c{country}" for country in self.directory.countries_matching(word)]
            about += [f"d{kind}" for kind in self.directory.types_matching(word)]
            sets.append(named | index.bearing(*about))
        if filters.glide:
            sets.append(index.numbered(await self._store.with_glide(filters.glide, version)))
        if filters.appeal_code:
            sets.append(index.numbered(await self._store.with_appeal(filters.appeal_code, version)))
        return reduce(and_, sorted(sets, key=len))

    async def _order(self, terms: "ordering.Terms", language: Language) -> "ordering.Order":
        # In a thread and not before: it brings numpy, which takes a tenth of a second, and its 16 MB.
        await _in_thread(import_module, "fieldgate.events.search.ordering")
        from fieldgate.events.search import ordering

        ranks = {
            field: await self._ranks.get((field, language), lambda field=field: self._rank(field, language))  # type: ignore[misc]
            for field, _ in terms
        }
        return await _in_thread(ordering.order, terms, ranks, self.index.ids)

    async def _rank(self, field: str, language: Language) -> "ordering.Ranks":
        from fieldgate.events.search import ordering

        if field in ordering.IN_RECORDS:
            reading = ordering.Reading(field, self.index, language)
            async for some in self._store.facts(self.standing.version):
                await _in_thread(reading.add, some)
            return await _in_thread(reading.ranks)
        return await _in_thread(ordering.held_ranks, field, self.index, self.directory, language)


class Events:
    """Finds events in the state the database is in. Every process has one."""

    def __init__(
        self,
        store: EventStore,
        reference: ReferenceStore,
        changes: DataVersions,
        *,
        at_once: int = AT_ONCE,
        kept_records: int = KEPT_RECORDS,
        tell_lag: Callable[[float], None] = lambda _: None,
    ) -> None:
        self._store = store
        self._reference = reference
        self._changes = changes
        self._at_once = at_once
        self._kept_records = kept_records
        self._tell_lag = tell_lag
        self._view: View | None = None
        self._turn = asyncio.Lock()
        self._remaking: asyncio.Task[None] | None = None
        self._behind_since: float | None = None

    async def find(
        self, filters: EventFilters, sight: Sight, language: Language, page: PageRequest, view: View | None = None
    ) -> Found:
        """A page of the events that match, and how many do; in the view the caller has, if that can be read."""
        for _ in range(ATTEMPTS):
            view = view or await self.view()
            with suppress(Missed):
                return await view.find(filters, sight, language, page)
            view = None
            await self.settle()
        raise ServiceUnavailable

    async def view(self, known: Sequence[int] = ()) -> View:
        """The events as of now, or, while a large index is made anew, as of a moment ago.

        Who has just asked for the versions of events and reference data hands them in.
        """
        version, directory_version = known or await self._changes.versions((TOPIC, REFERENCE))
        view = self._view
        if view is None or view.standing.version < version:
            async with self._turn:
                view = self._view
                if view is None or view.standing.version < version:
                    view = self._view = await self._renewed(view)
        if view.versions[1] < directory_version:
            known_as, directory = await self._reference.current_with_version()
            view = self._view = self._viewed(view.standing, view.index, directory, known_as)
        self._measure(is_behind=view.standing.version < version)
        return view

    def _measure(self, *, is_behind: bool) -> None:
        if not is_behind and self._behind_since is None:
            return
        if not is_behind:
            self._behind_since = None
        elif self._behind_since is None:
            self._behind_since = _clock()
        self._tell_lag(self.lag)

    async def said(self, document: bytes, language: Language, sight: Sight) -> bytes:
        """A document that was read beside the view, and may name what came after it."""
        view = await self.view()
        try:
            return view.read(document, language, sight)
        except KeyError:
            known_as, directory = await self._reference.reload()
            return self._viewed(view.standing, view.index, directory, known_as).read(document, language, sight)

    async def _renewed(self, view: View | None) -> View:
        if view is None:
            return await self._remade()
        if self._remaking is not None and not self._remaking.done():
            return view
        changes = await self._store.read_changes(view.standing)
        if changes is not None:
            standing, rows, gone = changes
            with suppress(CannotApply):
                index = await asyncio.to_thread(view.index.changed, rows, gone)
                # After the events, which may name what was not known before.
                known_as, directory = await self._reference.reload()
                is_as_before = known_as == view.versions[1]
                shown = view.shown.hand_on({*(row.id for row in rows), *gone}) if is_as_before else None
                return self._viewed(standing, index, directory, known_as, shown)
        if len(view.index) <= self._at_once:
            return await self._remade()
        self._remaking = asyncio.create_task(self._remake())
        return view

    async def _remade(self) -> View:
        standing, index = await self._store.read_index()
        known_as, directory = await self._reference.reload()
        return self._viewed(standing, index, directory, known_as)

    def _viewed(
        self, standing: Standing, index: Index, directory: ReferenceData, known_as: int, shown: Shown | None = None
    ) -> View:
        return View(standing, index, directory, known_as, self._store, shown or Shown(self._kept_records))

    async def _remake(self) -> None:
        try:
            self._view = await self._remade()
        except Exception:  # the next request begins another one
            log.exception("the index of events could not be made")

    async def warm(self) -> None:
        """Make the index before somebody asks for it."""
        try:
            await self.view()
        except Exception:
            log.exception("the index of events could not be made")

    async def settle(self) -> None:
        """Wait for the index that is being made."""
        if self._remaking is not None:
            await asyncio.wait([self._remaking])

    @property
    def lag(self) -> float:
        """Seconds for which answers have been of an earlier state; 0 while they are of now."""
        return 0.0 if self._behind_since is None else _clock() - self._behind_since

    async def stop(self) -> None:
        if self._remaking is not None:
            self._remaking.cancel()
            with suppress(asyncio.CancelledError):
                await self._remaking


def _narrowed(
    index: Index, directory: ReferenceData, regions: Mapping[int, BitMap], filters: EventFilters, sight: Sight
) -> BitMap:
    """The events that a caller sees and that match, as far as sets alone tell."""
    return reduce(and_, sorted([index.seen(sight), *narrow(index, directory, regions, filters)], key=len))


def _clock() -> float:
    return asyncio.get_running_loop().time()


async def _in_thread(work: Callable[..., Value], *arguments: object) -> Value:
    return await asyncio.to_thread(work, *arguments)
