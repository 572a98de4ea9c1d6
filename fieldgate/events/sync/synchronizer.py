"""Synchronization: pull events from another server with this API, all of them or those changed since the last run.

    async with RemoteServer("https://goadmin.ifrc.org", token) as remote:
        report = await Synchronizer(remote, database, on_failure).run()

The list is read page by page until it is proved complete; what differs is saved. After each page the position is saved,
so that the next run continues there after an interruption. Events that the complete list does not have are requested
by id, and deleted if the server does not have them any more (`deletions.py`).
"""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from functools import partial

import msgspec
from fieldgate_client.errors import FieldgateError, IncompleteList
from fieldgate_client.walk import Walk, WalkOptions

from fieldgate.db import Database, WriteTransaction
from fieldgate.events.ingest.bulk_write import FailureCallback, WriteFailure
from fieldgate.events.sync.deletions import (
    MAX_MISSING_PERCENT,
    find_missing,
    list_deleted,
    resolve_missing,
)
from fieldgate.events.sync.event_puller import EventPuller
from fieldgate.events.sync.event_records import EventPages, has_mini_list
from fieldgate.events.sync.reference_sync import COUNTRIES_PATH, ReferenceSync
from fieldgate.events.sync.remote import PAGE_SIZE, RemoteError, RemoteServer, problem_text
from fieldgate.events.sync.sync_state import SyncState, forget_details, load_state, save_state
from fieldgate.events.writes import BulkWriteResult

# Requested again: clocks differ, and writes under way were not visible.
SINCE_MARGIN = timedelta(minutes=5)
# Requested again by id; with more of them, the next run pulls everything.
MAX_FAILING_EVENTS = 10_000

ProgressCallback = Callable[[int, int | None], None]  # records done, records in total


def ignore_progress(done: int, total: int | None) -> None:
    pass


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
    missing_unchecked: bool = False  # the list is not complete: missing events were not requested
    of_other_sources: int = 0  # events in the list that were not written
    problem: str = ""  # why missing events were not deleted


class Synchronizer:
    """Pulls events, countries and disaster types from a remote server."""

    def __init__(
        self,
        remote: RemoteServer,
        database: Database,
        on_failure: FailureCallback,
        on_progress: ProgressCallback = ignore_progress,
    ) -> None:
        self._remote = remote
        self._database = database
        self._on_failure = on_failure
        self._on_progress = on_progress

    async def run(self, options: SyncOptions = DEFAULT_OPTIONS) -> SyncReport:
        """Pull everything, or what changed since the start of the last complete run."""
        try:
            return await self._run(options)
        except FieldgateError as error:
            raise RemoteError(problem_text(error)) from None

    async def _run(self, options: SyncOptions) -> SyncReport:
        first = await self._remote.list_of(COUNTRIES_PATH).fetch_page(0, 1)
        self._is_fieldgate = first.is_fieldgate
        reference_sync = ReferenceSync(
            self._remote, self._database, english_first=not self._is_fieldgate
        )
        report = SyncReport(BulkWriteResult())
        report.countries, report.types = await reference_sync.pull()

        state = await self._start(report, options, clock=first.timestamp or datetime.now(UTC))
        puller = EventPuller(
            self._remote,
            self._database,
            reference_sync,
            self._on_failure,
            is_fieldgate=self._is_fieldgate,
            take_over=options.take_over,
            failing=state.failing,
        )
        report.events = puller.result
        if state.since is not None:
            await puller.pull_by_id(sorted(state.failing))
        walk = await self._pull_list(state, puller)
        if walk.report.proof and not options.keep_missing:
            await self._delete_missing(state, report, puller, walk, options.max_missing_percent)
        report.missing_unchecked = not walk.report.proof
        report.of_other_sources = len(puller.of_other_sources)
        await self._finish(state, puller, has_all=bool(walk.report.proof) and not report.problem)
        return report

    async def _start(
        self, report: SyncReport, options: SyncOptions, *, clock: datetime
    ) -> SyncState:
        """Continue an interrupted run that requested the same or more, or begin a new one."""
        state = await asyncio.to_thread(
            self._database.read,
            lambda transaction: load_state(
                transaction, self._remote.source, self._remote.has_token
            ),
        )
        since = options.since
        if since is None and not options.full and state.finished is not None:
            since = state.finished - SINCE_MARGIN
        if not self._is_fieldgate:  # others cannot tell what changed
            since = None
        is_same = state.since == since or (state.since is None and options.since is None)
        if state.began is not None and is_same and state.is_full >= options.full:
            report.resumed = True
        else:
            state = SyncState(
                source=state.source,
                with_token=state.with_token,
                finished=state.finished,
                began=clock,
                since=since,
                is_full=options.full,
                failing=frozenset() if since is None else state.failing,
            )
            await self._save(state, forgets_details=options.full)
        report.since = state.since
        return state

    async def _pull_list(self, state: SyncState, puller: EventPuller) -> Walk:
        """Read the list and save what differs. If the list cannot be read completely, that is reported."""
        has_mini = not self._is_fieldgate and await has_mini_list(self._remote)
        pages = EventPages(self._remote, state.since, has_mini=has_mini)
        options = WalkOptions(PAGE_SIZE, concurrency=1)
        if self._is_fieldgate:
            options = msgspec.structs.replace(options, fixed_ordering="id", is_fixed=True)
        walk = Walk(pages, options, state.position)
        try:
            async with aclosing(walk.pages()) as read_pages:
                async for records in read_pages:
                    await puller.save_page(records)
                    failing = frozenset(puller.failing)
                    await self._save(
                        msgspec.structs.replace(state, position=walk.current, failing=failing)
                    )
                    self._on_progress(walk.current.end, walk.report.count)
        except IncompleteList as error:
            reason = f"{error.message} Run the command again."
            self._on_failure(WriteFailure(self._remote.source, "", reason))
            puller.result.failed += 1
        return walk

    async def _delete_missing(
        self,
        state: SyncState,
        report: SyncReport,
        puller: EventPuller,
        walk: Walk,
        max_percent: int,
    ) -> None:
        """Delete or update events that are not in the complete list, or in the list of deleted ones."""
        if state.since is None:
            find = partial(find_missing, state=state, listed=walk.keys)
        else:
            deleted = await list_deleted(self._remote, state)
            find = partial(find_missing, state=state, deleted=deleted)
        found = await asyncio.to_thread(self._database.read, find)
        report.problem = found.problem(self._remote.source, max_percent)
        if not report.problem:
            ids = found.missing + found.merged
            await resolve_missing(self._database, puller, state, ids)
            report.requested_by_id = len(ids)

    async def _finish(self, state: SyncState, puller: EventPuller, *, has_all: bool) -> None:
        """Unless the run is marked as finished, the next one requests the same again."""
        finished = state.finished
        if has_all and state.is_contiguous and len(puller.failing) <= MAX_FAILING_EVENTS:
            finished = state.began
        await self._save(
            SyncState(
                source=state.source,
                with_token=state.with_token,
                finished=finished,
                failing=frozenset(puller.failing),
            )
        )

    async def _save(self, state: SyncState, *, forgets_details: bool = False) -> None:
        def write(transaction: WriteTransaction) -> None:
            if forgets_details:
                forget_details(transaction, state.source)
            save_state(transaction, state)

        await asyncio.to_thread(self._database.write, write)
