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
from fieldgate.events.document_templates import TemplateRenderer
from fieldgate.events.event_writer import HISTORY_RETENTION
from fieldgate.events.export import serializers
from fieldgate.events.search import int_arrays
from fieldgate.events.search.event_search import MAX_ATTEMPTS, EventSearch
from fieldgate.events.search.filters import EventFilters
from fieldgate.events.search.int_arrays import Int64Array
from fieldgate.events.store import EventStore, SnapshotExpired
from fieldgate.events.visibility import ViewerScope
from fieldgate.http.negotiation.formats import Format
from fieldgate.http.response.csv_safe import encode_csv
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message
from fieldgate.pagination import PageRequest

BATCH_SIZE = 500  # events
ID_BATCH_SIZE = 20_000
MAX_CONCURRENT_EXPORTS = 4  # files being made at once, in one process
MAX_SNAPSHOT_AGE_SECONDS = (
    HISTORY_RETENTION.total_seconds() / 2
)  # how long an earlier state can be read, with room to spare
CHUNK_BYTES = 256 * 1024  # bytes of a finished file
MAX_CELL_CHARS = 32_767  # characters Excel takes in one cell
MAX_SHEET_ROWS = 1_048_576  # that Excel takes in one sheet, the header among them

RecordBatches = AsyncGenerator[list[bytes], None]
Chunks = AsyncGenerator[bytes, None]


class _ExportState(msgspec.Struct):
    """The events that match, and the state of the data in which they do."""

    ids: Int64Array
    version: int
    renderer: TemplateRenderer
    started_at: float
    offset: int = 0  # of the ids; to drop these would copy the others every time


class EventExporter:
    """Makes files of events, a few at a time. Every process has one."""

    def __init__(
        self,
        search: EventSearch,
        store: EventStore,
        *,
        max_concurrent: int = MAX_CONCURRENT_EXPORTS,
        batch_size: int = BATCH_SIZE,
        max_snapshot_age: float = MAX_SNAPSHOT_AGE_SECONDS,
    ) -> None:
        self._search = search
        self._store = store
        self._max_concurrent = max_concurrent
        self._batch_size = batch_size
        self._max_snapshot_age = max_snapshot_age
        self._running = 0

    async def stream(
        self, filters: EventFilters, scope: ViewerScope, language: Language, file_format: Format
    ) -> Chunks:
        """All events that match, part by part."""
        if self._running >= self._max_concurrent:
            raise ServiceUnavailable(
                Message("Many files are being made at the moment. Please try again in a minute."),
                retry_after_seconds=60,
            )
        self._running += 1
        try:
            records = self._record_batches(filters, scope, language)
            async with aclosing(records), aclosing(WRITERS[file_format](records)) as parts:
                async for part in parts:
                    yield part
        finally:
            self._running -= 1

    async def _record_batches(self, filters: EventFilters, scope: ViewerScope, language: Language) -> RecordBatches:
        """All records that match, many at a time.

        They are of the state at the beginning, for as long as that can be read. Then they are of the present: what no
        longer matches is left out, and what came to match meanwhile is not taken in.
        """
        state = await self._load_state(filters, scope, language)
        while state.offset < len(state.ids):
            if _clock() - state.started_at > self._max_snapshot_age:
                state = await self._refresh_state(state, filters, scope, language)
            for _ in range(MAX_ATTEMPTS):
                with suppress(SnapshotExpired):
                    some = state.ids[state.offset : state.offset + self._batch_size].tolist()
                    documents = await self._store.documents(some, state.version)
                    break
                await self._search.wait_for_rebuild()
                state = await self._refresh_state(state, filters, scope, language)
            else:
                raise ServiceUnavailable
            state.offset += self._batch_size
            if documents:
                yield await asyncio.to_thread(_render_records, state.renderer, documents, scope)

    async def _load_state(self, filters: EventFilters, scope: ViewerScope, language: Language) -> _ExportState:
        since = _clock()
        view = await self._search.snapshot()
        ids = int_arrays.int64_array()
        count = 1
        for offset in itertools.count(0, ID_BATCH_SIZE):
            if offset >= count:
                break
            count, some = await view.matching_ids(filters, scope, language, PageRequest(ID_BATCH_SIZE, offset))
            ids.extend(some)
            await asyncio.sleep(0)
        return _ExportState(ids, view.index_version.version, TemplateRenderer(view.reference_data, language), since)

    async def _refresh_state(
        self, old: _ExportState, filters: EventFilters, scope: ViewerScope, language: Language
    ) -> _ExportState:
        """What is left of a state, as of now."""
        new = await self._load_state(filters, scope, language)
        new.ids = await asyncio.to_thread(_remaining_ids, old, new.ids)
        return new


def _remaining_ids(old: _ExportState, current: Int64Array) -> Int64Array:
    """The ids still to be taken that match at present too."""
    return int_arrays.intersect(old.ids[old.offset :], current)


def _render_records(renderer: TemplateRenderer, templates: Sequence[bytes], scope: ViewerScope) -> list[bytes]:
    return [renderer.render(document, scope) for document in templates]


async def as_ndjson(batches: RecordBatches) -> Chunks:
    async for some in batches:
        yield serializers.as_ndjson(some)


async def as_csv(batches: RecordBatches) -> Chunks:
    header = encode_csv([serializers.COLUMNS])
    async for some in batches:
        yield header + await asyncio.to_thread(_csv_rows, some)
        header = b""
    yield header


def _csv_rows(records: Sequence[bytes]) -> bytes:
    return encode_csv(serializers.to_rows(records))


async def as_xlsx(batches: RecordBatches, max_rows: int = MAX_SHEET_ROWS) -> Chunks:
    """A workbook. It is a zip archive, whose index comes last: it is written beside first, row by row."""
    with tempfile.TemporaryDirectory(prefix="fieldgate-export-") as folder:
        path = Path(folder) / "events.xlsx"
        book = _XlsxWriter(path, max_rows)
        try:
            async for some in batches:
                await asyncio.to_thread(book.add, some)
                yield b""
            await asyncio.to_thread(book.close)
        finally:
            book.release_files()
        with path.open("rb") as file:
            while part := file.read(CHUNK_BYTES):
                yield part


class _XlsxWriter:
    """A workbook that grows; where a sheet is full another begins."""

    def __init__(self, path: Path, max_rows: int) -> None:
        options = {
            "constant_memory": True,
            "tmpdir": str(path.parent),
            "strings_to_urls": False,
            "strings_to_formulas": False,
        }
        import xlsxwriter  # which most processes never need

        self._workbook = xlsxwriter.Workbook(str(path), options)
        self._max_rows = max_rows
        self._add_sheet()

    def add(self, records: Sequence[bytes]) -> None:
        for cells in serializers.to_rows(records):
            if self._row == self._max_rows:
                self._add_sheet()
            short = [cell[:MAX_CELL_CHARS] if isinstance(cell, str) else cell for cell in cells]
            self._sheet.write_row(self._row, 0, short)
            self._row += 1

    def close(self) -> None:
        self._workbook.close()

    def release_files(self) -> None:
        """Let go of the files it was being written to."""
        for sheet in self._workbook.worksheets():
            sheet._opt_close()

    def _add_sheet(self) -> None:
        number = len(self._workbook.worksheets()) + 1
        self._sheet = self._workbook.add_worksheet("events" if number == 1 else f"events {number}")
        self._sheet.write_row(0, 0, serializers.COLUMNS)
        self._sheet.freeze_panes(1, 0)
        self._row = 1


def _clock() -> float:
    return asyncio.get_running_loop().time()


WRITERS = {Format.CSV: as_csv, Format.NDJSON: as_ndjson, Format.XLSX: as_xlsx}
