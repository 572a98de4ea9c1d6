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
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from datetime import datetime
from itertools import compress

import msgspec

from fieldgate_client.errors import IncompleteList
from fieldgate_client.page_stream import PageSource, PageStream, StreamOptions
from fieldgate_client.pages import Key, Page

MAX_PASSES = 8
MAX_REPEATED_PAGES = 50  # in a row without a new record: the server sends the same page for ever
MAX_REREADS = 20  # of one place of a list in a fixed order that does not continue what was read
OVERLAP = 5  # records requested again with the next page, if the server sends no version of the data

Records = list[msgspec.Raw]


class WalkOptions(msgspec.Struct, frozen=True):
    page_size: int = 1000
    concurrency: int = 4
    start: int = 0
    stop: int | None = None
    fixed_ordering: str = ""  # an order of this list that never changes, if the server has one
    is_fixed: bool = False  # read in that order in the first place

    @property
    def is_part(self) -> bool:
        return self.start > 0 or self.stop is not None


class WalkReport(msgspec.Struct):
    """What a walk saw: filled while it runs."""

    count: int | None = None  # as last announced by the server
    received: int = 0
    duplicates: int = 0  # left out
    passes: int = 0
    rereads: int = 0  # places of the list that were read again because it had moved
    started_at: datetime | None = None  # of the first page, by the server's clock
    proof: str = ""  # "unchanged", "ordered" or "counted"; empty until the walk is complete


class _Pass(msgspec.Struct):
    """What one pass over the list saw."""

    versions: set[str] = msgspec.field(default_factory=set)
    counts: set[int | None] = msgspec.field(default_factory=set)
    keys: set[Key] = msgspec.field(default_factory=set)
    pages: int = 0
    repeated_pages: int = 0  # in a row
    is_continuous: bool = True
    is_fieldgate: bool = False
    is_endless: bool = False

    def note(self, page: Page) -> None:
        self.pages += 1
        self.repeated_pages = self.repeated_pages + 1 if self.keys.issuperset(page.keys) else 0
        # A count that is too low is followed by some pages more, in case it is an estimate.
        is_beyond = page.has_next and page.count is not None and page.offset > 2 * page.count + 100 * page.step
        self.is_endless = self.repeated_pages > MAX_REPEATED_PAGES or is_beyond
        self.is_fieldgate = page.is_fieldgate
        self.versions.add(page.data_version)
        self.counts.add(page.count)

    @property
    def has_versions(self) -> bool:
        return bool(self.versions - {""})

    @property
    def is_unchanged(self) -> bool:
        return self.pages == 1 or (len(self.versions) == 1 and self.has_versions)

    @property
    def is_whole(self) -> bool:
        """Whether the number of records stayed the same, and equals what was received."""
        return self.is_part_whole(0, None)

    def is_part_whole(self, start: int, stop: int | None) -> bool:
        if len(self.counts) > 1:
            return False
        if self.counts == {None}:  # then a record that was received twice is all that shows that something moved
            return self.is_continuous
        expected = [
            max(0, (count if stop is None else min(count, stop)) - start) for count in self.counts if count is not None
        ]
        return not expected or expected == [len(self.keys)]


class Walk:
    def __init__(self, source: PageSource, options: WalkOptions | None = None) -> None:
        self._source = source
        self._options = options or WalkOptions()
        self._returned: set[Key] = set()
        self._counts: set[int | None] = set()  # of all passes
        self._has_fixed_order = True
        self.report = WalkReport()

    async def pages(self) -> AsyncGenerator[Records, None]:
        """Yield the records page by page, each once. Raises `IncompleteList` at the end if some may be missing."""
        options, number = self._options, 0
        can_fix = bool(options.fixed_ordering) and not options.is_part
        is_fixed = can_fix and options.is_fixed
        while True:
            if is_fixed:
                async with aclosing(self._read_in_fixed_order()) as pages:
                    async for records in pages:
                        yield records
                if self._has_fixed_order:
                    self.report.proof = "ordered"
                    return
                can_fix = False
            this = _Pass()
            page_size = max(1, options.page_size - number * (options.page_size // 20 + 1))
            async with aclosing(self._read(this, page_size)) as pages:
                async for records in pages:
                    yield records
            is_fixed = can_fix and this.is_fieldgate
            self.report.proof = self._proof(this, is_last_resort=not is_fixed)
            if self.report.proof:
                return
            number += 1
            if not is_fixed and (options.is_part or number == MAX_PASSES):
                raise self._incomplete()

    async def _read(self, this: _Pass, page_size: int) -> AsyncGenerator[Records, None]:
        """One pass in the order of the list."""
        options = self._options
        self.report.passes += 1
        stream_options = StreamOptions(
            page_size, options.concurrency, options.start, options.stop, overlap_without_version=OVERLAP
        )
        last_keys: list[Key] = []
        async with PageStream(self._source, stream_options) as stream:
            end = stream.end
            while (page := await stream.next_page()) is not None:
                this.note(page)
                if this.is_endless:
                    raise self._incomplete()
                overlap = end - page.offset
                expected = last_keys[len(last_keys) - overlap :] if overlap else []
                added = _add_keys(this.keys, page.keys[overlap:])
                if page.keys[:overlap] != expected or not all(added):
                    this.is_continuous = False
                self.report.duplicates += len(added) - sum(added)
                records = self._not_returned(page)
                end, last_keys = page.end, page.keys
                if records:
                    yield records

    async def _read_in_fixed_order(self) -> AsyncGenerator[Records, None]:
        """A pass that goes back wherever a page has no record that was read before.

        Records keep their order, and a page has all records between its first and its last. If one of them was read
        before, then nothing is left out between what was read and the end of this page.
        """
        options, this, failures = self._options, _Pass(), 0
        self.report.passes += 1
        page_size = max(2, options.page_size)
        stream_options = StreamOptions(page_size, options.concurrency, ordering=options.fixed_ordering, overlap=1)
        async with PageStream(self._source, stream_options) as stream:
            while (page := await stream.next_page()) is not None:
                this.note(page)
                if not page.is_fieldgate or "ordering" in page.ignored_parameters:
                    self._has_fixed_order = False  # another server, which may ignore the order
                    return
                if this.is_endless:
                    raise self._incomplete()
                if page.offset and this.keys.isdisjoint(page.keys):
                    failures += 1
                    self.report.rereads += 1
                    if failures > MAX_REREADS:
                        raise self._incomplete()
                    await stream.restart(page.offset - stream.step * failures)
                    continue
                if any(_add_keys(this.keys, page.keys)):  # not only what was read again
                    failures = 0
                if records := self._not_returned(page):
                    yield records
        if this.is_unchanged and not this.is_whole:
            raise self._incomplete()

    def _not_returned(self, page: Page) -> Records:
        report = self.report
        report.count = page.count
        if report.started_at is None:
            report.started_at = page.timestamp
        added = _add_keys(self._returned, page.keys)
        records = page.records if all(added) else list(compress(page.records, added))
        self.report.received += len(records)
        return records

    def _proof(self, this: _Pass, *, is_last_resort: bool) -> str:
        """How it is known that this pass, with those before, returned everything; empty if it is not."""
        self._counts |= this.counts
        is_whole = this.is_part_whole(self._options.start, self._options.stop)
        if this.is_unchanged and is_whole:
            return "unchanged"
        if this.has_versions or not is_last_resort:
            return ""
        if self._options.is_part:
            return "counted" if this.is_continuous and is_whole else ""
        is_counted = (this.is_continuous and is_whole) or self._counts == {len(self._returned)}
        return "counted" if is_counted else ""

    def _incomplete(self) -> IncompleteList:
        return IncompleteList(
            "The list changed while it was read, or the server leaves records out: received "
            f"{self.report.received} different records, the server says {self.report.count}.",
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
