"""The work: claim an import, read its file in a process with limits, write what came of it, and so on."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial

from fieldgate.assets.content_format import STEPS, Step
from fieldgate.assets.content_upgrade import ContentUpgrader
from fieldgate.assets.sharing.store import AssignmentStore
from fieldgate.assets.store import AssetStore
from fieldgate.db import Database, DataVersions, is_unavailable, now
from fieldgate.i18n.messages import Message, PluralMessage
from fieldgate.imports.results import ResultWriter
from fieldgate.imports.sandbox import runner
from fieldgate.imports.store import TOPIC, ImportStore, Job, LostLease
from fieldgate.imports.xlsform import FormRejected
from fieldgate.settings import Settings

MAX_ATTEMPTS = 3
POLL_SECONDS = 0.02  # seconds between two glances at whether anything was sent; they cost microseconds
CLAIM_INTERVAL_SECONDS = 1.0  # seconds between two looks for work all the same: leases run out without a word
PURGE_INTERVAL_SECONDS = 60 * 60  # seconds
RETRY_DELAY_SECONDS = 2.0  # seconds after the database could not be reached

TOO_MANY_ATTEMPTS = PluralMessage(
    "The file could not be read in {count} attempt. Simplify it, or ask whoever runs this service.",
    "The file could not be read in {count} attempts. Simplify it, or ask whoever runs this service.",
    MAX_ATTEMPTS,
)
INTERNAL_ERROR = Message("Something went wrong on our side. It has been noted; please try again later.")

SANDBOX_ERRORS = {
    runner.FailureReason.TIME: FormRejected(
        "too_large",
        Message(
            "The file takes too long to read. Make it smaller, or split it. A small file is damaged: open it, save it"
            " anew and send that."
        ),
    ),
    runner.FailureReason.MEMORY: FormRejected(
        "too_large",
        Message(
            "The file takes too much memory to read. Make it smaller, or split it. A small file is damaged: open it,"
            " save it anew and send that."
        ),
    ),
    runner.FailureReason.CRASH: FormRejected(
        "reader_crashed",
        Message(
            "The file could not be read: it is damaged, or of a kind that no reader understands. Open it, save it anew"
            " and send that."
        ),
    ),
    runner.FailureReason.FAULT: FormRejected("fault", INTERNAL_ERROR),
}

log = logging.getLogger(__name__)


class ImportWorker:
    """Works on imports until it is told to stop. Any number of them, on any machine, share the work."""

    def __init__(self, settings: Settings, database: Database, content_steps: Sequence[Step] = STEPS) -> None:
        self._data_versions = changes = DataVersions(database)
        self._store = ImportStore(database, changes)
        self._results = ResultWriter(
            database, self._store, AssetStore(database, changes), AssignmentStore(database, changes)
        )
        self._limits = runner.SandboxLimits(settings.import_memory, settings.import_seconds)
        self._lease = timedelta(seconds=settings.import_lease)
        self._retention = timedelta(seconds=settings.import_retention)
        self._content_upgrader = ContentUpgrader(database, content_steps)
        self._stopping = asyncio.Event()

    async def run(self, stopping: asyncio.Event) -> None:
        """Work until `stopping` is set; the import under way is finished first."""
        upgrade = asyncio.create_task(self._upgrade_content(stopping))
        try:
            await self._run(stopping)
        finally:
            if not stopping.is_set():  # the worker failed
                upgrade.cancel()
            await asyncio.gather(upgrade, return_exceptions=True)

    async def _upgrade_content(self, stopping: asyncio.Event) -> None:
        """Rewrite form content of older formats. It is upgraded when read, so nothing waits for this."""
        while not stopping.is_set():
            try:
                await self._content_upgrader.run(stopping)
                return
            except Exception as error:
                log.exception("the upgrade of form content was interrupted")
                if not is_unavailable(error):
                    return
                await _wait(stopping, RETRY_DELAY_SECONDS)

    async def _run(self, stopping: asyncio.Event) -> None:
        self._stopping = stopping
        await self._data_versions.start()
        tidied = float("-inf")
        while not stopping.is_set():
            try:
                if _clock() - tidied > PURGE_INTERVAL_SECONDS:
                    tidied = _clock()
                    await self._purge()
                seen = await self._data_versions.version(TOPIC)
                if not await self.process_one():
                    await self._wait_for_work(stopping, seen)
            except Exception as error:
                log.exception("work failed")
                if not is_unavailable(error):
                    raise
                await _wait(stopping, RETRY_DELAY_SECONDS)
        await self._data_versions.stop()

    async def _purge(self) -> None:
        """What cannot be tidied up now can be later: it holds up no import."""
        try:
            await self._store.purge(now() - self._retention)
        except Exception:
            log.exception("old imports could not be removed")

    async def _wait_for_work(self, stopping: asyncio.Event, last_version: int) -> None:
        until = _clock() + CLAIM_INTERVAL_SECONDS
        while not stopping.is_set() and _clock() < until and await self._data_versions.version(TOPIC) == last_version:
            await _wait(stopping, POLL_SECONDS)

    async def process_one(self) -> bool:
        """Work on one import; whether there was one."""
        job = await self._store.claim(self._lease)
        if job is None:
            return False
        try:
            await self._process(job)
        except LostLease:
            log.warning("import %s was taken over by another worker", job.uid)
        except Exception as error:
            if is_unavailable(error):
                raise
            # Something is wrong with us, but it shall not hold up the next one.
            log.exception("import %s failed", job.uid)
            with suppress(LostLease):
                await self._results.fail(job, FormRejected("fault", INTERNAL_ERROR))
        return True

    async def _process(self, job: Job) -> None:
        if job.attempts > MAX_ATTEMPTS:
            await self._results.fail(job, FormRejected("gave_up", TOO_MANY_ATTEMPTS))
            return
        done = asyncio.Event()
        renewing = asyncio.create_task(self._renew_lease(job, done))
        try:
            read = await asyncio.to_thread(runner.parse_in_sandbox, job.data, job.title, self._limits)
        except FormRejected as refused:
            await self._write_with_retries(job, partial(self._results.fail, job, refused))
        except runner.SandboxFailure as died:
            level = logging.ERROR if died.reason is runner.FailureReason.FAULT else logging.WARNING
            log.log(level, "import %s was not read: %s %s", job.uid, died, died.details)
            await self._write_with_retries(job, partial(self._results.fail, job, SANDBOX_ERRORS[died.reason]))
        else:
            await self._write_with_retries(job, partial(self._results.complete, job, read))
        finally:
            # Told rather than cancelled: a statement that is cut off costs the connection.
            done.set()
            await renewing

    async def _write_with_retries(self, job: Job, write: Callable[[], Awaitable[None]]) -> None:
        """What came of an import is kept while the database is away or full, until it is written or somebody else's.

        To begin anew would cost an attempt, though nothing is wrong with the file.
        """
        while True:
            try:
                return await write()
            except Exception as error:
                if not is_unavailable(error) or self._stopping.is_set():
                    raise
                log.warning("what came of import %s cannot be written yet: %s", job.uid, type(error).__name__)
                await _wait(self._stopping, RETRY_DELAY_SECONDS)

    async def _renew_lease(self, job: Job, done: asyncio.Event) -> None:
        """Say that we are at work until we are done. A database that is away for a moment is asked again."""
        while not done.is_set():
            await _wait(done, self._lease.total_seconds() / 3)
            try:
                if not done.is_set():
                    await self._store.renew(job, self._lease)
            except LostLease:
                return
            except Exception as error:
                log.warning("the lease of import %s could not be renewed: %s", job.uid, type(error).__name__)


def _clock() -> float:
    return asyncio.get_running_loop().time()


async def _wait(event: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)
