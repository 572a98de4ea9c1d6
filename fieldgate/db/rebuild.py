"""Rebuilds stored data that is derived from other stored data, after its format has changed.

The data names its format (`StoredFormat`); the table `rebuilds` says which format all rows have, and how far a rebuild
has come. One process rebuilds at a time, under a lease, in batches. Each batch is one transaction that also records the
progress: after a crash any process continues where the last one stopped.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from sqlalchemy import case, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.db.database import Database
from fieldgate.db.lease import LEASE_DURATION, Lease, LeaseExpired
from fieldgate.db.outages import outage_of
from fieldgate.db.tables import rebuilds

START = -1  # before the first key
RETRY_SECONDS = 5.0  # before the next attempt to get the lease, or after an error
WATCH_SECONDS = 30.0  # between two looks for a rebuild that another process left unfinished
LOG_STEPS = 10  # log lines of one rebuild

log = logging.getLogger(__name__)

Row = TypeVar("Row")


class Batch(NamedTuple, Generic[Row]):
    """Rebuilt rows that are not written yet."""

    rows: Sequence[Row]
    last_key: int


class StoredFormat(Protocol[Row]):
    """Stored data with a format version. Keys are integers from 0."""

    @property
    def name(self) -> str: ...

    @property
    def format(self) -> int:
        """The format this release writes."""

    async def count(self) -> int:
        """How many rows there are."""

    async def load_batch(self, after: int, *, include_current: bool) -> Batch[Row] | None:
        """Rebuild the next rows whose format is not the current one, or just the next rows. None if there are none."""

    async def lock(self, connection: AsyncConnection) -> None:
        """Keep other writers of this data out until the transaction ends."""

    async def write_batch(self, connection: AsyncConnection, batch: Batch[Row]) -> None:
        """Write the rows that have not changed since they were loaded."""

    async def finish(self, connection: AsyncConnection, previous: int, *, is_forced: bool) -> None:
        """Called in the transaction that ends the rebuild, with the format all rows had before."""


class RebuildState(NamedTuple):
    """A row of `rebuilds`."""

    format: int
    target: int | None
    is_forced: bool
    reached: int
    done: int
    total: int


ProgressCallback = Callable[[int, int], None]  # rows done, rows in all


class Rebuilder(Generic[Row]):
    def __init__(
        self,
        database: Database,
        stored: StoredFormat[Row],
        *,
        lease_duration: timedelta = LEASE_DURATION,
        retry_seconds: float = RETRY_SECONDS,
        watch_seconds: float = WATCH_SECONDS,
    ) -> None:
        self._database = database
        self._stored = stored
        self._lease = Lease(database, f"rebuild {stored.name}", lease_duration)
        self._retry_seconds = retry_seconds
        self._watch_seconds = watch_seconds
        self._query = select(*(rebuilds.c[name] for name in RebuildState._fields)).where(rebuilds.c.name == stored.name)

    async def watch(self) -> None:
        """Rebuild in the background, and continue rebuilds on demand that were killed. Runs until it is cancelled."""
        while True:
            await self.run_in_background()
            await asyncio.sleep(self._watch_seconds)

    async def run_in_background(self) -> None:
        """Rebuild what is not in the current format, or wait until another process has. Ends when all is."""
        while True:
            try:
                if not self._needs_work(await self.state()):
                    return
                if await self._lease.acquire():
                    if self._needs_work(await self.state()):  # not if another process was faster
                        await self._run_under_lease(is_forced=False, on_progress=_ignore_progress, pauses=True)
                    else:
                        await self._lease.release()
                    return
            except LeaseExpired:
                log.warning("the rebuild of %s was taken over by another process", self._stored.name)
            except Exception as error:  # such as a database that is away: try again
                outage = outage_of(error)
                if outage is None:
                    log.exception("the rebuild of %s was interrupted", self._stored.name)
                else:
                    log.warning("the rebuild of %s was interrupted: %s", self._stored.name, outage.log_text)
            await asyncio.sleep(self._retry_seconds)

    async def run(self, *, is_forced: bool = False, on_progress: ProgressCallback) -> bool:
        """Rebuild now, at full speed; everything if `is_forced`. Waits while another process rebuilds, and shows its
        progress. Returns whether there was anything to do."""
        had_work = False
        while True:
            state = await self.state()
            if not is_forced and not self._needs_work(state) and not await self._has_old_rows():
                return had_work
            had_work = True
            if await self._lease.acquire():
                with suppress(LeaseExpired):  # stopped for a while: another process continues
                    await self._run_under_lease(is_forced=is_forced, on_progress=on_progress, pauses=False)
                    return True
                is_forced = False
                continue
            on_progress(state.done, state.total)
            await asyncio.sleep(self._retry_seconds)

    async def readiness_details(self) -> dict[str, dict[str, dict[str, int]]]:
        """For `/readyz`: rows done and rows in all, while a rebuild is not finished."""
        state = await self.state()
        if not self._needs_work(state):
            return {}
        return {"rebuilding": {self._stored.name: {"done": state.done, "total": state.total}}}

    async def state(self) -> RebuildState:
        async with self._database.read_transaction() as connection:
            row = (await connection.execute(self._query)).one_or_none()
        return RebuildState(0, None, False, START, 0, 0) if row is None else RebuildState(*row)

    async def _has_old_rows(self) -> bool:
        """Whether a process of an earlier release wrote rows after the rebuild. Reads all rows, so only on demand."""
        return await self._stored.load_batch(START, include_current=False) is not None

    def _needs_work(self, state: RebuildState) -> bool:
        if max(state.format, state.target or 0) > self._stored.format:
            return False  # a newer release rebuilds: during a rolling upgrade, nobody must undo its work
        return state.format != self._stored.format or state.target is not None

    async def _run_under_lease(self, *, is_forced: bool, on_progress: ProgressCallback, pauses: bool) -> None:
        try:
            await self._run_batches(await self._begin(is_forced), on_progress, pauses=pauses)
        finally:
            with suppress(Exception):  # it expires by itself
                await self._lease.release()

    async def _begin(self, is_forced: bool) -> RebuildState:
        """Continue the rebuild that was interrupted, or start one."""
        state = await self.state()
        if state.target == self._stored.format and not is_forced:
            log.info("continuing to rebuild %s: %d of %d", self._stored.name, state.done, state.total)
            return state
        state = RebuildState(state.format, self._stored.format, is_forced, START, 0, await self._stored.count())
        async with self._database.transaction() as connection:
            await self._lease.renew(connection)
            changed = await connection.execute(self._update(**state._asdict()))
            if not changed.rowcount:
                await connection.execute(insert(rebuilds).values(name=self._stored.name, **state._asdict()))
        if state.total:
            name, format_ = self._stored.name, self._stored.format
            log.info("looking for %s in another format than %d: %d rows", name, format_, state.total)
        return state

    async def _run_batches(self, state: RebuildState, on_progress: ProgressCallback, *, pauses: bool) -> None:
        clock = asyncio.get_running_loop().time
        on_progress(state.done, state.total)
        while True:
            began = clock()
            batch = await self._stored.load_batch(state.reached, include_current=state.is_forced)
            if batch is None:
                break
            before, state = state, state._replace(reached=batch.last_key, done=state.done + len(batch.rows))
            async with self._database.transaction() as connection:
                await self._stored.lock(connection)
                await self._lease.renew(connection)
                await self._stored.write_batch(connection, batch)
                await connection.execute(self._update(reached=state.reached, done=state.done))
            on_progress(state.done, state.total)
            if _log_step(before) != _log_step(state):
                log.info("rebuilding %s: %d of %d", self._stored.name, state.done, state.total)
            if pauses:  # half of the time is left to requests
                await asyncio.sleep(clock() - began)
        async with self._database.transaction() as connection:
            await self._stored.lock(connection)
            await self._lease.renew(connection)
            ending = self._update(format=self._stored.format, target=None, is_forced=False)
            is_finished = (await connection.execute(ending.where(rebuilds.c.target == state.target))).rowcount > 0
            if is_finished:
                # Without a new format, rows were rebuilt that indexes have loaded already.
                is_forced = state.is_forced or state.format == self._stored.format
                await self._stored.finish(connection, state.format, is_forced=is_forced)
        if not is_finished:  # see `record_old_rows`
            log.info("an earlier release wrote %s meanwhile, rebuilding those", self._stored.name)
            await self._run_batches(await self._begin(False), on_progress, pauses=pauses)
            return
        if state.done:
            log.info("rebuilt %s in format %d: %d rows", self._stored.name, self._stored.format, state.done)
        elif state.total:
            log.info("all %d rows of %s had format %d already", state.total, self._stored.name, self._stored.format)

    def _update(self, **values: Any) -> Any:
        return update(rebuilds).where(rebuilds.c.name == self._stored.name).values(**values)


async def record_old_rows(connection: AsyncConnection, name: str, written_format: int) -> None:
    """Record, in the transaction of a writer, that it writes rows in an older format than others have.

    This is for a process that runs on after an upgrade. It takes back that all rows have the newer format, so that the
    newer release rebuilds these rows, and does not answer from data that they lack until it has.
    """
    is_newer = or_(rebuilds.c.format > written_format, rebuilds.c.target > written_format)
    oldest = case((rebuilds.c.format > written_format, written_format), else_=rebuilds.c.format)
    await connection.execute(
        update(rebuilds).where(rebuilds.c.name == name, is_newer).values(format=oldest, target=None)
    )


def _log_step(state: RebuildState) -> int:
    return state.done * LOG_STEPS // max(state.total, 1)


def _ignore_progress(done: int, total: int) -> None:
    pass
