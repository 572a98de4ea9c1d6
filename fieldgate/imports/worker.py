"""The work: claim an import, read its file in a process with limits, write what came of it, and so on."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial

from fieldgate.assets.sharing.store import AssignmentStore
from fieldgate.assets.store import AssetStore
from fieldgate.db import Database, DataVersions, is_unavailable, now
from fieldgate.i18n.messages import Message
from fieldgate.imports.results import Outcomes
from fieldgate.imports.sandbox import runner
from fieldgate.imports.store import TOPIC, ImportStore, Job, LostLease
from fieldgate.imports.xlsform import Refused
from fieldgate.settings import Settings

MOST_ATTEMPTS = 3
GLANCE_EVERY = 0.02  # seconds between two glances at whether anything was sent; they cost microseconds
LOOK_EVERY = 1.0  # seconds between two looks for work all the same: leases run out without a word
TIDY_EVERY = 60 * 60  # seconds
PAUSE = 2.0  # seconds after the database could not be reached

GAVE_UP = Message("The file could not be read in {attempts} attempts. Simplify it, or ask whoever runs this service.")
FAULT = Message("Something went wrong on our side. It has been noted; please try again later.")

WHY_IT_DIED = {
    runner.Why.TIME: Refused(
        "too_large",
        Message(
            "The file takes too long to read. Make it smaller, or split it. A small file is damaged: open it, save it"
            " anew and send that."
        ),
    ),
    runner.Why.MEMORY: Refused(
        "too_large",
        Message(
            "The file takes too much memory to read. Make it smaller, or split it. A small file is damaged: open it,"
            " save it anew and send that."
        ),
    ),
    runner.Why.CRASH: Refused(
        "reader_crashed",
        Message(
            "The file could not be read: it is damaged, or of a kind that no reader understands. Open it, save it anew"
            " and send that."
        ),
    ),
    runner.Why.FAULT: Refused("fault", FAULT),
}

log = logging.getLogger(__name__)


class Worker:
    """Works on imports until it is told to stop. Any number of them, on any machine, share the work."""

    def __init__(self, settings: Settings, database: Database) -> None:
        self._changes = changes = DataVersions(database)
        self._store = ImportStore(database, changes)
        self._outcomes = Outcomes(
            database, self._store, AssetStore(database, changes), AssignmentStore(database, changes)
        )
        self._limits = runner.Limits(settings.import_memory, settings.import_seconds)
        self._lease = timedelta(seconds=settings.import_lease)
        self._retention = timedelta(seconds=settings.import_retention)
        self._stopping = asyncio.Event()

    async def run(self, stopping: asyncio.Event) -> None:
        """Work until `stopping` is set; the import under way is finished first."""
        self._stopping = stopping
        await self._changes.start()
        tidied = float("-inf")
        while not stopping.is_set():
            try:
                if _clock() - tidied > TIDY_EVERY:
                    tidied = _clock()
                    await self._tidy()
                seen = await self._changes.version(TOPIC)
                if not await self.work_once():
                    await self._wait_for_work(stopping, seen)
            except Exception as error:
                log.exception("work failed")
                if not is_unavailable(error):
                    raise
                await _pause(stopping, PAUSE)
        await self._changes.stop()

    async def _tidy(self) -> None:
        """What cannot be tidied up now can be later: it holds up no import."""
        try:
            await self._store.forget(now() - self._retention)
        except Exception:
            log.exception("old imports could not be removed")

    async def _wait_for_work(self, stopping: asyncio.Event, seen: int) -> None:
        until = _clock() + LOOK_EVERY
        while not stopping.is_set() and _clock() < until and await self._changes.version(TOPIC) == seen:
            await _pause(stopping, GLANCE_EVERY)

    async def work_once(self) -> bool:
        """Work on one import; whether there was one."""
        job = await self._store.claim(self._lease)
        if job is None:
            return False
        try:
            await self._work(job)
        except LostLease:
            log.warning("import %s was taken over by another worker", job.uid)
        except Exception as error:
            if is_unavailable(error):
                raise
            # Something is wrong with us, but it shall not hold up the next one.
            log.exception("import %s failed", job.uid)
            with suppress(LostLease):
                await self._outcomes.fail(job, Refused("fault", FAULT))
        return True

    async def _work(self, job: Job) -> None:
        if job.attempts > MOST_ATTEMPTS:
            await self._outcomes.fail(job, Refused("gave_up", Message(GAVE_UP.text, attempts=MOST_ATTEMPTS)))
            return
        done = asyncio.Event()
        renewing = asyncio.create_task(self._keep_renewing(job, done))
        try:
            read = await asyncio.to_thread(runner.understand, job.data, job.title, self._limits)
        except Refused as refused:
            await self._write_down(job, partial(self._outcomes.fail, job, refused))
        except runner.Died as died:
            level = logging.ERROR if died.why is runner.Why.FAULT else logging.WARNING
            log.log(level, "import %s was not read: %s %s", job.uid, died, died.notes)
            await self._write_down(job, partial(self._outcomes.fail, job, WHY_IT_DIED[died.why]))
        else:
            await self._write_down(job, partial(self._outcomes.succeed, job, read))
        finally:
            # Told rather than cancelled: a statement that is cut off costs the connection.
            done.set()
            await renewing

    async def _write_down(self, job: Job, write: Callable[[], Awaitable[None]]) -> None:
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
                await _pause(self._stopping, PAUSE)

    async def _keep_renewing(self, job: Job, done: asyncio.Event) -> None:
        """Say that we are at work until we are done. A database that is away for a moment is asked again."""
        while not done.is_set():
            await _pause(done, self._lease.total_seconds() / 3)
            try:
                if not done.is_set():
                    await self._store.renew(job, self._lease)
            except LostLease:
                return
            except Exception as error:
                log.warning("the lease of import %s could not be renewed: %s", job.uid, type(error).__name__)


def _clock() -> float:
    return asyncio.get_running_loop().time()


async def _pause(stopping: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(stopping.wait(), seconds)
