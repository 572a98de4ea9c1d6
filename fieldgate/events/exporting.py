"""All events that match, as one file, made while it is sent: memory holds a page of them, whatever their number."""

import itertools
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import xlsxwriter

from fieldgate.events import formats
from fieldgate.events.current import View
from fieldgate.events.filters import EventFilters
from fieldgate.events.sight import Sight
from fieldgate.http.language import Language
from fieldgate.http.pagination import Page

AT_ONCE = 500  # events
CHUNK = 256 * 1024  # bytes of a finished file
LONGEST_CELL = 32_767  # characters Excel takes in one cell


async def records(view: View, filters: EventFilters, sight: Sight, language: Language) -> AsyncIterator[list[bytes]]:
    """All records that match, of one state of the data, many at a time."""
    offset = 0
    while True:
        found = await view.find(filters, sight, language, Page(AT_ONCE, offset))
        if not found.documents:
            return
        yield view.read(b"\n".join(found.documents), language, sight).split(b"\n")
        offset += AT_ONCE


async def as_ndjson(batches: AsyncIterator[list[bytes]]) -> AsyncIterator[bytes]:
    async for some in batches:
        yield formats.as_ndjson(some)


async def as_csv(batches: AsyncIterator[list[bytes]]) -> AsyncIterator[bytes]:
    yield formats.csv_lines([formats.COLUMNS])
    async for some in batches:
        yield formats.csv_lines(formats.rows(some))


async def as_xlsx(batches: AsyncIterator[list[bytes]]) -> AsyncIterator[bytes]:
    """A workbook. It is a zip archive, whose index comes last: it is written beside first, row by row."""
    with tempfile.TemporaryDirectory(prefix="fieldgate-export-") as folder:
        path = Path(folder) / "events.xlsx"
        options = {"constant_memory": True, "tmpdir": folder, "strings_to_urls": False, "strings_to_formulas": False}
        with xlsxwriter.Workbook(str(path), options) as book:
            sheet = book.add_worksheet("events")
            sheet.write_row(0, 0, formats.COLUMNS)
            sheet.freeze_panes(1, 0)
            rows = itertools.count(1)
            async for some in batches:
                for cells in formats.rows(some):
                    short = [cell[:LONGEST_CELL] if isinstance(cell, str) else cell for cell in cells]
                    sheet.write_row(next(rows), 0, short)
        with path.open("rb") as file:
            while part := file.read(CHUNK):
                yield part


WRITERS = {"csv": as_csv, "ndjson": as_ndjson, "xlsx": as_xlsx}
TYPES = {
    "csv": b"text/csv; charset=utf-8",
    "ndjson": b"application/x-ndjson",
    "xlsx": b"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
