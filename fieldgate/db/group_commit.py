"""Group commit for SQLite: short writes that wait at the same time share one transaction.

They share one commit with its fsync, one wait for the write lock, and one switch to a thread. Each write has its own
savepoint, so one that fails does not affect the others.
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

from fieldgate.db.database_identity import DatabaseIdentity, OpenFiles

# Limits of one transaction, since writers of other processes wait for it:
MAX_BATCH_WRITES = 32
MAX_BATCH_SECONDS = 0.1  # after this time no other write starts; large files take a while

Result = TypeVar("Result")
Write = Callable[[Connection], Result]


class _WriteResult(NamedTuple):
    """The result of a write, or the error it raised with its traceback."""

    result: Any = None
    error: Exception | None = None
    traceback: TracebackType | None = None


class _PendingWrite(NamedTuple):
    write: Write[Any]
    future: asyncio.Future[_WriteResult]


class GroupCommitter:
    """Queues writes in order of arrival and executes them in batches, in a thread of its own."""

    def __init__(
        self, engine: Engine, write_lock: AbstractAsyncContextManager[Any], identity: DatabaseIdentity | None = None
    ) -> None:
        self._engine = engine
        self._write_lock = write_lock
        self._identity = identity
        self._thread = ThreadPoolExecutor(1, "fieldgate-writer")
        self._pending: deque[_PendingWrite] = deque()
        self._worker: asyncio.Task[None] | None = None

    async def run(self, write: Write[Result]) -> Result:
        """Queue a write, and return its result when it is committed."""
        waiting = _PendingWrite(write, asyncio.get_running_loop().create_future())
        self._pending.append(waiting)
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._run_worker())
            self._worker.add_done_callback(self._on_worker_done)
        result = await waiting.future
        if result.error is None:
            return cast("Result", result.result)
        try:
            # Other callers may raise the same error object: reset the traceback, or it would grow with each of them.
            raise result.error.with_traceback(result.traceback)
        finally:
            del waiting, result  # the traceback refers to this frame: avoid a reference cycle

    async def close(self) -> None:
        """Finish all queued writes and stop the thread."""
        while self._worker is not None and not self._worker.done():
            await asyncio.wait([self._worker])
        self._thread.shutdown()
        self._engine.dispose()

    def drop_connections(self) -> None:
        """Close the connection; the next write opens another one."""
        self._engine.dispose()

    async def _run_worker(self) -> None:
        """Commit batches until the queue is empty. The lock is released after each, for other writers."""
        while self._pending:
            async with self._write_lock:
                await self._commit(self._next_batch())

    def _on_worker_done(self, task: asyncio.Task[None]) -> None:
        """Fail the queued writes if the worker failed. If a new worker was started since, they are its own."""
        if task is not self._worker or not self._pending:
            return
        error = None if task.cancelled() else task.exception()
        while self._pending:
            future = self._pending.popleft().future
            if future.done():
                continue
            if isinstance(error, Exception):
                future.set_result(_failure(error))
            else:
                future.cancel()

    def _next_batch(self) -> list[_PendingWrite]:
        """Take the next writes from the queue, skipping cancelled ones."""
        batch: list[_PendingWrite] = []
        while self._pending and len(batch) < MAX_BATCH_WRITES:
            waiting = self._pending.popleft()
            if not waiting.future.cancelled():
                batch.append(waiting)
        return batch

    async def _commit(self, batch: list[_PendingWrite]) -> None:
        """Execute and commit a batch and set the results. Writes that did not start in time go back to the queue."""
        if not batch:
            return
        writes = [waiting.write for waiting in batch]
        try:
            results = await asyncio.get_running_loop().run_in_executor(self._thread, self._execute_batch, writes)
        except Exception as error:
            # BEGIN or COMMIT failed: nothing is stored, and all writes of the batch get the error.
            results = [_failure(error)] * len(batch)
        except BaseException:
            # The worker was cancelled. The thread continues, but the results are lost.
            for waiting in batch:
                waiting.future.cancel()
            raise
        self._pending.extendleft(reversed(batch[len(results) :]))
        _set_results(batch, results)

    def _execute_batch(self, writes: Sequence[Write[Any]]) -> list[_WriteResult]:
        """Execute writes in one transaction, as many as start in time. Returns after the commit.

        Raises `DatabaseGone` if the file that was written is no longer the database.
        """
        results: list[_WriteResult] = []
        with self._engine.begin() as connection:
            files = connection.connection.info.get(OpenFiles)
            deadline = monotonic() + MAX_BATCH_SECONDS
            for write in writes:
                results.append(_run_in_savepoint(connection, write))
                if monotonic() >= deadline:
                    break
        if self._identity is not None:
            self._identity.check_files(files)
        return results


def _set_results(batch: list[_PendingWrite], results: list[_WriteResult]) -> None:
    """Set the result of each write. Both lists are cleared: errors refer to frames, and these to the lists."""
    for waiting, result in zip(batch, results, strict=False):
        if not waiting.future.cancelled():
            waiting.future.set_result(result)
    batch.clear()
    results.clear()


def _failure(error: Exception) -> _WriteResult:
    if isinstance(error, DBAPIError):
        # SQLAlchemy's frames refer to the error: without this, an uploaded file would stay in memory until the garbage
        # collector runs.
        clear_frames(error.__traceback__)
    return _WriteResult(error=error, traceback=error.__traceback__)


def _run_in_savepoint(connection: Connection, write: Write[Any]) -> _WriteResult:
    """Execute one write in a savepoint, so that its failure does not affect the others."""
    driver: Any = connection.connection.driver_connection
    driver.execute("SAVEPOINT own")
    try:
        result = _WriteResult(write(connection))
    except Exception as error:
        # SQLite has rolled back the whole transaction, as when the disk is full, or the connection is broken.
        if connection.invalidated or not driver.in_transaction:
            raise
        driver.execute("ROLLBACK TO own")
        driver.execute("RELEASE own")
        return _failure(error)
    driver.execute("RELEASE own")
    return result
