"""Synchronization: pull events from another server with this API, all of them or those changed since the last run.

    async with RemoteServer("https://goadmin.ifrc.org", token) as remote:
        report = await Synchronizer(remote, database, store, reference, on_failure).run()

Each batch of events is saved in one transaction together with the progress, so the next run continues after an
interruption. Events that the server no longer lists are requested by id, and deleted if it does not have them any more
(`deletions.py`).
"""

from datetime import datetime, timedelta

import msgspec

from fieldgate.db import AsyncDatabase
from fieldgate.events.event_writer import BulkWriteResult
from fieldgate.events.ingest.bulk_write import FailureCallback, WriteFailure
from fieldgate.events.store import EventStore
from fieldgate.events.sync import sync_state
from fieldgate.events.sync.deletions import MAX_MISSING_PERCENT, MissingEvents, TooManyMissing
from fieldgate.events.sync.event_puller import EventPuller, ProgressCallback, ignore_progress
from fieldgate.events.sync.page_reader import EVENTS_PATH, PageReader
from fieldgate.events.sync.reference_sync import COUNTRIES_PATH, ReferenceSync
from fieldgate.events.sync.remote import RemoteServer, gather_or_cancel
from fieldgate.events.sync.sync_state import SyncState
from fieldgate.i18n.languages import Language
from fieldgate.reference.store import ReferenceStore

SINCE_MARGIN = timedelta(
    minutes=5
)  # requested again: clocks differ, and writes under way were not visible
MAX_FAILING_EVENTS = (
    10_000  # requested again by id; with more of them, the next run pulls everything
)
ID_BATCH_SIZE = 100
LIST_CHANGED_DURING_READ = (
    "The lists kept changing while they were read, and records may be missing. "
    "Run the command again."
)


class SyncOptions(msgspec.Struct, frozen=True):
    """What a run pulls, and which deletions it makes."""

    since: datetime | None = None  # by default the start of the last complete run
    full: bool = False  # pull everything, with all details
    keep_missing: bool = False  # delete nothing
    max_missing_percent: int = MAX_MISSING_PERCENT  # delete nothing if more events are missing
    take_over: bool = False  # write events of other sources too


DEFAULT_OPTIONS = SyncOptions()


class SyncReport(msgspec.Struct):
    """The result of a run."""

    events: BulkWriteResult
    countries: int = 0
    types: int = 0
    since: datetime | None = None  # only events changed since then were requested
    resumed: bool = False  # the run continued an interrupted one
    requested_by_id: int = 0  # events that were not in the list
    missing_unchecked: bool = (
        False  # the list changed while it was read, so missing events were not requested
    )
    of_other_sources: int = 0  # events in the list that were not written
    problem: str = ""  # why missing events were not deleted


class Synchronizer:
    """Pulls events, countries and disaster types from a remote server."""

    def __init__(
        self,
        remote: RemoteServer,
        database: AsyncDatabase,
        store: EventStore,
        reference: ReferenceStore,
        on_failure: FailureCallback,
        on_progress: ProgressCallback = ignore_progress,
    ) -> None:
        self._remote = remote
        self._database = database
        self._store = store
        self._reference = reference
        self._on_failure = on_failure
        self._on_progress = on_progress

    async def run(self, options: SyncOptions = DEFAULT_OPTIONS) -> SyncReport:
        """Pull everything, or what changed since the start of the last complete run."""
        report = SyncReport(BulkWriteResult())
        probe = await self._remote.get_page(
            COUNTRIES_PATH, Language.ENGLISH, limit=1, who_are_you="fieldgate"
        )
        # Only a Fieldgate server names unknown parameters. It can order by id, and falls back to the original language.
        self._is_fieldgate = "who_are_you" in probe.unknown_parameters
        self._reader = PageReader(self._remote, is_fieldgate=self._is_fieldgate)
        reference_sync = ReferenceSync(
            self._database, self._reference, self._reader, english_first=not self._is_fieldgate
        )
        self._puller = EventPuller(
            self._remote,
            self._database,
            self._store,
            reference_sync,
            self._on_failure,
            is_fieldgate=self._is_fieldgate,
            take_over=options.take_over,
        )
        report.countries, report.types = await reference_sync.pull()

        state = await self._start(report, options, timestamp=probe.timestamp)
        if state.is_filtered:
            state = await self._pull_failing(state, report)
        state = await self._pull_events(state, report)
        if reference_sync.is_outdated:  # renamed during the run
            countries, types = await reference_sync.pull()
            report.countries, report.types = report.countries + countries, report.types + types
        if not options.keep_missing:
            await self._resolve_missing(state, report, options.max_missing_percent)
        report.of_other_sources = len(self._puller.of_other_sources)
        await self._finish(state, report)
        return report

    async def _start(
        self, report: SyncReport, options: SyncOptions, *, timestamp: datetime
    ) -> SyncState:
        """Continue an interrupted run that requested the same, or begin a new one."""
        state = await sync_state.load_state(
            self._database, self._remote.source, with_token=self._remote.has_token
        )
        if state.began is not None and state.is_full and options.since is None:  # it requests more
            report.resumed = True
            return state
        since = options.since
        if since is None and not options.full and state.finished is not None:
            since = state.finished - SINCE_MARGIN
        is_filtered = since is not None and await self._supports_changed_since(since)
        report.since = since if is_filtered else None
        if state.can_resume(since, is_filtered=is_filtered, full=options.full):
            report.resumed = True
            return state
        number = await sync_state.next_number(self._database)
        return SyncState(
            source=state.source,
            with_token=state.with_token,
            finished=state.finished,
            began=timestamp,
            since=since,
            is_filtered=is_filtered,
            is_full=options.full,
            run=number,
            walk=number,
            failing=state.failing if is_filtered else (),
        )

    async def _finish(self, state: SyncState, report: SyncReport) -> None:
        if self._reader.list_changed:
            self._on_failure(WriteFailure(self._remote.source, "", LIST_CHANGED_DURING_READ))
            report.events.failed += 1
        # Unless the run is marked as finished, the next one requests the same again.
        has_all = state.is_contiguous and not self._reader.list_changed and not report.problem
        if has_all and len(state.failing) <= MAX_FAILING_EVENTS:
            state = msgspec.structs.replace(state, finished=state.began)
        state = msgspec.structs.replace(state, began=None, reached=0, last_ids=())
        async with self._database.transaction() as connection:
            await sync_state.save_state(connection, state)

    async def _supports_changed_since(self, since: datetime) -> bool:
        """Whether the server supports `updated_at__gte`. A server that does not may silently return all events."""
        parameters = {"updated_at__gte": _isoformat(since)}
        everything, changed = await gather_or_cancel(
            self._remote.get_page(EVENTS_PATH, Language.ENGLISH, limit=1, **each)
            for each in ({}, parameters)
        )
        return (
            "updated_at__gte" not in changed.unknown_parameters and changed.count < everything.count
        )

    async def _pull_failing(self, state: SyncState, report: SyncReport) -> SyncState:
        """Request the events again that failed in the last run."""
        ids = [str(id_) for id_ in state.failing]
        batch_size = ID_BATCH_SIZE if self._is_fieldgate else 1
        for batch in (ids[start : start + batch_size] for start in range(0, len(ids), batch_size)):
            parameters = {"id__in": ",".join(batch)} if self._is_fieldgate else {"id": batch[0]}
            gone = set(map(int, batch))
            async for page in self._reader.pages(EVENTS_PATH, parameters):
                state = await self._puller.save_page(state, page, report.events, keep_position=True)
                gone -= page.records.keys()
            failing = tuple(
                id_ for id_ in state.failing if id_ not in gone
            )  # those that no longer exist are forgotten
            state = msgspec.structs.replace(state, failing=failing)
        return state

    async def _pull_events(self, state: SyncState, report: SyncReport) -> SyncState:
        parameters = (
            {"updated_at__gte": _isoformat(state.since)}
            if state.is_filtered and state.since
            else {}
        )
        async for page in self._reader.pages(EVENTS_PATH, parameters, state.position):
            if (
                state.reached and not page.offset
            ):  # the list moved, and is read again from the start
                state = msgspec.structs.replace(
                    state, walk=await sync_state.next_number(self._database)
                )
            state = await self._puller.save_page(state, page, report.events, self._on_progress)
        return state

    async def _resolve_missing(
        self, state: SyncState, report: SyncReport, max_percent: int
    ) -> None:
        """Delete or update events that are no longer listed, if the whole list was read."""
        is_consistent = self._reader.is_consistent and not self._reader.list_changed
        report.missing_unchecked = not (state.is_filtered or is_consistent)
        missing = MissingEvents(self._remote, self._database, self._store, self._puller)
        is_complete = is_consistent and not state.is_filtered
        try:
            found = await missing.resolve(state, is_complete=is_complete, max_percent=max_percent)
        except TooManyMissing as error:
            report.problem = str(error)
        else:
            report.requested_by_id = found.requested
            report.events.add(found.written)


def _isoformat(timestamp: datetime) -> str:
    return timestamp.isoformat().replace("+00:00", "Z")
