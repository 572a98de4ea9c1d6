"""Exports of events as an Excel workbook."""

import asyncio
import tempfile
from collections.abc import AsyncGenerator, AsyncIterable, Sequence
from pathlib import Path

from fieldgate.events.export.file_context import FileContext
from fieldgate.events.export.hxl import HASHTAG_ROW
from fieldgate.events.record_shapes import COLUMNS, to_rows

CHUNK_BYTES = 256 * 1024
MAX_CELL_CHARS = 32_767  # Excel's limit for one cell
MAX_SHEET_ROWS = 1_048_576  # Excel's limit for one sheet, with the header


async def write_xlsx(batches: AsyncIterable[list[bytes]], context: FileContext) -> AsyncGenerator[bytes, None]:
    """Write a workbook to a temporary file, then stream it.

    A workbook is a zip archive with its index at the end, so it is only complete after the last row. Empty chunks are
    yielded meanwhile: they let the caller notice that the client has left.
    """
    with tempfile.TemporaryDirectory(prefix="fieldgate-export-") as folder:
        path = Path(folder) / "events.xlsx"
        workbook = XlsxWriter(path, HASHTAG_ROW if context.with_hashtags else ())
        try:
            async for records in batches:
                await asyncio.to_thread(workbook.add, records)
                yield b""
            await asyncio.to_thread(workbook.close)
        finally:
            workbook.release_files()
        with path.open("rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                yield chunk


class XlsxWriter:
    """Writes a workbook row by row, with a new sheet whenever one is full."""

    def __init__(self, path: Path, hashtags: Sequence[str] = ()) -> None:
        """`hashtags` is the row below the header, if there is one."""
        import xlsxwriter  # most processes never need it

        options = {
            "constant_memory": True,
            "tmpdir": str(path.parent),
            "strings_to_urls": False,
            "strings_to_formulas": False,
        }
        self._workbook = xlsxwriter.Workbook(str(path), options)
        self._hashtags = hashtags
        self._add_sheet()

    def add(self, records: Sequence[bytes]) -> None:
        for row in to_rows(records):
            if self._row == MAX_SHEET_ROWS:
                self._add_sheet()
            cells = [cell[:MAX_CELL_CHARS] if isinstance(cell, str) else cell for cell in row]
            self._sheet.write_row(self._row, 0, cells)
            self._row += 1

    def close(self) -> None:
        self._workbook.close()

    def release_files(self) -> None:
        """Close the temporary files of all sheets, also after an error."""
        for sheet in self._workbook.worksheets():
            sheet._opt_close()

    def _add_sheet(self) -> None:
        sheet_number = len(self._workbook.worksheets()) + 1
        self._sheet = self._workbook.add_worksheet("events" if sheet_number == 1 else f"events {sheet_number}")
        self._sheet.write_row(0, 0, COLUMNS)
        self._row = 1
        if self._hashtags:
            self._sheet.write_row(1, 0, self._hashtags)
            self._row = 2
        self._sheet.freeze_panes(self._row, 0)
