"""Exports of events as an Excel workbook."""

import asyncio
import tempfile
from collections.abc import AsyncGenerator, AsyncIterable, Sequence
from pathlib import Path

from fieldgate.events.csv_rows import COLUMNS, HASHTAG_ROW, NUMBER_COLUMNS
from fieldgate.events.export.file_context import FileContext
from fieldgate.http.response.csv_safe import decode_csv

CHUNK_BYTES = 256 * 1024
MAX_SHEET_ROWS = 1_048_576  # Excel's limit for one sheet, with the header
SHEET_NAME = "events"

_IS_NUMBER = [column in NUMBER_COLUMNS for column in COLUMNS]


async def write_xlsx(batches: AsyncIterable[list[bytes]], context: FileContext) -> AsyncGenerator[bytes, None]:
    """Write a workbook to a temporary file, then stream it. The batches are rows of CSV.

    A workbook is a zip archive with its index at the end, so it is only complete after the last row. Empty chunks are
    yielded meanwhile: they let the caller notice that the client has left.
    """
    header = [COLUMNS, HASHTAG_ROW] if context.with_hashtags else [COLUMNS]
    with tempfile.TemporaryDirectory(prefix="fieldgate-export-") as folder:
        workbook = await asyncio.to_thread(EventWorkbook, Path(folder), header)
        try:
            async for rows in batches:
                await asyncio.to_thread(workbook.add, rows)
                yield b""
            file = await asyncio.to_thread(workbook.complete)
        finally:
            workbook.close_files()
        with file.open("rb") as content:
            while chunk := content.read(CHUNK_BYTES):
                yield chunk


class EventWorkbook:
    """A workbook in a folder. Rows are written to files as they come; a full sheet is followed by another."""

    def __init__(self, folder: Path, header: Sequence[Sequence[str]]) -> None:
        import xlsxwriter  # most processes never need it

        self._file = folder / "events.xlsx"
        options = {
            "constant_memory": True,
            "tmpdir": str(folder),
            "strings_to_urls": False,
            "strings_to_formulas": False,
        }
        self._workbook = xlsxwriter.Workbook(str(self._file), options)
        self._workbook.use_zip64()
        self._header = header
        self._begin_sheet()

    def add(self, rows: Sequence[bytes]) -> None:
        """Add rows of CSV."""
        for row in decode_csv(b"".join(rows)):
            if self._row == MAX_SHEET_ROWS:
                self._begin_sheet()
            for place, (text, is_number) in enumerate(zip(row, _IS_NUMBER, strict=True)):
                if not text:
                    continue
                if is_number:
                    self._sheet.write_number(self._row, place, int(text))
                else:
                    self._sheet.write_string(self._row, place, _no_markup(text))
            self._row += 1

    def complete(self) -> Path:
        """Write the rest of the workbook."""
        self._workbook.close()
        return self._file

    def close_files(self) -> None:
        for sheet in self._workbook.worksheets():
            sheet._opt_close()

    def _begin_sheet(self) -> None:
        number = len(self._workbook.worksheets()) + 1
        self._sheet = self._workbook.add_worksheet(SHEET_NAME if number == 1 else f"{SHEET_NAME} {number}")
        for place, row in enumerate(self._header):
            self._sheet.write_row(place, 0, row)
        self._sheet.freeze_panes(len(self._header), 0)
        self._row = len(self._header)


def _no_markup(text: str) -> str:
    """The text; with a space at the end if xlsxwriter would take it as markup, and write it as it is."""
    return text + " " if text.startswith("<r>") and text.endswith("</r>") else text
