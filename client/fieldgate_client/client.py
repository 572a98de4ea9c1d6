"""The client for scripts and notebooks.

with Client("https://field.example", token="…") as client:
    for event in client.events(type="Flood"):
        print(event.name)
"""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import suppress
from datetime import datetime
from functools import wraps
from typing import Any, Concatenate, Generic, NamedTuple, ParamSpec, TypeVar, overload

from fieldgate_client.async_client import AsyncClient
from fieldgate_client.connection import ConnectionOptions
from fieldgate_client.lists import AsyncRecordList
from fieldgate_client.walk import DEFAULT_CONCURRENCY, DEFAULT_PAGE_SIZE, WalkReport

Arguments = ParamSpec("Arguments")
Record = TypeVar("Record")
Result = TypeVar("Result")

_END = object()
CANCEL_SECONDS = 5.0  # an interrupted coroutine closes its files and connections, but may hang


def _wait_for(
    method: Callable[Concatenate[Any, Arguments], Coroutine[Any, Any, Result]],
) -> Callable[Concatenate[Any, Arguments], Result]:
    """The same method without `await`."""

    @wraps(method)
    def call(self: Any, /, *arguments: Arguments.args, **options: Arguments.kwargs) -> Result:
        loop: EventLoopThread = self._loop
        return loop.run(method(self._inner, *arguments, **options))

    return call


def _list_of(
    method: Callable[Concatenate[Any, Arguments], AsyncRecordList[Record]],
) -> Callable[Concatenate[Any, Arguments], RecordList[Record]]:
    """The same method, with a list that is read without `await`."""

    @wraps(method)
    def call(
        self: Any, /, *arguments: Arguments.args, **options: Arguments.kwargs
    ) -> RecordList[Record]:
        return RecordList(method(self._inner, *arguments, **options), self._loop)

    return call


class RecordList(Generic[Record]):
    """`for event in client.events(…)`; `len(list)`; `list[0]`, `list[:10]`; `list.to_csv(path)`."""

    def __init__(self, inner: AsyncRecordList[Record], loop: EventLoopThread) -> None:
        self._inner = inner
        self._loop = loop
        self._count: int | None = None

    def __repr__(self) -> str:
        return repr(self._inner).replace("Async", "", 1)

    @property
    def report(self) -> WalkReport:
        return self._inner.report

    def __iter__(self) -> Iterator[Record]:
        for page in self.pages():
            yield from page

    def pages(self) -> Iterator[list[Record]]:
        """The records page by page."""
        return self._loop.iterate(self._inner.pages())

    def __len__(self) -> int:
        """How many records the server has. Requested once."""
        query = self._inner.query
        if self._count is None:
            self._count = self._loop.run(query.count())
        if (
            self._count is None
        ):  # `list()` asks for the length, and does without it after a TypeError
            raise TypeError(
                f"{query.path} does not tell how many records it has: count them while reading."
            )
        return self._count

    def first(self) -> Record | None:
        return self._loop.run(self._inner.first())

    @property
    def next_since(self) -> datetime:
        """The `since` for the next time: the server's clock at the first page, minus five minutes."""
        return self._inner.next_since

    @overload
    def __getitem__(self, part: int) -> Record: ...
    @overload
    def __getitem__(self, part: slice) -> RecordList[Record]: ...
    def __getitem__(self, part: int | slice) -> Record | RecordList[Record]:
        if isinstance(part, slice):
            return RecordList(self._inner[part], self._loop)
        position = part if part >= 0 else len(self) + part
        record = self[position : position + 1].first() if position >= 0 else None
        if record is None:
            raise IndexError(f"The list has no record {part}.")
        return record

    deleted = _wait_for(AsyncRecordList.deleted)
    to_ndjson = _wait_for(AsyncRecordList.to_ndjson)
    to_csv = _wait_for(AsyncRecordList.to_csv)
    to_xlsx = _wait_for(AsyncRecordList.to_xlsx)
    to_parquet = _wait_for(AsyncRecordList.to_parquet)
    to_pandas = _wait_for(AsyncRecordList.to_pandas)
    to_polars = _wait_for(AsyncRecordList.to_polars)

    to_geojson = _wait_for(AsyncRecordList.to_geojson)


class Client:
    """The same methods as `AsyncClient`, without `await`. Requests run in a thread of their own."""

    def __init__(
        self,
        url: str,
        token: str = "",
        *,
        language: str = "",
        page_size: int = DEFAULT_PAGE_SIZE,
        concurrency: int = DEFAULT_CONCURRENCY,
        options: ConnectionOptions | None = None,
    ) -> None:
        self._inner = AsyncClient(
            url,
            token,
            language=language,
            page_size=page_size,
            concurrency=concurrency,
            options=options,
        )
        self._loop = EventLoopThread(self._inner.close)

    @property
    def has_token(self) -> bool:
        """Whether requests are made as a user."""
        return self._inner.has_token

    @property
    def server(self) -> str:
        """The address of the server, without a slash at the end."""
        return self._inner.server

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._loop.run(self._inner.close())
        self._loop.stop()

    events = _list_of(AsyncClient.events)
    permissions = _list_of(AsyncClient.permissions)
    imports = _list_of(AsyncClient.imports)
    assets = _list_of(AsyncClient.assets)
    list = _list_of(AsyncClient.list)
    get = _wait_for(AsyncClient.get)
    import_form = _wait_for(AsyncClient.import_form)
    check_form = _wait_for(AsyncClient.check_form)
    wait_for_import = _wait_for(AsyncClient.wait_for_import)
    download_form = _wait_for(AsyncClient.download_form)
    share = _wait_for(AsyncClient.share)
    explain = _wait_for(AsyncClient.explain)
    teams = _list_of(AsyncClient.teams)
    create_team = _wait_for(AsyncClient.create_team)
    team_members = _list_of(AsyncClient.team_members)
    team_assets = _list_of(AsyncClient.team_assets)
    add_to_team = _wait_for(AsyncClient.add_to_team)
    remove_from_team = _wait_for(AsyncClient.remove_from_team)


class EventLoopThread:
    """An event loop in a thread of its own. It keeps fetching pages while the caller works on the records it has."""

    def __init__(self, close: Callable[[], Coroutine[Any, Any, None]] | None = None) -> None:
        self._close = close  # what is open in the loop, when it stops
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._pid = 0
        self._lock = threading.Lock()

    def run(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine in the loop and wait for its result. If the wait is interrupted, it is cancelled and ends."""
        if self._pid == os.getpid() and threading.current_thread() is self._thread:
            coroutine.close()
            raise RuntimeError(
                "A callback of the client cannot use the client: it would wait for itself."
            )
        ended = threading.Event()
        future = asyncio.run_coroutine_threadsafe(_note_end(coroutine, ended), self._running_loop())
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
            loop = self._loop
            if loop is not None and not loop.is_closed() and self._pid == os.getpid():
                asyncio.run_coroutine_threadsafe(_close(source), loop)

    def stop(self) -> None:
        """Stop the loop, and wait until its connections are closed."""
        loop, self._loop = self._loop, None
        if loop is not None and self._thread is not None and self._pid == os.getpid():
            _stop(loop, self._thread)

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if (
                self._loop is None or self._pid != os.getpid()
            ):  # a forked process has no thread of its parent
                self._loop, self._pid = asyncio.new_event_loop(), os.getpid()
                self._thread = threading.Thread(
                    target=_run_forever,
                    args=(self._loop, self._close),
                    name="fieldgate-client",
                    daemon=True,
                )
                self._thread.start()
                weakref.finalize(self, _stop, self._loop, self._thread)
            return self._loop


class _Stopped(NamedTuple):
    error: BaseException


async def _note_end(
    coroutine: Coroutine[Any, Any, Result], ended: threading.Event
) -> Result | _Stopped:
    try:
        return await coroutine
    except (
        KeyboardInterrupt,
        SystemExit,
    ) as error:  # of a callback: in a task they would end the loop
        return _Stopped(error)
    finally:
        ended.set()


async def _next(source: AsyncGenerator[Result, None]) -> Result | object:
    return await anext(source, _END)


async def _close(source: AsyncGenerator[Any, None]) -> None:
    with suppress(
        RuntimeError
    ):  # an iterator that is still running was cancelled, and closes itself
        await source.aclose()


def _run_forever(
    loop: asyncio.AbstractEventLoop, close: Callable[[], Coroutine[Any, Any, None]] | None
) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
        if close is not None:
            loop.run_until_complete(close())
        loop.close()


def _stop(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    """Stop a loop, also at the end of the program, and wait until its connections are closed."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(loop.stop)
    if threading.current_thread() is not thread:
        thread.join(CANCEL_SECONDS)
