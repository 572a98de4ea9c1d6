"""The import worker: claim an import, parse its file in the sandbox, store the result, repeat."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial

import msgspec

from fieldgate.assets.sharing.ownership_invites import expire_invites
from fieldgate.assets.sharing.store import AssignmentStore
from fieldgate.assets.store import AssetStore
from fieldgate.assets.trash import Trash
from fieldgate.db import AsyncDatabase, DataVersions, is_unavailable, now
from fieldgate.db.database_readiness import DatabaseReadiness
from fieldgate.db.log import purge_log
from fieldgate.i18n.messages import PluralMessage
from fieldgate.identity import WORKER
from fieldgate.imports.leases import Job, LostLease
from fieldgate.imports.results import INTERNAL_ERROR, SANDBOX_ERRORS, ResultWriter
from fieldgate.imports.sandbox import runner
from fieldgate.imports.store import TOPIC, ImportStore
from fieldgate.imports.xlsform import Form, FormRejected, Library
from fieldgate.settings import Settings

MAX_ATTEMPTS = 3
POLL_SECONDS = 0.02  # between checks for new imports, which take microseconds
POSTGRES_POLL_SECONDS = 0.25  # each check is a statement
CLAIM_INTERVAL_SECONDS = (
    1.0  # between attempts to claim without new imports: leases expire silently
)
PURGE_INTERVAL_SECONDS = 60 * 60
RETRY_DELAY_SECONDS = 2.0  # after the database could not be reached
MAX_STARTS = 5  # of a sandbox process, before the import is left to the next attempt
MAX_BUSY_TRIES = (
    4  # that end by the clock; they take a worker nine minutes, and the file may be the reason
)
BUSY_DELAY = timedelta(minutes=1)  # after the first of them, then four times as long each time
START_DELAY_SECONDS = 1.0  # between starts of a sandbox process that fail

TOO_MANY_ATTEMPTS = PluralMessage(
    "The file could not be read in {count} attempt. Simplify it, or contact the operator of this service.",
    "The file could not be read in {count} attempts. Simplify it, or contact the operator of this service.",
    MAX_ATTEMPTS,
)

log = logging.getLogger(__name__)


class ImportWorker:
    """Processes imports until it is stopped. Any number of workers, on any machine, share the queue."""

    def __init__(
        self, settings: Settings, database: AsyncDatabase, *, only_quick: bool = False
    ) -> None:
        """With `only_quick` it leaves what takes long to other workers, so that it is free soon."""
        self._only_quick = only_quick
        self._data_versions = data_versions = DataVersions(database)
        self._store = ImportStore(database, data_versions)
        self._results = ResultWriter(
            database,
            self._store,
            AssetStore(database, data_versions),
            AssignmentStore(database, data_versions),
        )
        self._trash = Trash(database, data_versions, settings.trash_days)
        self._limits = runner.SandboxLimits(settings.import_memory, settings.import_seconds)
        self._lease = timedelta(seconds=settings.import_lease)
        self._retention = timedelta(seconds=settings.import_retention)
        self._log_days = settings.log_days
        self._stopping = asyncio.Event()
        self._database = database
        self._outages = DatabaseReadiness(database)

    async def run(
        self, stopping: asyncio.Event, on_ready: Callable[[], None] = lambda: None
    ) -> None:
        """Process imports until `stopping` is set. The current import is finished first."""
        try:
            on_ready()
            await self._process_queue(stopping)
        finally:
            await self._outages.stop()

    async def _process_queue(self, stopping: asyncio.Event) -> None:
        self._stopping = stopping
        purged_at = float("-inf")
        while not stopping.is_set():
            try:
                if _clock() - purged_at > PURGE_INTERVAL_SECONDS:
                    purged_at = _clock()
                    await self._purge()
                last_version = await self._data_versions.version(TOPIC)
                if not await self.process_one():
                    await self._wait_for_work(stopping, last_version)
            except Exception as error:
                if self._outages.problem_of(error) is None:  # it logs an outage once
                    log.exception("the import worker failed")
                    raise
                await _wait(stopping, RETRY_DELAY_SECONDS)

    async def _purge(self) -> None:
        """Delete what is old. A failure is logged and does not delay imports: the next purge tries again."""
        try:
            await self._trash.purge(WORKER, now() - timedelta(days=self._trash.days))
            await self._store.purge(now() - self._retention)  # also files that were in the trash
            if self._log_days:
                await purge_log(self._database, now() - timedelta(days=self._log_days))
            await expire_invites(self._database)
        except Exception as error:
            if self._outages.problem_of(error) is None:
                log.exception("what is old could not be deleted")

    async def _wait_for_work(self, stopping: asyncio.Event, last_version: int) -> None:
        deadline = _clock() + CLAIM_INTERVAL_SECONDS
        poll_seconds = POLL_SECONDS if self._database.is_sqlite else POSTGRES_POLL_SECONDS
        while (
            not stopping.is_set()
            and _clock() < deadline
            and await self._data_versions.version(TOPIC) == last_version
        ):
            await _wait(stopping, poll_seconds)

    async def process_one(self) -> bool:
        """Process one import. Return whether there was one."""
        job = await self._store.leases.claim(self._lease, only_quick=self._only_quick)
        if job is None:
            return False
        try:
            await self._process(job)
        except LostLease:
            log.warning("import %s was claimed by another worker", job.uid)
        except runner.SandboxNotStarted as error:
            log.error("import %s is tried again when its lease ends: %s", job.uid, error)
        except Exception as error:
            if is_unavailable(error):
                raise
            # A bug of ours must not block the imports after this one.
            try:
                await self._results.fail(job, FormRejected("fault", INTERNAL_ERROR))
            except LostLease:
                log.warning("import %s was claimed by another worker, or its user left", job.uid)
            else:
                log.exception("import %s failed", job.uid)
        return True

    async def _process(self, job: Job) -> None:
        if job.attempts > MAX_ATTEMPTS:
            await self._results.fail(job, FormRejected("gave_up", TOO_MANY_ATTEMPTS))
            return
        done = asyncio.Event()
        renewing = asyncio.create_task(self._renew_lease(job, done))
        try:
            parsed = await self._parse(job)
        except FormRejected as rejection:
            await self._write_with_retries(job, partial(self._results.fail, job, rejection))
        except runner.SandboxFailure as failure:
            level = (
                logging.ERROR if failure.reason is runner.FailureReason.FAULT else logging.WARNING
            )
            log.log(
                level,
                "the file of import %s could not be parsed: %s %s",
                job.uid,
                failure,
                failure.details,
            )
            if failure.reason is runner.FailureReason.BUSY and job.busy_tries + 1 < MAX_BUSY_TRIES:
                delay = BUSY_DELAY * 4**job.busy_tries
                await self._write_with_retries(job, partial(self._results.postpone, job, delay))
                return
            await self._write_with_retries(
                job, partial(self._results.fail, job, SANDBOX_ERRORS[failure.reason])
            )
        else:
            await self._write_with_retries(job, partial(self._results.complete, job, parsed))
        finally:
            # An event, not a cancellation: cancelling a running statement would lose the connection.
            done.set()
            await renewing

    async def _parse(self, job: Job) -> Form | Library:
        """Parse the file in the sandbox. If no process can be started, nothing is wrong with the file: try again.

        Each try on a busy machine has more time by the clock than the one before.
        """
        grace_seconds = self._limits.grace_seconds * (job.busy_tries + 1)
        limits = msgspec.structs.replace(self._limits, grace_seconds=grace_seconds)
        starts = 1
        while True:
            try:
                return await asyncio.to_thread(
                    runner.parse_in_sandbox, job.data, job.title, limits, job.asset_uid
                )
            except runner.SandboxNotStarted as error:
                if starts == MAX_STARTS or self._stopping.is_set():
                    raise
                log.warning("no process could be started for import %s yet: %s", job.uid, error)
            starts += 1
            await _wait(self._stopping, START_DELAY_SECONDS)

    async def _write_with_retries(self, job: Job, write: Callable[[], Awaitable[None]]) -> None:
        """Store a result, and retry while the database is unavailable or full.

        Starting the import again would count as an attempt, although nothing is wrong with the file.
        """
        while True:
            try:
                return await write()
            except Exception as error:
                if not is_unavailable(error) or self._stopping.is_set():
                    raise
                log.warning(
                    "the result of import %s could not be stored yet: %s",
                    job.uid,
                    type(error).__name__,
                )
                await _wait(self._stopping, RETRY_DELAY_SECONDS)

    async def _renew_lease(self, job: Job, done: asyncio.Event) -> None:
        """Renew the lease until `done` is set. Errors of the database are logged, and the next renewal tries again."""
        while not done.is_set():
            await _wait(done, self._lease.total_seconds() / 3)
            try:
                if not done.is_set():
                    await self._store.leases.renew(job, self._lease)
            except LostLease:
                return
            except Exception as error:
                log.warning(
                    "the lease of import %s could not be renewed: %s", job.uid, type(error).__name__
                )


def _clock() -> float:
    return asyncio.get_running_loop().time()


async def _wait(event: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(
            seconds
        ):  # `asyncio.wait_for` of Python 3.11 can lose a cancellation
            await event.wait()
