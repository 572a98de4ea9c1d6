"""The client for scripts and notebooks.

with Client("https://field.example", token="…") as client:
    for event in client.events(type="Flood"):
        print(event.name)
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from datetime import datetime
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

import msgspec

from fieldgate_client.async_client import AsyncClient
from fieldgate_client.connection import ConnectionOptions
from fieldgate_client.event_loop_thread import EventLoopThread
from fieldgate_client.exports.output_file import Target
from fieldgate_client.list_query import DEFAULT_CONCURRENCY, DEFAULT_PAGE_SIZE
from fieldgate_client.lists import AsyncRecordList, Progress
from fieldgate_client.walk import WalkReport

Arguments = ParamSpec("Arguments")
Record = TypeVar("Record")
Result = TypeVar("Result")


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
    def call(self: Any, /, *arguments: Arguments.args, **options: Arguments.kwargs) -> RecordList[Record]:
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

    def raw_pages(self) -> Iterator[list[msgspec.Raw]]:
        """The records as JSON, exactly as the server sent them."""
        return self._loop.iterate(self._inner.raw_pages())

    def __len__(self) -> int:
        """How many records the server has. Requested once."""
        query = self._inner.query
        if self._count is None:
            self._count = self._loop.run(query.count())
        if self._count is None:  # `list()` asks for the length, and does without it after a TypeError
            raise TypeError(f"{query.path} does not tell how many records it has: count them while reading.")
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

    @overload
    def to_geojson(self, path: None = None, *, on_progress: Progress | None = None) -> dict[str, Any]: ...
    @overload
    def to_geojson(self, path: Target, *, on_progress: Progress | None = None) -> int: ...
    def to_geojson(self, path: Target | None = None, *, on_progress: Progress | None = None) -> dict[str, Any] | int:
        """A point for each country of each event. Write a file and return the number of records, or return a dict."""
        if path is None:
            return self._loop.run(self._inner.to_geojson(on_progress=on_progress))
        return self._loop.run(self._inner.to_geojson(path, on_progress=on_progress))


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
            url, token, language=language, page_size=page_size, concurrency=concurrency, options=options
        )
        self._loop = EventLoopThread()

    @property
    def has_token(self) -> bool:
        """Whether requests are made as a user."""
        return self._inner.has_token

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
    wait_for_import = _wait_for(AsyncClient.wait_for_import)
    download_form = _wait_for(AsyncClient.download_form)
    share = _wait_for(AsyncClient.share)
    explain = _wait_for(AsyncClient.explain)
    what_if = _wait_for(AsyncClient.what_if)
