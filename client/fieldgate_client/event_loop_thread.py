"""An event loop in a thread of its own, for callers without one.

The loop keeps fetching pages while the caller works on the records that it has.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
    from concurrent.futures import Future

Result = TypeVar("Result")
_END = object()
CANCEL_SECONDS = 5.0  # an interrupted coroutine closes its files and connections, but may hang


class EventLoopThread:
    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._pid = 0
        self._lock = threading.RLock()  # garbage collection can end iterators at any place
        self._closing: set[asyncio.Task[None]] = set()

    def run(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine in the loop and wait for its result. If the wait is interrupted, it is cancelled and ends."""
        if self._is_own_thread():
            coroutine.close()
        return self._wait_for(_Call(lambda: coroutine))

    def _wait_for(self, call: _Call[Result]) -> Result:
        if self._is_own_thread():
            raise RuntimeError("A callback of the client cannot use the client: it would wait for itself.")
        loop = self._running_loop()
        try:
            loop.call_soon_threadsafe(call.start)  # an interrupt inside of it may come before or after it is in effect
            return call.result.result()
        except BaseException:
            loop.call_soon_threadsafe(call.cancel)
            call.ended.wait(CANCEL_SECONDS)
            raise

    def iterate(self, source: AsyncIterator[Result]) -> Iterator[Result]:
        """The values of an asynchronous iterator, which is closed at the end or when the caller stops."""
        try:
            while (value := self._wait_for(_Call(lambda: _next(source)))) is not _END:
                yield value  # type: ignore[misc]
        finally:
            self._close(source)

    def _close(self, source: AsyncIterator[Any]) -> None:
        loop = self._loop
        if loop is None or loop.is_closed() or self._pid != os.getpid():
            return
        if not self._is_own_thread():
            self.run(_close(source))
            return
        # The garbage collector ran in the thread of the loop, which cannot wait for itself.
        closing = loop.create_task(_close(source))
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    def _is_own_thread(self) -> bool:
        return self._pid == os.getpid() and threading.current_thread() is self._thread

    def stop(self) -> None:
        """Stop the loop, and wait until its connections are closed."""
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is not None and self._pid == os.getpid():
            _stop(loop)
            if self._thread is not None and self._thread is not threading.current_thread():
                self._thread.join(CANCEL_SECONDS)

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        import asyncio

        with self._lock:
            if self._loop is None or self._pid != os.getpid():  # a forked process has no thread of its parent
                self._loop, self._pid = asyncio.new_event_loop(), os.getpid()
                self._thread = threading.Thread(
                    target=_run_forever, args=(self._loop,), name="fieldgate-client", daemon=True
                )
                self._thread.start()
                weakref.finalize(self, _stop, self._loop)
            return self._loop


class _Call(Generic[Result]):
    """A coroutine that another thread waits for. `start` and `cancel` run in the thread of the loop."""

    def __init__(self, make_coroutine: Callable[[], Coroutine[Any, Any, Result]]) -> None:
        from concurrent.futures import Future

        self.result: Future[Result] = Future()
        self.ended = threading.Event()
        self._make_coroutine = make_coroutine
        self._task: asyncio.Task[Result] | None = None

    def start(self) -> None:
        import asyncio

        self._task = asyncio.ensure_future(self._make_coroutine())
        self._task.add_done_callback(self._finish)

    def cancel(self) -> None:
        if self._task is None:  # interrupted before it was started
            self._make_coroutine().close()
            self.ended.set()
        else:
            self._task.cancel()

    def _finish(self, task: asyncio.Task[Result]) -> None:
        if task.cancelled():
            self.result.cancel()
        elif error := task.exception():
            self.result.set_exception(error)
        else:
            self.result.set_result(task.result())
        self.ended.set()


async def _next(source: AsyncIterator[Result]) -> Result | object:
    return await anext(source, _END)


async def _close(source: AsyncIterator[Any]) -> None:
    # An iterator that is still running was cancelled, and closes itself.
    if hasattr(source, "aclose") and not getattr(source, "ag_running", False):
        await source.aclose()


def _run_forever(loop: asyncio.AbstractEventLoop) -> None:
    import asyncio

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
