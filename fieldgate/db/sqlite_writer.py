"""The thread that writes to an SQLite file.

SQLite has one writer, and each commit waits for the disk. So writes that wait at the same time share a commit, each
with a savepoint of its own: one that fails does not affect the others.
"""

import sqlite3
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Any, NamedTuple, TypeVar

from sqlalchemy.engine import Connection, Engine, RootTransaction
from sqlalchemy.exc import OperationalError

from fieldgate.db.database_identity import DatabaseIdentity, OpenFiles
from fieldgate.db.transactions import WriteTransaction, run_in
from fieldgate.db.write_turn import write_turn

MAX_SHARED_WRITES = 32  # of one commit: writers of other processes wait for it
MAX_SHARED_SECONDS = 0.02  # after which no further write joins a commit

Result = TypeVar("Result")


class _QueuedWrite(NamedTuple):
    function: Callable[[WriteTransaction], Any]
    future: Future[Any]
    is_alone: bool


class _Outcome(NamedTuple):
    result: Any = None
    error: Exception | None = None


class SqliteWriter:
    def __init__(
        self, engine: Engine, file: Path, identity: DatabaseIdentity, busy_seconds: float
    ) -> None:
        """`engine` begins transactions that can write, and does not wait long for the lock of SQLite."""
        self._engine = engine
        self._file = file
        self.busy_seconds = busy_seconds
        self._identity = identity
        self._queue: deque[_QueuedWrite] = deque()
        self._thread = ThreadPoolExecutor(1, "fieldgate-writer")

    def submit(
        self, function: Callable[[WriteTransaction], Result], *, is_alone: bool
    ) -> Future[Result]:
        """Queue a write. Its future gets the result after the commit."""
        future: Future[Result] = Future()
        self._queue.append(_QueuedWrite(function, future, is_alone))
        self._thread.submit(self._commit_next)
        return future

    def pause(self) -> tuple[Future[None], Event]:
        """Keep the thread from writing, for a writer with a connection of its own.

        It may write when the future has its result, until it sets the event.
        """
        has_paused: Future[None] = Future()
        may_go_on = Event()

        def pause() -> None:
            if has_paused.set_running_or_notify_cancel():
                has_paused.set_result(None)
                may_go_on.wait()

        self._thread.submit(pause)
        return has_paused, may_go_on

    def close(self) -> None:
        """Execute all queued writes, then end the thread."""
        self._thread.shutdown()

    def _commit_next(self) -> None:
        """Execute writes that wait, up to the limits, in one transaction, and commit it."""
        if not self._queue:  # they shared an earlier commit
            return
        writes: list[_QueuedWrite] = []
        outcomes: list[_Outcome] = []
        try:
            with self._begin() as connection:
                files = connection.connection.info.get(OpenFiles)
                for write in self._take_writes():
                    writes.append(write)
                    outcomes.append(_run_in_savepoint(connection, write.function))
            self._identity.check_files(files)
        except Exception as error:
            # Nothing is stored. Who waits behind a lock that nobody releases must not wait once more.
            writes = writes or list(self._take_writes())
            outcomes = [_Outcome(error=error)] * len(writes)
        for write, outcome in zip(writes, outcomes, strict=True):
            if outcome.error is None:
                write.future.set_result(outcome.result)
            else:
                write.future.set_exception(outcome.error)

    @contextmanager
    def _begin(self) -> Iterator[Connection]:
        """Begin a transaction when it is the turn of this process, and commit it in the end."""
        until = monotonic() + self.busy_seconds
        with self._engine.connect() as connection:
            transaction = None
            with write_turn(self._file, until):
                while transaction is None:  # the connection waits some milliseconds for the lock
                    transaction = _try_to_begin(connection, is_last=monotonic() > until)
            with transaction:
                yield connection

    def _take_writes(self) -> Iterator[_QueuedWrite]:
        """Take the writes of one commit from the queue, one after the other."""
        until = monotonic() + MAX_SHARED_SECONDS
        count = 0
        while self._queue and count < MAX_SHARED_WRITES and monotonic() < until:
            if count and self._queue[0].is_alone:
                return
            write = self._queue.popleft()
            if write.future.set_running_or_notify_cancel():
                count += 1
                yield write
                if write.is_alone:
                    return


def _try_to_begin(connection: Connection, *, is_last: bool) -> RootTransaction | None:
    """Begin a transaction. None if another process writes; the last attempt raises that."""
    try:
        return connection.begin()
    except OperationalError as error:
        code = getattr(error.orig, "sqlite_errorcode", 0) & 0xFF
        if is_last or code != sqlite3.SQLITE_BUSY:
            raise
        connection.rollback()
        return None


def _run_in_savepoint(
    connection: Connection, function: Callable[[WriteTransaction], Any]
) -> _Outcome:
    driver: Any = connection.connection.driver_connection
    driver.execute("SAVEPOINT own")
    transaction = WriteTransaction(connection)
    try:
        result = run_in(transaction, function)
        transaction.finish()
    except Exception as error:
        # SQLite has rolled back the whole transaction, as when the disk is full, or the connection is broken.
        if connection.invalidated or not driver.in_transaction:
            raise
        driver.execute("ROLLBACK TO own")
        driver.execute("RELEASE own")
        return _Outcome(error=error)
    driver.execute("RELEASE own")
    return _Outcome(result)
