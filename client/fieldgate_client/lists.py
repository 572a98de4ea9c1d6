"""Lazy lists of records: nothing is requested before they are used."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from typing import Any, Generic, TypeVar, overload

import msgspec

from fieldgate_client.errors import FieldgateError
from fieldgate_client.event_loop_thread import EventLoopThread
from fieldgate_client.list_query import ListQuery
from fieldgate_client.walk import WalkReport

Record = TypeVar("Record")


class AsyncRecordList(Generic[Record]):
    """`async for event in client.events(…)`; `await list.count()`; `list[:10]`; `await list.to_csv(path)`."""

    def __init__(self, query: ListQuery[Record]) -> None:
        self.query = query
        self.report = WalkReport()  # of the last walk

    def __repr__(self) -> str:
        return _describe(type(self).__name__, self.query)

    def __aiter__(self) -> AsyncIterator[Record]:
        return self._records()

    async def _records(self) -> AsyncIterator[Record]:
        async with aclosing(self.pages()) as pages:
            async for page in pages:
                for record in page:
                    yield record

    async def pages(self) -> AsyncGenerator[list[Record], None]:
        """The records page by page."""
        async with aclosing(self.raw_pages()) as pages:
            async for page in pages:
                yield self.query.decode(page)

    async def raw_pages(self, *, is_fixed: bool = False) -> AsyncGenerator[list[msgspec.Raw], None]:
        """The records as JSON, exactly as the server sent them."""
        walk = self.query.walk(is_fixed=is_fixed)
        self.report = walk.report
        async with aclosing(walk.pages()) as pages:
            async for page in pages:
                yield page

    async def count(self) -> int:
        count = await self.query.count()
        if count is None:
            raise FieldgateError(f"{self.query.path} does not tell how many records it has.")
        return count

    async def first(self) -> Record | None:
        page = await self.query.fetch_page(self.query.start, 1)
        return self.query.decode(page.records[:1])[0] if page.records else None

    def __getitem__(self, part: slice) -> AsyncRecordList[Record]:
        return type(self)(self.query.part(*_bounds(part)))


class RecordList(Generic[Record]):
    """`for event in client.events(…)`; `len(list)`; `list[0]`, `list[:10]`; `list.to_csv(path)`."""

    def __init__(self, query: ListQuery[Record], loop: EventLoopThread) -> None:
        self._list = AsyncRecordList(query)
        self._loop = loop
        self._count: int | None = None

    def __repr__(self) -> str:
        return _describe(type(self).__name__, self._list.query)

    @property
    def report(self) -> WalkReport:
        return self._list.report

    def __iter__(self) -> Iterator[Record]:
        for page in self.pages():
            yield from page

    def pages(self) -> Iterator[list[Record]]:
        """The records page by page."""
        for page in self.raw_pages():
            yield self._list.query.decode(page)

    def raw_pages(self, *, is_fixed: bool = False) -> Iterator[list[msgspec.Raw]]:
        """The records as JSON, exactly as the server sent them."""
        return self._loop.iterate(self._list.raw_pages(is_fixed=is_fixed))

    def __len__(self) -> int:
        """How many records the server has. Requested once."""
        if self._count is None:
            self._count = self._loop.run(self._list.count())
        return self._count

    def first(self) -> Record | None:
        return self._loop.run(self._list.first())

    @overload
    def __getitem__(self, part: int) -> Record: ...
    @overload
    def __getitem__(self, part: slice) -> RecordList[Record]: ...
    def __getitem__(self, part: int | slice) -> Record | RecordList[Record]:
        if isinstance(part, slice):
            return RecordList(self._list.query.part(*_bounds(part)), self._loop)
        position = part if part >= 0 else len(self) + part
        record = self[position : position + 1].first() if position >= 0 else None
        if record is None:
            raise IndexError(f"The list has no record {part}.")
        return record


def _bounds(part: slice) -> tuple[int, int | None]:
    start, stop, step = part.start or 0, part.stop, part.step
    if start < 0 or (stop is not None and stop < 0) or step not in (None, 1):
        raise ValueError("Only slices from the front are possible, such as [:10] or [100:200].")
    return start, stop


def _describe(name: str, query: ListQuery[Any]) -> str:
    filters = ", ".join(f"{key}={value}" for key, value in query.parameters)
    part = (
        "" if (query.start, query.stop) == (0, None) else f"[{query.start}:{'' if query.stop is None else query.stop}]"
    )
    return f"<{name} {query.connection.server}{query.path}{' ' if filters else ''}{filters}{part}>"
