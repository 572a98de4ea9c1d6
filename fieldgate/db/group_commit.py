"""Group commit for SQLite: short writes that wait at the same time share one transaction, with one fsync.

Each write has its own savepoint, so one that fails does not affect the others.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from typing import Any, NamedTuple, TypeVar, cast

from sqlalchemy.engine import Connection, Engine

from fieldgate.db.database_identity import DatabaseIdentity, OpenFiles

MAX_BATCH_WRITES = 32  # writers of other processes wait for a transaction

Result = TypeVar("Result")
Work = Callable[[Connection], Result]


class _Outcome(NamedTuple):
    result: Any = None
    error: Exception | None = None


class _PendingWrite(NamedTuple):
    write: Work[Any]
    future: asyncio.Future[_Outcome]


class GroupCommitter:
    """Queues writes in order of arrival and executes them in batches, in a thread of its own."""

    def __init__(
        self,
        engine: Engine,
        write_lock: AbstractAsyncContextManager[Any],
        identity: DatabaseIdentity,
    ) -> None:
        self._engine = engine
        self._write_lock = write_lock
        self._identity = identity
        self._thread = ThreadPoolExecutor(1, "fieldgate-writer")
        self._pending: deque[_PendingWrite] = deque()
        self._worker: asyncio.Task[None] | None = None

    async def run(self, write: Work[Result]) -> Result:
        """Queue a write, and return its result when it is committed."""
        future: asyncio.Future[_Outcome] = asyncio.get_running_loop().create_future()
        self._pending.append(_PendingWrite(write, future))
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._commit_all())
        outcome = await future
        if outcome.error is not None:
            raise outcome.error
        return cast("Result", outcome.result)

    async def close(self) -> None:
        """Finish all queued writes and stop the thread."""
        if self._worker is not None:
            await asyncio.wait([self._worker])
        self._thread.shutdown()

    async def _commit_all(self) -> None:
        """Commit batches until the queue is empty. The lock is released after each, for other writers."""
        while self._pending:
            async with self._write_lock:
                batch = [
                    self._pending.popleft()
                    for _ in range(min(len(self._pending), MAX_BATCH_WRITES))
                ]
                batch = [pending for pending in batch if not pending.future.cancelled()]
                writes = [pending.write for pending in batch]
                outcomes = await asyncio.get_running_loop().run_in_executor(
                    self._thread, self._execute, writes
                )
            for (_, future), outcome in zip(batch, outcomes, strict=True):
                if not future.cancelled():
                    future.set_result(outcome)

    def _execute(self, writes: Sequence[Work[Any]]) -> list[_Outcome]:
        """Execute writes in one transaction, and commit it. If that fails, all of them get the error.

        That is `DatabaseGone` if the file that was written is no longer the database.
        """
        try:
            with self._engine.begin() as connection:
                files = connection.connection.info.get(OpenFiles)
                outcomes = [_run_in_savepoint(connection, write) for write in writes]
            self._identity.check_files(files)
        except Exception as error:
            return [_Outcome(error=error)] * len(writes)
        return outcomes


def _run_in_savepoint(connection: Connection, write: Work[Any]) -> _Outcome:
    """Execute one write in a savepoint, so that its failure does not affect the others."""
    driver: Any = connection.connection.driver_connection
    driver.execute("SAVEPOINT own")
    try:
        outcome = _Outcome(write(connection))
    except Exception as error:
        # SQLite has rolled back the whole transaction, as when the disk is full, or the connection is broken.
        if connection.invalidated or not driver.in_transaction:
            raise
        driver.execute("ROLLBACK TO own")
        outcome = _Outcome(error=error)
    driver.execute("RELEASE own")
    return outcome
