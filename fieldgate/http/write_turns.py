"""Writes of one user take turns, so that they cannot delay the writes of others for long.

SQLite has one writer at a time, and writers wait in the order of arrival: without this, a user who changes a thousand
assignments in each of two hundred requests would make everybody wait for all of them, and logins too.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fieldgate.errors import ServiceUnavailable

MAX_WRITES_PER_USER = 8  # at a time; more would gain little, as they wait for each other in the database
MAX_WAIT_SECONDS = 30


class WriteTurns:
    """Users are identified by their ids. Writes without credentials are logins, which have a queue of their own."""

    def __init__(self, max_per_user: int = MAX_WRITES_PER_USER, max_wait_seconds: float = MAX_WAIT_SECONDS) -> None:
        self._max_per_user = max_per_user
        self._max_wait_seconds = max_wait_seconds
        self._running: dict[int, int] = {}  # number of writes by user
        self._waiting: dict[int, dict[asyncio.Future[None], None]] = {}  # in the order of arrival

    @asynccontextmanager
    async def turn(self, user_id: int) -> AsyncIterator[None]:
        """Wait until few other writes of the user are being handled. Raise `ServiceUnavailable`."""
        running = self._running.get(user_id, 0)
        if running < self._max_per_user:
            self._running[user_id] = running + 1
        else:
            await self._wait(user_id)
        try:
            yield
        finally:
            self._pass_on(user_id)

    async def _wait(self, user_id: int) -> None:
        future = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(user_id, {})[future] = None
        try:
            async with asyncio.timeout(self._max_wait_seconds):
                await future
        except BaseException as error:
            if future.done() and not future.cancelled():  # the turn came at the same moment
                self._pass_on(user_id)
            else:
                self._stop_waiting(user_id, future)
            if isinstance(error, TimeoutError):
                raise ServiceUnavailable from None
            raise

    def _pass_on(self, user_id: int) -> None:
        """Give a turn that ends to the next write of the user, if there is one."""
        while waiting := self._waiting.get(user_id):
            future = next(iter(waiting))
            self._stop_waiting(user_id, future)
            if not future.done():
                future.set_result(None)
                return
        self._running[user_id] -= 1
        if not self._running[user_id]:
            del self._running[user_id]

    def _stop_waiting(self, user_id: int, future: asyncio.Future[None]) -> None:
        waiting = self._waiting.get(user_id, {})
        waiting.pop(future, None)
        if not waiting:
            self._waiting.pop(user_id, None)
