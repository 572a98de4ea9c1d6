"""Events pulled from another server with this interface: all of them, or what changed since the last time.

    async with Far("https://goadmin.ifrc.org", token) as far:
        report = await Sync(far, database, store, reference, tell).run()

Every page is written in one transaction together with how far it went, so that whoever was killed goes on from
there. Nothing is deleted but what the other server says it has deleted.
"""

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

import msgspec

from fieldgate.cache import BoundedCache
from fieldgate.db import Database
from fieldgate.events.event_writer import EventWriter
from fieldgate.events.ingest.bulk_write import (
    BulkWriteResult,
    FailureCallback,
    PendingRecord,
    WriteFailure,
    write_records,
)
from fieldgate.events.ingest.parsing import parse_event
from fieldgate.events.model import MAX_ID
from fieldgate.events.store import EventStore
from fieldgate.events.sync import sync_state
from fieldgate.events.sync.merge_translations import merge_translations
from fieldgate.events.sync.remote import RemoteNotFound, RemotePage, RemoteServer
from fieldgate.events.sync.sync_state import SyncState
from fieldgate.i18n.languages import Language
from fieldgate.reference.parsing import InvalidReferenceRecord, parse_country, parse_disaster_type
from fieldgate.reference.reference_data import ReferenceData
from fieldgate.reference.store import ReferenceStore

EVENTS_PATH, DELETED_PATH = "event/", "event/deleted/"
COUNTRIES_PATH, TYPES_PATH = "country/", "disaster_type/"
PAGE_SIZE = 500  # records
MAX_PREFETCHED_PAGES = 4
SINCE_MARGIN = timedelta(minutes=5)  # asked for once more: clocks differ, and what was being written then was not seen
PAGE_OVERLAP = 5  # records of a page that are asked for once more with the next, to see that nothing moved in between
MAX_REREADS = 3  # of a record that changed while it was read, or of a list that moved
MAX_FAILING_EVENTS = 10_000  # events that are asked for again by their ids; with more of them, all are
ID_BATCH_SIZE = 100
MAX_CACHED_RECORDS = 10_000  # records of this run that need not be written again
CHANGED_DURING_READ = "It changed all the time while it was read. The next run asks for it again."
LIST_CHANGED_DURING_READ = (
    "The lists changed all the time while they were read, and records may be missing. Run the command again."
)

Record = dict[str, Any]
RecordByLanguage = dict[Language, Record]  # one record in every language
ProgressCallback = Callable[[int, int], None]  # how many of how many


class SyncReport(msgspec.Struct):
    """What a sync did."""

    events: BulkWriteResult
    countries: int = 0
    types: int = 0
    since: datetime | None = None  # only what changed since was asked for
    resumed: bool = False  # an earlier run had begun it


class _SyncPage(msgspec.Struct, frozen=True):
    offset: int
    ids: list[Any]  # of the records the server gave, as it gave them
    count: int
    records: dict[int, RecordByLanguage]
    without_id: list[Record]  # without an id we can take

    @property
    def end(self) -> int:
        return self.offset + len(self.ids)


def _ignore_progress(done: int, total: int) -> None:
    """Nobody looks."""


class Sync:
    def __init__(
        self,
        remote: RemoteServer,
        database: Database,
        store: EventStore,
        reference: ReferenceStore,
        on_failure: FailureCallback,
        on_progress: ProgressCallback = _ignore_progress,
    ) -> None:
        self._remote = remote
        self._database = database
        self._store = store
        self._reference = reference
        self._on_failure = on_failure
        self._on_progress = on_progress
        self._is_fieldgate = False
        self._list_changed = False  # a list, each time it was read
        self._seen_versions = BoundedCache[str, str](MAX_CACHED_RECORDS)  # last change of the records seen

    async def run(self, since: datetime | None = None, *, full: bool = False) -> SyncReport:
        """Pull everything, or what changed since a moment: the one given, or the beginning of the last whole sync."""
        report = SyncReport(BulkWriteResult())
        first = await self._remote.get_page(COUNTRIES_PATH, Language.ENGLISH, limit=1, who_are_you="fieldgate")
        # Only our own servers name what they do not know. They order by id, and fall back to the original language.
        self._is_fieldgate = "who_are_you" in first.unknown_parameters
        report.countries, report.types = await self._pull_reference()

        state = await self._load_state(with_token=self._remote.has_token)
        if since is None and not full and state.finished is not None:
            since = state.finished - SINCE_MARGIN
        is_filtered = since is not None and await self._supports_changed_since(since)
        if state.can_resume(since, is_filtered=is_filtered):
            report.resumed = True
        else:
            failing = state.failing if is_filtered else ()
            state = msgspec.structs.replace(
                state, began=first.timestamp, since=since, is_filtered=is_filtered, reached=0, failing=failing
            )
        report.since = since if is_filtered else None

        if state.is_filtered:
            state = await self._pull_failing(state, report)
        state = await self._pull_events(state, report)
        # For the public also what was only hidden from it is gone: who has a copy with more asks with a token.
        if self._remote.has_token or not (await self._load_state(with_token=True)).finished:
            report.events.deleted = await self._pull_deleted(since)
        if self._list_changed:
            self._on_failure(WriteFailure(self._remote.source, "", LIST_CHANGED_DURING_READ))
            report.events.failed += 1
        # Else the next run asks for the same once more.
        if state.is_contiguous and not self._list_changed and len(state.failing) <= MAX_FAILING_EVENTS:
            state = msgspec.structs.replace(state, finished=state.began)
        async with self._database.transaction() as connection:
            await sync_state.save_state(connection, msgspec.structs.replace(state, began=None, reached=0))
        return report

    async def _load_state(self, *, with_token: bool) -> SyncState:
        return await sync_state.load_state(self._database, self._remote.source, with_token=with_token)

    async def _supports_changed_since(self, since: datetime) -> bool:
        """Whether the server knows `updated_at__gte`: one that does not may say nothing, and give all there is."""
        asked = {"updated_at__gte": _isoformat(since)}
        every, changed = await asyncio.gather(
            self._remote.get_page(EVENTS_PATH, Language.ENGLISH, limit=1),
            self._remote.get_page(EVENTS_PATH, Language.ENGLISH, limit=1, **asked),
        )
        return "updated_at__gte" not in changed.unknown_parameters and changed.count < every.count

    # Countries and disaster types

    async def _pull_reference(self) -> tuple[int, int]:
        return await self._upsert_reference(
            await self._fetch_all(COUNTRIES_PATH, {"mini": "true"}), await self._fetch_all(TYPES_PATH, {})
        )

    async def _fetch_all(self, path: str, parameters: Mapping[str, str]) -> list[RecordByLanguage]:
        """All records of a list. By name they stand on other pages in other languages."""
        found: dict[int, RecordByLanguage] = defaultdict(dict)
        async for page in self._iter_pages(path, parameters):
            for number, spoken in page.records.items():
                found[number] |= spoken
        return list(found.values())

    async def _upsert_reference(
        self, countries: Iterable[RecordByLanguage], types: Iterable[RecordByLanguage]
    ) -> tuple[int, int]:
        """Take over countries and disaster types; how many changed."""
        directory = await self._reference.current()
        new_countries, new_types = [], []
        for spoken in countries:
            seen, number = _by_code(spoken), _record_id(spoken)
            with suppress(InvalidReferenceRecord):  # an event that needs it says what is missing
                new_countries.append(
                    parse_country(seen, directory.countries.get(number), english_first=not self._is_fieldgate)
                )
        for spoken in types:
            seen, number = _by_code(spoken), _record_id(spoken)
            with suppress(InvalidReferenceRecord):
                new_types.append(
                    parse_disaster_type(seen, directory.types.get(number), english_first=not self._is_fieldgate)
                )
        async with self._database.transaction() as connection:
            return (
                await self._reference.upsert_countries(connection, new_countries),
                await self._reference.upsert_disaster_types(connection, new_types),
            )

    async def _upsert_missing_reference(self, records: Iterable[RecordByLanguage]) -> ReferenceData:
        """The directory, with what events name and no list has, such as countries no longer in use."""
        directory = await self._reference.current()
        countries: dict[int, RecordByLanguage] = defaultdict(dict)
        types: dict[int, RecordByLanguage] = defaultdict(dict)
        for each in records:
            for language, record in each.items():
                for country in _countries_in(record):
                    if country.get("id") not in directory.countries:
                        countries[country["id"]][language] = country
                kind = record.get("dtype")
                if isinstance(kind, dict) and isinstance(kind.get("id"), int) and kind["id"] not in directory.types:
                    types[kind["id"]][language] = kind
        if countries or types:
            await self._upsert_reference(countries.values(), types.values())
        return await self._reference.current()

    # Events

    async def _pull_failing(self, state: SyncState, report: SyncReport) -> SyncState:
        """What could not be taken the last time, once more."""
        wanted = [str(number) for number in state.failing]
        state = msgspec.structs.replace(state, failing=())  # what is no longer there is not asked for again
        step = ID_BATCH_SIZE if self._is_fieldgate else 1
        for some in (wanted[start : start + step] for start in range(0, len(wanted), step)):
            asked = {"id__in": ",".join(some)} if self._is_fieldgate else {"id": some[0]}
            async for page in self._iter_pages(EVENTS_PATH, asked):
                state = await self._write_page(state, page, state.reached, report)
        return state

    async def _pull_events(self, state: SyncState, report: SyncReport) -> SyncState:
        asked = {"updated_at__gte": _isoformat(state.since)} if state.is_filtered and state.since else {}
        # A list that has become shorter meanwhile has moved up: the last page is looked at once more.
        async for page in self._iter_pages(EVENTS_PATH, asked, max(0, state.reached - PAGE_SIZE)):
            state = await self._write_page(state, page, page.end, report)
            self._on_progress(page.end, page.count)
        return state

    async def _write_page(self, state: SyncState, page: _SyncPage, reached: int, report: SyncReport) -> SyncState:
        """Write what a page has of news."""
        found = {number: spoken for number, spoken in page.records.items() if self._is_unseen(str(number), spoken)}
        for record in page.without_id:
            if self._is_unseen(str(record), {Language.ENGLISH: record}):
                self._on_failure(
                    WriteFailure(f"record {str(record.get('id'))[:40]!r}", "id", "A whole number is needed.")
                )
                report.events.failed += 1
        torn = [number for number, spoken in found.items() if _is_inconsistent(spoken)]
        for number in torn:  # a translation that was not seen would be lost
            self._on_failure(WriteFailure(f"event {number}", "", CHANGED_DURING_READ))
            report.events.failed += 1
            del found[number]
        if self._remote.has_token:
            details = await asyncio.gather(*(self._with_detail(spoken) for spoken in found.values()))
            found = dict(zip(found, details, strict=True))
        directory = await self._upsert_missing_reference(found.values())
        waiting = [self._pending_record(number, spoken, directory) for number, spoken in found.items()]

        async def keep(writing: EventWriter, failed: Collection[int]) -> None:
            nonlocal state
            failing = (set(state.failing) - found.keys()).union(failed, torn)
            state = msgspec.structs.replace(state, reached=reached, failing=tuple(sorted(failing)))
            await sync_state.save_state(writing.connection, state)

        report.events.add(await write_records(self._store, waiting, self._on_failure, keep))
        return state

    def _is_unseen(self, key: str, by_language: RecordByLanguage) -> bool:
        """Whether this run has not seen a record in this state yet."""
        changed = str(next(iter(by_language.values())).get("updated_at"))
        if self._seen_versions.get(key) == changed:
            return False
        self._seen_versions.put(key, changed)
        return True

    def _pending_record(self, id_: int, by_language: RecordByLanguage, reference_data: ReferenceData) -> PendingRecord:
        record = merge_translations(by_language, english_first=not self._is_fieldgate)
        return PendingRecord(id_, f"event {id_}", lambda before: parse_event(record, reference_data, before=before))

    async def _with_detail(self, by_language: RecordByLanguage) -> RecordByLanguage:
        """A record of a list, and what only the record alone tells. Most of that needs no other language."""
        path = f"{EVENTS_PATH}{_record_id(by_language)}/"
        try:
            alone = await self._remote.get_record(path, Language.ENGLISH)
            details = dict.fromkeys(by_language, alone)
            if alone.get("key_figures") or alone.get("links"):
                others = [language for language in by_language if language is not Language.ENGLISH]
                found = await asyncio.gather(*(self._remote.get_record(path, language) for language in others))
                details |= dict(zip(others, found, strict=True))
        except RemoteNotFound:
            return by_language
        return {language: {**details[language], **record} for language, record in by_language.items()}

    async def _pull_deleted(self, since: datetime | None) -> int:
        """Delete what the other server says it has deleted, where it can say so."""
        asked = {} if since is None else {"since": _isoformat(since)}
        gone: list[int] = []
        try:
            while True:
                page = await self._remote.get_page(
                    DELETED_PATH, Language.ENGLISH, limit=PAGE_SIZE, offset=len(gone), **asked
                )
                numbers = [number for record in page.results if (number := _valid_id(record)) is not None]
                gone += numbers
                if not numbers or len(gone) >= page.count:
                    break
        except RemoteNotFound:
            return 0
        return await self._store.delete(gone) if gone else 0

    # Pages

    async def _iter_pages(self, path: str, parameters: Mapping[str, str], offset: int = 0) -> AsyncIterator[_SyncPage]:
        """All pages of a list in their order, some asked for ahead, each with the end of the one before.

        Where a page does not go on from there, the list has moved: by id it is gone back in, else begun anew.
        """
        parameters = {**parameters, "ordering": "id"} if self._is_fieldgate else parameters
        overlap, step, rereads = 0, 0, 0
        following, end, count = offset, 0, offset + 1
        last: list[Any] = []  # ids
        ahead: deque[asyncio.Task[_SyncPage]] = deque()
        try:
            while True:
                while (not following or following + overlap < count) and len(ahead) < (
                    MAX_PREFETCHED_PAGES if step else 1
                ):
                    ahead.append(asyncio.create_task(self._fetch_page(path, parameters, following)))
                    following += step
                if not ahead:
                    return
                page = await ahead.popleft()
                count = page.count
                if last and page.offset and not self._continues(last, page):
                    if self._is_fieldgate or rereads < MAX_REREADS:
                        await _cancel(ahead)
                        rereads += 1
                        following = end = max(0, page.offset - step) if self._is_fieldgate else 0
                        continue
                    self._list_changed = True
                if page.end <= end:
                    return
                yield page
                if not step:
                    overlap = min(1 if self._is_fieldgate else PAGE_OVERLAP, len(page.ids) // 2)
                    step = len(page.ids) - overlap
                    following = page.end - overlap
                elif len(page.ids) < overlap + step and page.end < count:
                    await _cancel(ahead)
                    following = page.end - overlap
                last, end = page.ids[len(page.ids) - overlap :], page.end
        finally:
            await _cancel(ahead)

    def _continues(self, last: list[Any], page: _SyncPage) -> bool:
        """Whether a page leaves nothing out after the last records."""
        if self._is_fieldgate:
            return bool(page.ids) and page.ids[0] <= last[-1]
        return page.ids[: len(last)] == last

    async def _fetch_page(self, path: str, parameters: Mapping[str, str], offset: int) -> _SyncPage:
        pages = await self._fetch_all_languages(path, limit=PAGE_SIZE, offset=offset, **parameters)
        found = _group_by_id({language: page.results for language, page in pages.items()})
        torn = [number for number, spoken in found.items() if _is_inconsistent(spoken)]
        for number in torn if path == EVENTS_PATH else ():
            again = await self._reread(number, found.pop(number))
            found |= {number: again} if again else {}
        first = pages[Language.ENGLISH]
        nameless = [record for record in first.results if _valid_id(record) is None]
        return _SyncPage(offset, [record.get("id") for record in first.results], first.count, found, nameless)

    async def _reread(self, id_: int, by_language: RecordByLanguage) -> RecordByLanguage | None:
        """A record that was not the same in all languages, since it changed meanwhile. None if it is gone."""
        for _ in range(MAX_REREADS):
            pages = await self._fetch_all_languages(EVENTS_PATH, id=id_)
            found = _group_by_id({language: page.results for language, page in pages.items()})
            if not found:
                return None
            by_language = found.get(id_, by_language)
            if not _is_inconsistent(by_language):
                break
        return by_language

    async def _fetch_all_languages(self, path: str, **parameters: Any) -> dict[Language, RemotePage]:
        languages = tuple(Language)
        pages = await asyncio.gather(*(self._remote.get_page(path, language, **parameters) for language in languages))
        return dict(zip(languages, pages, strict=True))


def _group_by_id(lists: Mapping[Language, Iterable[Record]]) -> dict[int, RecordByLanguage]:
    """The records of the same list in several languages, by id."""
    found: dict[int, RecordByLanguage] = {}
    for language, results in lists.items():
        for record in results:
            number = _valid_id(record)
            if number is not None:
                found.setdefault(number, {})[language] = record
    return found


def _is_inconsistent(by_language: RecordByLanguage) -> bool:
    return (
        len(by_language) < len(Language) or len({str(record.get("updated_at")) for record in by_language.values()}) > 1
    )


def _countries_in(record: Record) -> list[Record]:
    listed = [*_objects(record.get("countries"))]
    for report in _objects(record.get("field_reports")):
        listed += _objects(report.get("countries"))
    return [country for country in listed if isinstance(country.get("id"), int)]


def _objects(value: Any) -> list[Record]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _by_code(by_language: RecordByLanguage) -> dict[str, Record]:
    return {language.value: record for language, record in by_language.items()}


def _record_id(by_language: RecordByLanguage) -> int:
    return int(next(iter(by_language.values()))["id"])


def _valid_id(record: Record) -> int | None:
    number = record.get("id")
    return number if isinstance(number, int) and 0 <= number <= MAX_ID else None


def _isoformat(timestamp: datetime) -> str:
    return timestamp.isoformat().replace("+00:00", "Z")


async def _cancel(tasks: deque[asyncio.Task[_SyncPage]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    tasks.clear()
