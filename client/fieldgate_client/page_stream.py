"""The pages of a list in order, requested some at a time."""

from __future__ import annotations

import asyncio
from collections import deque
from types import TracebackType
from typing import Protocol

import msgspec

from fieldgate_client.pages import Page


class PageSource(Protocol):
    """Where pages come from. `ordering` is empty for the order of the list itself."""

    async def fetch_page(self, offset: int, limit: int, ordering: str) -> Page: ...


class StreamOptions(msgspec.Struct, frozen=True):
    page_size: int
    concurrency: int
    start: int = 0
    stop: int | None = None
    ordering: str = ""
    overlap: int = 0  # records at the end of a page that are requested again with the next
    overlap_without_version: int = 0  # the same, if the server sends no version of the data


class PageStream:
    """The first page decides on the page size: servers may have a lower maximum than what was asked for.

    The list ends where a page is empty, or where a page has no next one and the announced number of records is reached.
    """

    def __init__(self, source: PageSource, options: StreamOptions) -> None:
        self._source = source
        self._options = options
        self._tasks: deque[asyncio.Task[Page]] = deque()
        self._limit = options.page_size
        self.step = 0  # the page size of the server; 0: not known yet
        self._next_offset = options.start
        self._count: int | None = None
        self._is_done = False
        self.overlap = 0
        self.end = options.start  # of what was returned

    async def __aenter__(self) -> PageStream:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._cancel()

    async def next_page(self) -> Page | None:
        """The next page, or None at the end. It begins with the last `overlap` records of the page before."""
        self._prefetch()
        if not self._tasks:
            return None
        page = await self._tasks.popleft()
        is_first = not self.step
        if is_first:
            self._follow_page_size(page)
        await self._advance(page)
        if not is_first:  # many callers stop after some records of the first page
            self._prefetch()
        stop = self._options.stop
        if stop is not None and page.offset + len(page.records) > stop:  # some servers ignore `limit`
            wanted = max(0, stop - page.offset)
            page = msgspec.structs.replace(page, records=page.records[:wanted], keys=page.keys[:wanted])
        return page

    async def restart(self, offset: int) -> None:
        """Continue from another place of the list."""
        await self._cancel()
        self._next_offset = self.end = max(offset, self._options.start)
        self._is_done = False

    def _prefetch(self) -> None:
        most = self._options.concurrency if self.step else 1
        while len(self._tasks) < most and self._is_wanted(self._next_offset):
            limit = self._limit
            if self._options.stop is not None:
                limit = min(limit, self._options.stop - self._next_offset)
            fetching = self._source.fetch_page(self._next_offset, limit, self._options.ordering)
            self._tasks.append(asyncio.ensure_future(fetching))
            self._next_offset += max(1, self.step - self.overlap)

    def _is_wanted(self, offset: int) -> bool:
        stop = self._options.stop
        if self._is_done or (stop is not None and offset + self.overlap >= stop):
            return False
        # Beyond the announced end, one page at a time, as long as the server says that there is a next one.
        return not self._tasks or (self._count is not None and offset + self.overlap < self._count)

    def _follow_page_size(self, page: Page) -> None:
        self.step = page.step if page.has_next else max(page.step, self._limit)
        wanted = 0 if page.data_version else self._options.overlap_without_version
        if page.has_next:
            if wanted and self.step == self._limit == 1:
                self.step = 2  # pages of one record cannot overlap
            self._limit = self.step
        self.overlap = min(max(wanted, self._options.overlap), self.step // 2)
        if page.has_next and len(page.records) < page.step:
            self.overlap = 0  # this server leaves records out of its pages
        self._next_offset = page.end - self.overlap

    async def _advance(self, page: Page) -> None:
        self._count = page.count
        is_end = not page.has_next and (page.count is None or page.end >= page.count)
        if is_end or page.end <= self.end:
            self._is_done = True
            await self._cancel()
        elif page.end != page.offset + self.step:
            await self._cancel()  # the server changed its page size, or ends earlier than announced
            self._next_offset = page.end - self.overlap
        self.end = max(self.end, page.end)

    async def _cancel(self) -> None:
        tasks = [*self._tasks]
        self._tasks.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
