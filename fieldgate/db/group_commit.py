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
MOST_TOGETHER = 32  # writes
LONGEST = 0.1  # seconds after which no other write begins; large files take a while

Result = TypeVar("Result")
Write = Callable[[Connection], Result]


class _Outcome(NamedTuple):
    """What came of a write: its result, or what it raised, and from where."""

    result: Any = None
    error: Exception | None = None
    traceback: TracebackType | None = None


class _Waiting(NamedTuple):
    write: Write[Any]
    outcome: asyncio.Future[_Outcome]


class SharedCommits:
    """Writes queue here, first come, first served, and a thread of its own makes them, some at a time."""

    def __init__(self, engine: Engine, turn: AbstractAsyncContextManager[Any]) -> None:
        self._engine = engine
        self._turn = turn
        self._thread = ThreadPoolExecutor(1, "fieldgate-writer")
        self._waiting: deque[_Waiting] = deque()
        self._working: asyncio.Task[None] | None = None

    async def run(self, write: Write[Result]) -> Result:
        """The result of a write, once it is committed and synced."""
        waiting = _Waiting(write, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._work())
            self._working.add_done_callback(self._ended)
        outcome = await waiting.outcome
        if outcome.error is None:
            return cast("Result", outcome.result)
        try:
            # Others may be told of the same error: it begins anew for each, or would grow with every one of them.
            raise outcome.error.with_traceback(outcome.traceback)
        finally:
            del waiting, outcome  # the error has this frame, and would keep itself in memory

    async def close(self) -> None:
        """End the thread when all that waits is done."""
        while self._working is not None and not self._working.done():
            await asyncio.wait([self._working])
        self._thread.shutdown()
        self._engine.dispose()

    async def _work(self) -> None:
        """Until nothing waits. After each commit the turn is given up, for whoever else waits for it."""
        while self._waiting:
            async with self._turn:
                await self._commit(self._next())

    def _ended(self, work: asyncio.Task[None]) -> None:
        """Nobody shall wait for work that broke off; where somebody came since, other work is under way."""
        if work is not self._working or not self._waiting:
            return
        error = None if work.cancelled() else work.exception()
        while self._waiting:
            outcome = self._waiting.popleft().outcome
            if outcome.done():
                continue
            if isinstance(error, Exception):
                outcome.set_result(_failed(error))
            else:
                outcome.cancel()

    def _next(self) -> list[_Waiting]:
        """Those whose turn it is, without who was cancelled meanwhile."""
        some: list[_Waiting] = []
        while self._waiting and len(some) < MOST_TOGETHER:
            waiting = self._waiting.popleft()
            if not waiting.outcome.cancelled():
                some.append(waiting)
        return some

    async def _commit(self, some: list[_Waiting]) -> None:
        """Make and commit them, then tell each what came of it; those that time did not allow for are the next."""
        if not some:
            return
        writes = [waiting.write for waiting in some]
        try:
            outcomes = await asyncio.get_running_loop().run_in_executor(self._thread, self._make, writes)
        except Exception as error:
            # It could not begin, or not be committed: nothing of it is stored, and everybody learns it.
            outcomes = [_failed(error)] * len(some)
        except BaseException:
            # The work is cancelled. The thread goes on, and nobody learns what comes of it.
            for waiting in some:
                waiting.outcome.cancel()
            raise
        self._waiting.extendleft(reversed(some[len(outcomes) :]))
        _tell(some, outcomes)

    def _make(self, writes: Sequence[Write[Any]]) -> list[_Outcome]:
        """The writes, as many as begin in time, in one transaction that is committed when this returns."""
        outcomes: list[_Outcome] = []
        with self._engine.begin() as connection:
            until = monotonic() + LONGEST
            for write in writes:
                outcomes.append(_apart(connection, write))
                if monotonic() >= until:
                    break
        return outcomes


def _tell(some: list[_Waiting], outcomes: list[_Outcome]) -> None:
    """Both lists are empty then: an error has the frames it came through, and these have the lists."""
    for waiting, outcome in zip(some, outcomes, strict=False):
        if not waiting.outcome.cancelled():
            waiting.outcome.set_result(outcome)
    some.clear()
    outcomes.clear()


def _failed(error: Exception) -> _Outcome:
    if isinstance(error, DBAPIError):
        # SQLAlchemy's frames have the error that has them: a file would stay in memory until the collector comes.
        clear_frames(error.__traceback__)
    return _Outcome(error=error, traceback=error.__traceback__)


def _apart(connection: Connection, write: Write[Any]) -> _Outcome:
    """One write with a savepoint of its own: if it fails, nothing of it stays, and the others' is not touched."""
    driver: Any = connection.connection.driver_connection
    driver.execute("SAVEPOINT own")
    try:
        outcome = _Outcome(write(connection))
    except Exception as error:
        # SQLite itself gave up all of it, as when the disk is full, or the connection is of no use any more.
        if connection.invalidated or not driver.in_transaction:
            raise
        driver.execute("ROLLBACK TO own")
        driver.execute("RELEASE own")
        return _failed(error)
    driver.execute("RELEASE own")
    return outcome
