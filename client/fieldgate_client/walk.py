"""Reading a whole list page by page: complete and without duplicates, or a clear error.

Pages are requested concurrently and returned in order. How a walk knows that nothing is missing:

- *unchanged*: all pages carry the same version of the data, and the number of records is the announced one. Fieldgate
  sends the version.
- *ordered*: the data changed meanwhile, so the list is read again in an order that never changes (by id), each page
  beginning with a record that was read before. Whatever was in the list all the time is then in one of the pages,
  however much was written. Records that were already returned are left out.
- *counted*: servers that send no version. The number of records stayed the same and equals what was received, and the
  pages continue each other. Otherwise the list is read again with other page limits, as some servers do not order
  records completely, until no record is missing.

If none of these holds after some passes, `IncompleteList` is raised after the last record.

A walk can go on in another process: keep `Walk.current` after each page, such as in JSON, and give it to a new walk.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from datetime import datetime
from itertools import compress
from typing import Protocol

import anyio
import msgspec

from fieldgate_client.errors import IncompleteList
from fieldgate_client.pages import Key, Page

DEFAULT_PAGE_SIZE = 1000  # the maximum of Fieldgate and KoboToolbox
DEFAULT_CONCURRENCY = 4
MAX_PASSES = 8
MAX_REPEATED_PAGES = 50  # in a row without a new record: the server sends the same page for ever
MAX_READS = 20  # of the whole list, as long as it was at the start of a pass: its end grows or is replaced for ever
MAX_REREADS = 20  # of one place of a list in a fixed order that does not continue what was read
OVERLAP = (
    5  # records requested again with the next page, if the server sends no version of the data
)

Records = list[msgspec.Raw]


class PageSource(Protocol):
    """Where pages come from. `ordering` is empty for the order of the list itself."""

    async def fetch_page(self, offset: int, limit: int, ordering: str) -> Page: ...


class WalkOptions(msgspec.Struct, frozen=True):
    page_size: int = DEFAULT_PAGE_SIZE
    concurrency: int = DEFAULT_CONCURRENCY
    start: int = 0
    stop: int | None = None
    fixed_ordering: str = ""  # an order of this list that never changes, if the server has one
    is_fixed: bool = False  # read in that order in the first place
    timeout: float | None = None  # seconds of waiting for all pages

    @property
    def is_part(self) -> bool:
        return self.start > 0 or self.stop is not None

    def size(self, count: int | None) -> int | None:
        """How many records this part has, if the whole list has `count`."""
        if count is None:
            return None
        return max(0, (count if self.stop is None else min(count, self.stop)) - self.start)


class WalkReport(msgspec.Struct):
    """What a walk saw: filled while it runs."""

    count: int | None = None  # as last announced by the server
    received: int = 0
    duplicates: int = 0  # left out
    passes: int = 0
    rereads: int = 0  # places of the list that were read again because it had moved
    started_at: datetime | None = None  # of the first page, by the server's clock
    proof: str = ""  # "unchanged", "ordered" or "counted"; empty until the walk is complete


class Pass(msgspec.Struct):
    """What one pass over the list has seen so far."""

    ordering: str = ""
    end: int = 0  # the offset up to which the list was read
    last_keys: list[Key] = msgspec.field(default_factory=list)  # of the records before `end`
    versions: set[str] = msgspec.field(default_factory=set)
    counts: set[int | None] = msgspec.field(default_factory=set)
    keys: set[Key] = msgspec.field(default_factory=set)
    pages: int = 0
    most_pages: int = 0  # 0: not known
    repeated_pages: int = 0  # in a row
    is_continuous: bool = True
    is_fieldgate: bool = False
    is_endless: bool = False
    is_beyond: bool = False  # what the server says is the end, by more than a page

    def note(self, page: Page) -> None:
        if self.pages == 0 and page.count is not None:
            self.most_pages = 100 + MAX_READS * page.count // page.step
        self.pages += 1
        self.repeated_pages = self.repeated_pages + 1 if self.keys.issuperset(page.keys) else 0
        # A page more can be one of records that were added meanwhile.
        self.is_beyond = (
            bool(page.records) and page.count is not None and page.end > page.count + page.step
        )
        is_too_long = self.most_pages > 0 and self.pages > self.most_pages
        self.is_endless = is_too_long or self.repeated_pages > MAX_REPEATED_PAGES
        self.is_fieldgate = page.is_fieldgate
        self.versions.add(page.data_version)
        self.counts.add(page.count)

    def move_to_end_of(self, page: Page) -> None:
        self.end = page.end
        self.last_keys = page.keys[-OVERLAP:]

    @property
    def has_versions(self) -> bool:
        return bool(self.versions - {""})

    @property
    def is_unchanged(self) -> bool:
        return self.pages == 1 or (len(self.versions) == 1 and self.has_versions)

    def is_whole(self, options: WalkOptions) -> bool:
        """Whether the number of records stayed the same, and equals what was received."""
        if len(self.counts) > 1:
            return False
        expected = {options.size(count) for count in self.counts} - {None}
        if self.counts == {
            None
        }:  # then a record that was received twice is all that shows that something moved
            return self.is_continuous
        return not expected or expected == {len(self.keys)}


class Walk:
    """`interrupted` is the current pass of a walk over the same list that was stopped: this one goes on there.

    It returns what that pass had not returned yet, and knows whether both together are complete.
    """

    def __init__(
        self,
        source: PageSource,
        options: WalkOptions | None = None,
        interrupted: Pass | None = None,
    ) -> None:
        self._source = source
        self._options = options or WalkOptions()
        self._interrupted = interrupted
        self.current = Pass()  # after each page, it has everything that was returned
        self.keys: set[Key] = set()  # of all records of the list, once the walk is complete
        self._returned: set[Key] = set()
        self._counts: set[int | None] = set()  # of all passes
        self._has_fixed_order = True
        self._waited = 0.0  # seconds, for pages
        self.report = WalkReport()

    async def pages(self) -> AsyncGenerator[Records, None]:
        """Yield the records page by page, each once. Raises `IncompleteList` at the end if some may be missing."""
        options, number = self._options, 0
        can_fix = bool(options.fixed_ordering) and not options.is_part
        is_fixed = can_fix and options.is_fixed
        while True:
            if is_fixed:
                this = self._begin(options.fixed_ordering)
                async with aclosing(self._read_in_fixed_order(this)) as pages:
                    async for records in pages:
                        yield records
                if self._has_fixed_order:
                    self.report.proof = "ordered"
                    self.keys = this.keys
                    return
                can_fix = False
            this = self._begin("")
            page_size = max(1, options.page_size - number * (options.page_size // 20 + 1))
            async with aclosing(self._read(this, page_size)) as pages:
                async for records in pages:
                    yield records
            is_fixed = can_fix and this.is_fieldgate
            self.report.proof = self._proof(this, is_last_resort=not is_fixed)
            if self.report.proof:
                self.keys = this.keys if this.is_whole(options) else self._returned
                return
            number += 1
            if not is_fixed and (options.is_part or number == MAX_PASSES):
                raise self._incomplete()

    def _begin(self, ordering: str) -> Pass:
        """Begin a pass, or go on with the one that was interrupted, if it read the list in this order."""
        interrupted, self._interrupted = self._interrupted, None
        self.report.passes += 1
        if interrupted is not None and interrupted.ordering == ordering:
            self._returned |= interrupted.keys
            self.report.received = len(interrupted.keys)
            self.current = interrupted
        else:
            self.current = Pass(ordering, self._options.start)
        return self.current

    async def _read(self, this: Pass, page_size: int) -> AsyncGenerator[Records, None]:
        """One pass in the order of the list."""
        async with aclosing(_PageStream(self._source, self._options, page_size, this)) as stream:
            while (page := await self._next_page(stream, this)) is not None:
                overlap = this.end - page.offset
                expected = this.last_keys[len(this.last_keys) - overlap :] if overlap else []
                added = _add_keys(this.keys, page.keys[overlap:])
                if page.keys[:overlap] != expected or not all(added):
                    this.is_continuous = False
                self.report.duplicates += len(added) - sum(added)
                this.move_to_end_of(page)
                if records := self._not_returned(page):
                    yield records

    async def _read_in_fixed_order(self, this: Pass) -> AsyncGenerator[Records, None]:
        """A pass that goes back wherever a page has no record that was read before.

        Records keep their order, and a page has all records between its first and its last. If one of them was read
        before, then nothing is left out between what was read and the end of this page.
        """
        options, failures = self._options, 0
        page_size = max(2, options.page_size)
        async with aclosing(_PageStream(self._source, options, page_size, this)) as stream:
            while (page := await self._next_page(stream, this)) is not None:
                if not page.is_fieldgate or "ordering" in page.ignored_parameters:
                    self._has_fixed_order = False  # another server, which may ignore the order
                    return
                if page.offset and this.keys.isdisjoint(page.keys):
                    failures += 1
                    self.report.rereads += 1
                    if failures > MAX_REREADS:
                        raise self._incomplete()
                    await stream.restart(page.offset - stream.step * failures)
                    continue
                if any(_add_keys(this.keys, page.keys)):  # not only what was read again
                    failures = 0
                this.move_to_end_of(page)
                if records := self._not_returned(page):
                    yield records
        if this.is_unchanged and not this.is_whole(options):
            raise self._incomplete()

    async def _next_page(self, stream: _PageStream, this: Pass) -> Page | None:
        began, timeout = asyncio.get_running_loop().time(), self._options.timeout
        try:
            with anyio.fail_after(None if timeout is None else max(0.0, timeout - self._waited)):
                page = await stream.next_page()
        except TimeoutError:
            raise self._incomplete(f"The list took longer than {timeout:g} s") from None
        self._waited += asyncio.get_running_loop().time() - began
        if page is not None:
            this.note(page)
            if this.is_beyond:
                raise self._incomplete("The list goes on after the end that the server announced")
            if this.is_endless:
                raise self._incomplete()
        return page

    def _not_returned(self, page: Page) -> Records:
        report = self.report
        report.count = page.count
        if report.started_at is None:
            report.started_at = page.timestamp
        added = _add_keys(self._returned, page.keys)
        records = page.records if all(added) else list(compress(page.records, added))
        self.report.received += len(records)
        return records

    def _proof(self, this: Pass, *, is_last_resort: bool) -> str:
        """How it is known that this pass, with those before, returned everything; empty if it is not."""
        self._counts |= this.counts
        is_whole = this.is_whole(self._options)
        if this.is_unchanged and is_whole:
            return "unchanged"
        if this.has_versions or not is_last_resort:
            return ""
        if self._options.is_part:
            return "counted" if this.is_continuous and is_whole else ""
        is_counted = (this.is_continuous and is_whole) or self._counts == {len(self._returned)}
        return "counted" if is_counted else ""

    def _incomplete(
        self, reason: str = "The list changed while it was read, or the server leaves records out"
    ) -> IncompleteList:
        return IncompleteList(
            f"{reason}: received {self.report.received} different records, the server says {self.report.count}.",
            received=self.report.received,
            count=self.report.count,
        )


def _add_keys(known: set[Key], keys: Iterable[Key]) -> list[bool]:
    """Add keys; return for each whether it is new."""
    added = []
    for key in keys:
        added.append(key not in known)
        known.add(key)
    return added


class _PageStream:
    """The first page decides on the page size: servers may have a lower maximum than what was asked for.

    The list ends where a page is empty, or where a page has no next one and the announced number of records is reached.
    """

    def __init__(
        self, source: PageSource, options: WalkOptions, page_size: int, this: Pass
    ) -> None:
        self._source = source
        self._options = options
        self._ordering = this.ordering
        self._tasks: deque[asyncio.Task[Page]] = deque()
        self._limit = page_size
        self.step = 0  # the page size of the server; 0: not known yet
        self._next_offset = this.end - len(this.last_keys)
        self._count: int | None = None
        self._is_done = False
        self.overlap = 0  # records at the end of a page that are requested again with the next
        self.end = self._next_offset  # of what was returned

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
        if (
            stop is not None and page.offset + len(page.records) > stop
        ):  # some servers ignore `limit`
            wanted = max(0, stop - page.offset)
            page = msgspec.structs.replace(
                page, records=page.records[:wanted], keys=page.keys[:wanted]
            )
        return page

    async def restart(self, offset: int) -> None:
        """Continue from another place of the list."""
        await self.aclose()
        self._next_offset = self.end = max(offset, self._options.start)
        self._is_done = False

    def _prefetch(self) -> None:
        most = self._options.concurrency if self.step else 1
        while len(self._tasks) < most and self._is_wanted(self._next_offset):
            limit = self._limit
            if self._options.stop is not None:
                limit = min(limit, self._options.stop - self._next_offset)
            fetching = self._source.fetch_page(self._next_offset, limit, self._ordering)
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
        wanted = 1 if self._ordering else 0 if page.data_version else OVERLAP
        if page.has_next:
            if wanted and self.step == self._limit == 1:
                self.step = 2  # pages of one record cannot overlap
            self._limit = self.step
        self.overlap = min(wanted, self.step // 2)
        if page.has_next and len(page.records) < page.step:
            self.overlap = 0  # this server leaves records out of its pages
        self._next_offset = page.end - self.overlap

    async def _advance(self, page: Page) -> None:
        self._count = page.count
        is_end = not page.has_next and (page.count is None or page.end >= page.count)
        if is_end or page.end <= self.end:
            self._is_done = True
            await self.aclose()
        elif page.end != page.offset + self.step:
            await self.aclose()  # the server changed its page size, or ends earlier than announced
            self._next_offset = page.end - self.overlap
        self.end = max(self.end, page.end)

    async def aclose(self) -> None:
        tasks = [*self._tasks]
        self._tasks.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
