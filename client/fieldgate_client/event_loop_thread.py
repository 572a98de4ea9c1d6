"""An event loop in a thread of its own, for callers without one.

The loop keeps fetching pages while the caller works on the records that it has.
"""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import AsyncGenerator, Coroutine, Iterator
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

Result = TypeVar("Result")
_END = object()
CANCEL_SECONDS = 5.0  # an interrupted coroutine closes its files and connections, but may hang


class EventLoopThread:
    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._pid = 0
        self._lock = threading.RLock()  # garbage collection can end iterators at any place

    def run(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine in the loop and wait for its result. If the wait is interrupted, it is cancelled and ends."""
        if self._is_own_thread():
            coroutine.close()
            raise RuntimeError("A callback of the client cannot use the client: it would wait for itself.")
        loop, ended = self._running_loop(), threading.Event()
        future = asyncio.run_coroutine_threadsafe(_note_end(coroutine, ended), loop)
        try:
            result = future.result()
        except BaseException:
            future.cancel()
            ended.wait(CANCEL_SECONDS)
            raise
        if isinstance(result, _Stopped):
            raise result.error
        return result

    def iterate(self, source: AsyncGenerator[Result, None]) -> Iterator[Result]:
        """The values of an asynchronous iterator, which is closed at the end or when the caller stops."""
        try:
            while (value := self.run(_next(source))) is not _END:
                yield value  # type: ignore[misc]
        finally:
            self._close(source)

    def _close(self, source: AsyncGenerator[Any, None]) -> None:
        loop = self._loop
        if loop is None or loop.is_closed() or self._pid != os.getpid():
            return
        if self._is_own_thread():  # the garbage collector ran there, and the loop cannot wait for itself
            asyncio.run_coroutine_threadsafe(_close(source), loop)
        else:
            self.run(_close(source))

    def _is_own_thread(self) -> bool:
        return self._pid == os.getpid() and threading.current_thread() is self._thread

    def stop(self) -> None:
        """Stop the loop, and wait until its connections are closed."""
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is not None and self._pid == os.getpid():
            _stop(loop)
            if self._thread is not None and not self._is_own_thread():
                self._thread.join(CANCEL_SECONDS)

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or self._pid != os.getpid():  # a forked process has no thread of its parent
                self._loop, self._pid = asyncio.new_event_loop(), os.getpid()
                self._thread = threading.Thread(
                    target=_run_forever, args=(self._loop,), name="fieldgate-client", daemon=True
                )
                self._thread.start()
                weakref.finalize(self, _stop, self._loop)
            return self._loop


class _Stopped(NamedTuple):
    error: BaseException


async def _note_end(coroutine: Coroutine[Any, Any, Result], ended: threading.Event) -> Result | _Stopped:
    try:
        return await coroutine
    except (KeyboardInterrupt, SystemExit) as error:  # of a callback: in a task they would end the loop
        return _Stopped(error)
    finally:
        ended.set()


async def _next(source: AsyncGenerator[Result, None]) -> Result | object:
    return await anext(source, _END)


async def _close(source: AsyncGenerator[Any, None]) -> None:
    with suppress(RuntimeError):  # an iterator that is still running was cancelled, and closes itself
        await source.aclose()


def _run_forever(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


def _stop(loop: asyncio.AbstractEventLoop) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(loop.stop)
