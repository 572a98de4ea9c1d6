"""Threads for work that blocks, such as reading from the database and rendering what was read.

They share the interpreter, so more of them would not do more. Work holds its thread until it has ended, also when its
caller has left: it cannot be stopped, only be asked to end.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Result = TypeVar("Result")


class NoFreeThread(Exception):
    """All threads were busy for as long as a caller waits."""


class WorkThreads:
    def __init__(self, count: int, wait_seconds: float) -> None:
        self._executor = ThreadPoolExecutor(count, "fieldgate-work")
        self._count = count
        self._wait_seconds = wait_seconds
        self._free = asyncio.Semaphore(count)

    async def run(
        self, work: Callable[[], Result], interrupt: Callable[[], None] | None = None
    ) -> Result:
        """Run a function in a thread. A caller that is cancelled interrupts it, and waits until it has ended.

        `NoFreeThread` if all threads are busy for too long.
        """
        try:
            async with asyncio.timeout(self._wait_seconds):
                await self._free.acquire()
        except TimeoutError:
            raise NoFreeThread from None
        running = asyncio.get_running_loop().run_in_executor(self._executor, work)
        running.add_done_callback(lambda _: self._free.release())
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            if interrupt is not None:
                await asyncio.to_thread(interrupt)  # it may ask a server
            await asyncio.gather(running, return_exceptions=True)
            raise

    def close(self) -> None:
        """Wait for the work that runs. Threads start again when they are needed."""
        self._executor.shutdown()
        self._executor = ThreadPoolExecutor(self._count, "fieldgate-work")
