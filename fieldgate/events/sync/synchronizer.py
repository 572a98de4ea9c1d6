"""Synchronization: pull events from another server with this API, all of them or those changed since the last run.

    async with RemoteServer("https://goadmin.ifrc.org", token) as remote:
        report = await Synchronizer(remote, database, store, reference, on_failure).run()

Each page is saved in one transaction together with the progress, so the next run continues after an interruption.
Events are deleted only if the remote server lists them as deleted.
"""

import asyncio
from collections.abc import Callable, Collection
from datetime import datetime, timedelta

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
from fieldgate.events.store import EventStore
from fieldgate.events.sync import page_reader, sync_state
from fieldgate.events.sync.merge_translations import merge_translations
from fieldgate.events.sync.page_reader import (
    EVENTS_PATH,
    PageReader,
    RecordByLanguage,
    SyncPage,
    is_inconsistent,
    record_id,
    valid_id,
)
from fieldgate.events.sync.reference_sync import COUNTRIES_PATH, ReferenceSync
from fieldgate.events.sync.remote import RemoteNotFound, RemoteServer
from fieldgate.events.sync.sync_state import SyncState
from fieldgate.i18n.languages import Language
from fieldgate.reference.reference_data import ReferenceData
from fieldgate.reference.store import ReferenceStore

DELETED_PATH = "event/deleted/"
SINCE_MARGIN = timedelta(minutes=5)  # requested again: clocks differ, and writes under way were not visible
MAX_FAILING_EVENTS = 10_000  # requested again by id; with more of them, the next run pulls everything
ID_BATCH_SIZE = 100
MAX_CACHED_RECORDS = 10_000  # records this run need not write again
CHANGED_DURING_READ = "The event kept changing while it was read. The next run requests it again."
LIST_CHANGED_DURING_READ = (
    "The lists kept changing while they were read, and records may be missing. Run the command again."
)

ProgressCallback = Callable[[int, int], None]  # records done, records in total


class SyncReport(msgspec.Struct):
    """The result of a run."""

    events: BulkWriteResult
    countries: int = 0
    types: int = 0
    since: datetime | None = None  # only events changed since then were requested
    resumed: bool = False  # the run continued an interrupted one


def _ignore_progress(done: int, total: int) -> None:
    pass


class Synchronizer:
    """Pulls events, countries and disaster types from a remote server."""

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
        self._seen_versions = BoundedCache[str, str](MAX_CACHED_RECORDS)  # `updated_at` of records seen in this run

    async def run(self, since: datetime | None = None, *, full: bool = False) -> SyncReport:
        """Pull everything, or what changed since `since`, by default since the start of the last complete run."""
        report = SyncReport(BulkWriteResult())
        probe = await self._remote.get_page(COUNTRIES_PATH, Language.ENGLISH, limit=1, who_are_you="fieldgate")
        # Only a Fieldgate server names unknown parameters. It can order by id, and falls back to the original language.
        self._is_fieldgate = "who_are_you" in probe.unknown_parameters
        self._reader = PageReader(self._remote, is_fieldgate=self._is_fieldgate)
        self._reference_sync = ReferenceSync(
            self._database, self._reference, self._reader, english_first=not self._is_fieldgate
        )
        report.countries, report.types = await self._reference_sync.pull()

        state = await self._start(report, since, full=full, timestamp=probe.timestamp)
        if state.is_filtered:
            state = await self._pull_failing(state, report)
        state = await self._pull_events(state, report)
        # Without a token, events that were only hidden are listed as deleted. A copy made with a token keeps them.
        if self._remote.has_token or not (await self._load_state(with_token=True)).finished:
            report.events.deleted = await self._pull_deleted(state.since)
        await self._finish(state, report)
        return report

    async def _start(self, report: SyncReport, since: datetime | None, *, full: bool, timestamp: datetime) -> SyncState:
        """Continue an interrupted run that requested the same, or begin a new one."""
        state = await self._load_state(with_token=self._remote.has_token)
        if since is None and not full and state.finished is not None:
            since = state.finished - SINCE_MARGIN
        is_filtered = since is not None and await self._supports_changed_since(since)
        report.since = since if is_filtered else None
        if state.can_resume(since, is_filtered=is_filtered):
            report.resumed = True
            return state
        failing = state.failing if is_filtered else ()
        return msgspec.structs.replace(
            state, began=timestamp, since=since, is_filtered=is_filtered, reached=0, failing=failing
        )

    async def _finish(self, state: SyncState, report: SyncReport) -> None:
        if self._reader.list_changed:
            self._on_failure(WriteFailure(self._remote.source, "", LIST_CHANGED_DURING_READ))
            report.events.failed += 1
        # Unless the run is marked as finished, the next one requests the same again.
        if state.is_contiguous and not self._reader.list_changed and len(state.failing) <= MAX_FAILING_EVENTS:
            state = msgspec.structs.replace(state, finished=state.began)
        async with self._database.transaction() as connection:
            await sync_state.save_state(connection, msgspec.structs.replace(state, began=None, reached=0))

    async def _load_state(self, *, with_token: bool) -> SyncState:
        return await sync_state.load_state(self._database, self._remote.source, with_token=with_token)

    async def _supports_changed_since(self, since: datetime) -> bool:
        """Whether the server supports `updated_at__gte`. A server that does not may silently return all events."""
        parameters = {"updated_at__gte": _isoformat(since)}
        everything, changed = await asyncio.gather(
            self._remote.get_page(EVENTS_PATH, Language.ENGLISH, limit=1),
            self._remote.get_page(EVENTS_PATH, Language.ENGLISH, limit=1, **parameters),
        )
        return "updated_at__gte" not in changed.unknown_parameters and changed.count < everything.count

    async def _pull_failing(self, state: SyncState, report: SyncReport) -> SyncState:
        """Request the events again that failed in the last run."""
        ids = [str(id_) for id_ in state.failing]
        state = msgspec.structs.replace(state, failing=())  # events that no longer exist are forgotten
        batch_size = ID_BATCH_SIZE if self._is_fieldgate else 1
        for batch in (ids[start : start + batch_size] for start in range(0, len(ids), batch_size)):
            parameters = {"id__in": ",".join(batch)} if self._is_fieldgate else {"id": batch[0]}
            async for page in self._reader.pages(EVENTS_PATH, parameters):
                state = await self._write_page(state, page, state.reached, report)
        return state

    async def _pull_events(self, state: SyncState, report: SyncReport) -> SyncState:
        parameters = {"updated_at__gte": _isoformat(state.since)} if state.is_filtered and state.since else {}
        # The list may have become shorter since the interruption, so the last page is read again.
        offset = max(0, state.reached - page_reader.PAGE_SIZE)
        async for page in self._reader.pages(EVENTS_PATH, parameters, offset):
            state = await self._write_page(state, page, page.end, report)
            self._on_progress(page.end, page.count)
        return state

    async def _write_page(self, state: SyncState, page: SyncPage, reached: int, report: SyncReport) -> SyncState:
        """Save the records of a page that this run has not seen, and the progress."""
        self._report_records_without_id(page, report)
        events = {
            id_: by_language for id_, by_language in page.records.items() if self._is_unseen(str(id_), by_language)
        }
        inconsistent = [id_ for id_, by_language in events.items() if is_inconsistent(by_language)]
        for id_ in inconsistent:  # saving the event would lose the translations that were not seen
            self._on_failure(WriteFailure(f"event {id_}", "", CHANGED_DURING_READ))
            report.events.failed += 1
            del events[id_]
        if self._remote.has_token:
            details = await asyncio.gather(*(self._with_detail(by_language) for by_language in events.values()))
            events = dict(zip(events, details, strict=True))
        reference_data = await self._reference_sync.add_missing(events.values())
        pending = [self._pending_record(id_, by_language, reference_data) for id_, by_language in events.items()]

        async def save_progress(writer: EventWriter, failed: Collection[int]) -> None:
            nonlocal state
            failing = (set(state.failing) - events.keys()).union(failed, inconsistent)
            state = msgspec.structs.replace(state, reached=reached, failing=tuple(sorted(failing)))
            await sync_state.save_state(writer.connection, state)

        report.events.add(await write_records(self._store, pending, self._on_failure, save_progress))
        return state

    def _report_records_without_id(self, page: SyncPage, report: SyncReport) -> None:
        for record in page.without_id:
            if self._is_unseen(str(record), {Language.ENGLISH: record}):
                location = f"record {str(record.get('id'))[:40]!r}"
                self._on_failure(WriteFailure(location, "id", "A whole number is needed."))
                report.events.failed += 1

    def _is_unseen(self, key: str, by_language: RecordByLanguage) -> bool:
        """Whether this run has not seen this version of the record yet."""
        version = str(next(iter(by_language.values())).get("updated_at"))
        if self._seen_versions.get(key) == version:
            return False
        self._seen_versions.put(key, version)
        return True

    def _pending_record(self, id_: int, by_language: RecordByLanguage, reference_data: ReferenceData) -> PendingRecord:
        record = merge_translations(by_language)
        return PendingRecord(id_, f"event {id_}", lambda before: parse_event(record, reference_data, before=before))

    async def _with_detail(self, by_language: RecordByLanguage) -> RecordByLanguage:
        """Add the fields that only the detail record has. Few events have translated texts among them."""
        path = f"{EVENTS_PATH}{record_id(by_language)}/"
        try:
            english = await self._remote.get_record(path, Language.ENGLISH)
            details = dict.fromkeys(by_language, english)
            if english.get("key_figures") or english.get("links"):
                others = [language for language in by_language if language is not Language.ENGLISH]
                records = await asyncio.gather(*(self._remote.get_record(path, language) for language in others))
                details |= dict(zip(others, records, strict=True))
        except RemoteNotFound:
            return by_language
        return {language: {**details[language], **record} for language, record in by_language.items()}

    async def _pull_deleted(self, since: datetime | None) -> int:
        """Delete the events the server lists as deleted. Returns how many; 0 if it has no such list."""
        parameters = {} if since is None else {"since": _isoformat(since)}
        deleted: list[int] = []
        try:
            while True:
                page = await self._remote.get_page(
                    DELETED_PATH, Language.ENGLISH, limit=page_reader.PAGE_SIZE, offset=len(deleted), **parameters
                )
                ids = [id_ for record in page.results if (id_ := valid_id(record)) is not None]
                deleted += ids
                if not ids or len(deleted) >= page.count:
                    break
        except RemoteNotFound:
            return 0
        return await self._store.delete(deleted) if deleted else 0


def _isoformat(timestamp: datetime) -> str:
    return timestamp.isoformat().replace("+00:00", "Z")
