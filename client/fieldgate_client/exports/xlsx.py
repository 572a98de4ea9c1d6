"""Excel workbooks with one sheet. Text is always text: never a formula, a link or a number.

Numbers with more than 15 digits are text, as Excel would change them. Line breaks are LF. Characters that Excel
refuses become U+FFFD. Text that is longer than a cell can be is cut, and its end says so.
"""

from __future__ import annotations

import re
import tempfile
from typing import Any

import msgspec

from fieldgate_client.errors import ExportLimit, MissingExtra
from fieldgate_client.exports.flatten import Cell
from fieldgate_client.exports.output_file import OutputFile, Target
from fieldgate_client.exports.spool import Spool

MAX_CELL_UNITS = 32_767  # of UTF-16
MAX_SHEET_ROWS = 1_048_576  # with the header
SHEET_NAME = "records"

_MAX_EXACT = 10**15
_REFUSED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


class XLSXWriter:
    def __init__(
        self, target: Target, expected: dict[str, int] | None = None, *, max_rows: int = MAX_SHEET_ROWS
    ) -> None:
        try:
            import xlsxwriter as library
        except ImportError:
            raise MissingExtra("XlsxWriter", "xlsx") from None
        self._library: Any = library
        self._max_rows = max_rows
        self._output = OutputFile(target)
        self._spool = Spool(expected, folder=self._output.folder)

    def write(self, records: list[msgspec.Raw]) -> None:
        self._spool.write(records)
        if self._spool.count >= self._max_rows:
            raise ExportLimit(
                f"A sheet of Excel has at most {self._max_rows - 1:,} records and a header, and this list is longer. "
                "Use to_csv or to_parquet, or filter the list."
            )

    def finish(self) -> None:
        columns = self._spool.columns()
        with tempfile.TemporaryDirectory(prefix="fieldgate-", dir=self._output.folder) as folder:
            options = {
                "constant_memory": True,
                "tmpdir": folder,
                "strings_to_formulas": False,
                "strings_to_numbers": False,
                "strings_to_urls": False,
            }
            workbook = self._library.Workbook(self._output.file, options)
            sheet = workbook.add_worksheet(SHEET_NAME)
            try:
                self._write_row(sheet, 0, columns)
                for number, row in enumerate(self._spool.rows(), start=1):
                    self._write_row(sheet, number, [row.get(name) for name in columns])
                sheet.freeze_panes(1, 0)
                workbook.close()
            finally:
                sheet._opt_close()  # its temporary file, after an error
        self._output.commit()

    def close(self) -> None:
        self._spool.close()
        self._output.discard()

    @staticmethod
    def _write_row(sheet: Any, number: int, cells: list[Cell]) -> None:
        for place, cell in enumerate(cells):
            if cell is None:
                continue
            if isinstance(cell, bool):
                sheet.write_boolean(number, place, cell)
            elif isinstance(cell, int | float) and -_MAX_EXACT < cell < _MAX_EXACT:
                sheet.write_number(number, place, cell)
            elif cell != "":
                sheet.write_string(number, place, cell_text(str(cell)))


def cell_text(text: str) -> str:
    """Text as a cell can have it."""
    if not text.isascii() or not text.isprintable():
        text = _REFUSED.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))
    if len(text) > MAX_CELL_UNITS // 2 and _units(text) > MAX_CELL_UNITS:
        note = f" [cut: the text has {len(text):,} characters]"
        kept = text.encode("utf-16-le")[: 2 * (MAX_CELL_UNITS - len(note))]
        text = kept.decode("utf-16-le", errors="ignore") + note
    return text


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2
