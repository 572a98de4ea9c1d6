"""Short writes to SQLite that wait at the same moment, committed together.

One commit with its sync, one turn among the writers and one change of threads then serve all of them.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from time import monotonic
from traceback import clear_frames
from types import TracebackType
from typing import Any, NamedTuple, TypeVar, cast

from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import DBAPIError

# Of one commit, for which writers of other processes wait:
MAX_BATCH_WRITES = 32  # writes
MAX_BATCH_SECONDS = 0.1  # seconds after which no other write begins; large files take a while

Result = TypeVar("Result")
Write = Callable[[Connection], Result]


class _WriteResult(NamedTuple):
    """What came of a write: its result, or what it raised, and from where."""

    result: Any = None
    error: Exception | None = None
    traceback: TracebackType | None = None


class _PendingWrite(NamedTuple):
    write: Write[Any]
    future: asyncio.Future[_WriteResult]


class GroupCommitter:
    """Writes queue here, first come, first served, and a thread of its own makes them, some at a time."""

    def __init__(self, engine: Engine, write_lock: AbstractAsyncContextManager[Any]) -> None:
        self._engine = engine
        self._write_lock = write_lock
        self._thread = ThreadPoolExecutor(1, "fieldgate-writer")
        self._pending: deque[_PendingWrite] = deque()
        self._worker: asyncio.Task[None] | None = None

    async def run(self, write: Write[Result]) -> Result:
        """The result of a write, once it is committed and synced."""
        waiting = _PendingWrite(write, asyncio.get_running_loop().create_future())
        self._pending.append(waiting)
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._run_worker())
            self._worker.add_done_callback(self._on_worker_done)
        outcome = await waiting.future
        if outcome.error is None:
            return cast("Result", outcome.result)
        try:
            # Others may be told of the same error: it begins anew for each, or would grow with every one of them.
            raise outcome.error.with_traceback(outcome.traceback)
        finally:
            del waiting, outcome  # the error has this frame, and would keep itself in memory

    async def close(self) -> None:
        """End the thread when all that waits is done."""
        while self._worker is not None and not self._worker.done():
            await asyncio.wait([self._worker])
        self._thread.shutdown()
        self._engine.dispose()

    async def _run_worker(self) -> None:
        """Until nothing waits. After each commit the turn is given up, for whoever else waits for it."""
        while self._pending:
            async with self._write_lock:
                await self._commit(self._next_batch())

    def _on_worker_done(self, task: asyncio.Task[None]) -> None:
        """Nobody shall wait for work that broke off; where somebody came since, other work is under way."""
        if task is not self._worker or not self._pending:
            return
        error = None if task.cancelled() else task.exception()
        while self._pending:
            outcome = self._pending.popleft().future
            if outcome.done():
                continue
            if isinstance(error, Exception):
                outcome.set_result(_failure(error))
            else:
                outcome.cancel()

    def _next_batch(self) -> list[_PendingWrite]:
        """Those whose turn it is, without who was cancelled meanwhile."""
        some: list[_PendingWrite] = []
        while self._pending and len(some) < MAX_BATCH_WRITES:
            waiting = self._pending.popleft()
            if not waiting.future.cancelled():
                some.append(waiting)
        return some

    async def _commit(self, batch: list[_PendingWrite]) -> None:
        """Make and commit them, then tell each what came of it; those that time did not allow for are the next."""
        if not batch:
            return
        writes = [waiting.write for waiting in batch]
        try:
            outcomes = await asyncio.get_running_loop().run_in_executor(self._thread, self._execute_batch, writes)
        except Exception as error:
            # It could not begin, or not be committed: nothing of it is stored, and everybody learns it.
            outcomes = [_failure(error)] * len(batch)
        except BaseException:
            # The work is cancelled. The thread goes on, and nobody learns what comes of it.
            for waiting in batch:
                waiting.future.cancel()
            raise
        self._pending.extendleft(reversed(batch[len(outcomes) :]))
        _set_results(batch, outcomes)

    def _execute_batch(self, writes: Sequence[Write[Any]]) -> list[_WriteResult]:
        """The writes, as many as begin in time, in one transaction that is committed when this returns."""
        outcomes: list[_WriteResult] = []
        with self._engine.begin() as connection:
            until = monotonic() + MAX_BATCH_SECONDS
            for write in writes:
                outcomes.append(_run_in_savepoint(connection, write))
                if monotonic() >= until:
                    break
        return outcomes


def _set_results(batch: list[_PendingWrite], outcomes: list[_WriteResult]) -> None:
    """Both lists are empty then: an error has the frames it came through, and these have the lists."""
    for waiting, outcome in zip(batch, outcomes, strict=False):
        if not waiting.future.cancelled():
            waiting.future.set_result(outcome)
    batch.clear()
    outcomes.clear()


def _failure(error: Exception) -> _WriteResult:
    if isinstance(error, DBAPIError):
        # SQLAlchemy's frames have the error that has them: a file would stay in memory until the collector comes.
        clear_frames(error.__traceback__)
    return _WriteResult(error=error, traceback=error.__traceback__)


def _run_in_savepoint(connection: Connection, write: Write[Any]) -> _WriteResult:
    """One write with a savepoint of its own: if it fails, nothing of it stays, and the others' is not touched."""
    driver: Any = connection.connection.driver_connection
    driver.execute("SAVEPOINT own")
    try:
        outcome = _WriteResult(write(connection))
    except Exception as error:
        # SQLite itself gave up all of it, as when the disk is full, or the connection is of no use any more.
        if connection.invalidated or not driver.in_transaction:
            raise
        driver.execute("ROLLBACK TO own")
        driver.execute("RELEASE own")
        return _failure(error)
    driver.execute("RELEASE own")
    return outcome
