"""All events that match, as one file, made while it is sent.

Memory holds a page of them, and the ids of all. What is slow is done in threads, so that others are answered meanwhile.
"""

import asyncio
import itertools
import tempfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from pathlib import Path

import msgspec

from fieldgate.errors import ServiceUnavailable
from fieldgate.events.document_templates import Reader
from fieldgate.events.export import serializers
from fieldgate.events.search import int_arrays
from fieldgate.events.search.event_search import ATTEMPTS, Events
from fieldgate.events.search.filters import EventFilters
from fieldgate.events.search.int_arrays import Numbers
from fieldgate.events.store import HISTORY_KEPT, EventStore, Missed
from fieldgate.events.visibility import Sight
from fieldgate.http.negotiation.formats import Format
from fieldgate.http.response.csv_safe import encode_csv
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message
from fieldgate.pagination import PageRequest

AT_ONCE = 500  # events
IDS_AT_ONCE = 20_000
MOST = 4  # files being made at once, in one process
EXACT_FOR = HISTORY_KEPT.total_seconds() / 2  # how long an earlier state can be read, with room to spare
CHUNK = 256 * 1024  # bytes of a finished file
LONGEST_CELL = 32_767  # characters Excel takes in one cell
MOST_ROWS = 1_048_576  # that Excel takes in one sheet, the header among them

Batches = AsyncGenerator[list[bytes], None]
Parts = AsyncGenerator[bytes, None]


class _State(msgspec.Struct):
    """The events that match, and the state of the data in which they do."""

    ids: Numbers
    version: int
    reader: Reader
    since: float
    done: int = 0  # of the ids; to drop these would copy the others every time


class Exports:
    """Makes files of events, a few at a time. Every process has one."""

    def __init__(
        self,
        events: Events,
        store: EventStore,
        *,
        most: int = MOST,
        at_once: int = AT_ONCE,
        exact_for: float = EXACT_FOR,
    ) -> None:
        self._events = events
        self._store = store
        self._most = most
        self._at_once = at_once
        self._exact_for = exact_for
        self._running = 0

    async def file(self, filters: EventFilters, sight: Sight, language: Language, kind: Format) -> Parts:
        """All events that match, part by part."""
        if self._running >= self._most:
            raise ServiceUnavailable(
                Message("Many files are being made at the moment. Please try again in a minute."),
                retry_after_seconds=60,
            )
        self._running += 1
        try:
            records = self._records(filters, sight, language)
            async with aclosing(records), aclosing(WRITERS[kind](records)) as parts:
                async for part in parts:
                    yield part
        finally:
            self._running -= 1

    async def _records(self, filters: EventFilters, sight: Sight, language: Language) -> Batches:
        """All records that match, many at a time.

        They are of the state at the beginning, for as long as that can be read. Then they are of the present: what no
        longer matches is left out, and what came to match meanwhile is not taken in.
        """
        state = await self._state(filters, sight, language)
        while state.done < len(state.ids):
            if _clock() - state.since > self._exact_for:
                state = await self._renewed(state, filters, sight, language)
            for _ in range(ATTEMPTS):
                with suppress(Missed):
                    some = state.ids[state.done : state.done + self._at_once].tolist()
                    documents = await self._store.documents(some, state.version)
                    break
                await self._events.settle()
                state = await self._renewed(state, filters, sight, language)
            else:
                raise ServiceUnavailable
            state.done += self._at_once
            if documents:
                yield await asyncio.to_thread(_read, state.reader, documents, sight)

    async def _state(self, filters: EventFilters, sight: Sight, language: Language) -> _State:
        since = _clock()
        view = await self._events.view()
        ids = int_arrays.numbers()
        count = 1
        for offset in itertools.count(0, IDS_AT_ONCE):
            if offset >= count:
                break
            count, some = await view.numbers(filters, sight, language, PageRequest(IDS_AT_ONCE, offset))
            ids.extend(some)
            await asyncio.sleep(0)
        return _State(ids, view.standing.version, Reader(view.directory, language), since)

    async def _renewed(self, old: _State, filters: EventFilters, sight: Sight, language: Language) -> _State:
        """What is left of a state, as of now."""
        new = await self._state(filters, sight, language)
        new.ids = await asyncio.to_thread(_left, old, new.ids)
        return new


def _left(old: _State, present: Numbers) -> Numbers:
    """The ids still to be taken that match at present too."""
    return int_arrays.common(old.ids[old.done :], present)


def _read(reader: Reader, documents: Sequence[bytes], sight: Sight) -> list[bytes]:
    return [reader.read(document, sight) for document in documents]


async def as_ndjson(batches: Batches) -> Parts:
    async for some in batches:
        yield serializers.as_ndjson(some)


async def as_csv(batches: Batches) -> Parts:
    header = encode_csv([serializers.COLUMNS])
    async for some in batches:
        yield header + await asyncio.to_thread(_lines, some)
        header = b""
    yield header


def _lines(records: Sequence[bytes]) -> bytes:
    return encode_csv(serializers.rows(records))


async def as_xlsx(batches: Batches, most_rows: int = MOST_ROWS) -> Parts:
    """A workbook. It is a zip archive, whose index comes last: it is written beside first, row by row."""
    with tempfile.TemporaryDirectory(prefix="fieldgate-export-") as folder:
        path = Path(folder) / "events.xlsx"
        book = _Book(path, most_rows)
        try:
            async for some in batches:
                await asyncio.to_thread(book.add, some)
                yield b""
            await asyncio.to_thread(book.close)
        finally:
            book.forget()
        with path.open("rb") as file:
            while part := file.read(CHUNK):
                yield part


class _Book:
    """A workbook that grows; where a sheet is full another begins."""

    def __init__(self, path: Path, most_rows: int) -> None:
        options = {
            "constant_memory": True,
            "tmpdir": str(path.parent),
            "strings_to_urls": False,
            "strings_to_formulas": False,
        }
        import xlsxwriter  # which most processes never need

        self._book = xlsxwriter.Workbook(str(path), options)
        self._most_rows = most_rows
        self._begin_sheet()

    def add(self, records: Sequence[bytes]) -> None:
        for cells in serializers.rows(records):
            if self._row == self._most_rows:
                self._begin_sheet()
            short = [cell[:LONGEST_CELL] if isinstance(cell, str) else cell for cell in cells]
            self._sheet.write_row(self._row, 0, short)
            self._row += 1

    def close(self) -> None:
        self._book.close()

    def forget(self) -> None:
        """Let go of the files it was being written to."""
        for sheet in self._book.worksheets():
            sheet._opt_close()

    def _begin_sheet(self) -> None:
        number = len(self._book.worksheets()) + 1
        self._sheet = self._book.add_worksheet("events" if number == 1 else f"events {number}")
        self._sheet.write_row(0, 0, serializers.COLUMNS)
        self._sheet.freeze_panes(1, 0)
        self._row = 1


def _clock() -> float:
    return asyncio.get_running_loop().time()


WRITERS = {Format.CSV: as_csv, Format.NDJSON: as_ndjson, Format.XLSX: as_xlsx}
