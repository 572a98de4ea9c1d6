"""Excel workbooks with one sheet. Text is always text: never a formula, a link or a number.

Columns with times only are dates of Excel, in UTC; times that Excel cannot have are text. Numbers with more than 15
digits are text, as Excel would change them. Line breaks are LF. Characters that Excel refuses become U+FFFD. Text that
is longer than a cell can be is cut, and its end says so. Columns are as wide as the values in the first rows.
"""

from __future__ import annotations

import re
import tempfile
from datetime import datetime
from itertools import islice
from typing import Any

import msgspec

from fieldgate_client.errors import ExportLimit, MissingExtra
from fieldgate_client.exports.column_choice import ALL_COLUMNS, ColumnChoice
from fieldgate_client.exports.column_types import ColumnType, parse_time
from fieldgate_client.exports.flatten import Cell, Row
from fieldgate_client.exports.output_file import OutputFile, Target
from fieldgate_client.exports.spool import Spool

MAX_CELL_UNITS = 32_767  # of UTF-16
MAX_SHEET_ROWS = 1_048_576  # with the header
SHEET_NAME = "records"
DATE_FORMAT = "yyyy-mm-dd"
TIME_FORMAT = "yyyy-mm-dd hh:mm"
# Excel has a 29 February 1900, which no calendar has, and rounds the last moment of 9999 to the year 10000.
FIRST_TIME, LAST_TIME = datetime(1900, 3, 1), datetime(9999, 12, 31, 23, 59, 59)
MIN_WIDTH, MAX_WIDTH = 10, 50  # characters
ROWS_FOR_WIDTHS = 100

_FILTER_BUTTON_WIDTH = 3
_PADDING_WIDTH = 1
_DATE_CHARS = 10
_MAX_EXACT = 10**15
_REFUSED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


class XLSXWriter:
    def __init__(
        self,
        target: Target,
        expected: dict[str, int] | None = None,
        choice: ColumnChoice = ALL_COLUMNS,
        *,
        max_rows: int = MAX_SHEET_ROWS,
    ) -> None:
        try:
            import xlsxwriter as library
        except ImportError:
            raise MissingExtra("XlsxWriter", "xlsx") from None
        self._library: Any = library
        self._max_rows = max_rows
        self._output = OutputFile(target)
        self._spool = Spool(expected, choice, folder=self._output.folder)

    def write(self, records: list[msgspec.Raw]) -> None:
        self._spool.write(records)
        if self._spool.count >= self._max_rows:
            raise ExportLimit(
                f"A sheet of Excel has at most {self._max_rows - 1:,} records and a header, and this list is longer. "
                "Use to_csv or to_parquet, or filter the list."
            )

    def finish(self) -> None:
        types = self._spool.types()
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
                self._write_header(workbook, sheet, [*types])
                cells = _CellWriter(workbook, sheet)
                for number, row in enumerate(self._spool.rows(), start=1):
                    cells.write_row(number, row, types)
                workbook.close()
            finally:
                sheet._opt_close()  # its temporary file, after an error
        self._output.commit()

    def close(self) -> None:
        self._spool.close()
        self._output.discard()

    def _write_header(self, workbook: Any, sheet: Any, columns: list[str]) -> None:
        """The first row, and what must be known before rows are written."""
        sheet.freeze_panes(1, 0)
        if columns:
            sheet.autofilter(0, 0, self._spool.count, len(columns) - 1)
        for place, width in enumerate(column_widths(columns, [*islice(self._spool.rows(), ROWS_FOR_WIDTHS)])):
            sheet.set_column(place, place, width)
        bold = workbook.add_format({"bold": True})
        for place, name in enumerate(columns):
            if name:
                sheet.write_string(0, place, cell_text(name), bold)


class _CellWriter:
    def __init__(self, workbook: Any, sheet: Any) -> None:
        self._sheet = sheet
        self._date_format = workbook.add_format({"num_format": DATE_FORMAT})
        self._time_format = workbook.add_format({"num_format": TIME_FORMAT})

    def write_row(self, number: int, row: Row, types: dict[str, ColumnType]) -> None:
        sheet = self._sheet
        for place, (name, kind) in enumerate(types.items()):
            cell: Cell = row.get(name)
            if cell is None or cell == "":
                continue
            if isinstance(cell, str):
                if kind is ColumnType.TIME and (time := excel_time(cell)):
                    is_date = len(cell) == _DATE_CHARS
                    sheet.write_datetime(number, place, time, self._date_format if is_date else self._time_format)
                else:
                    sheet.write_string(number, place, cell_text(cell))
            elif isinstance(cell, bool):
                sheet.write_boolean(number, place, cell)
            elif -_MAX_EXACT < cell < _MAX_EXACT:
                sheet.write_number(number, place, cell)
            else:
                sheet.write_string(number, place, str(cell))


def excel_time(text: str) -> datetime | None:
    """A time in UTC, without a time zone. None if Excel cannot have it."""
    parsed = parse_time(text)
    time = parsed and parsed.replace(tzinfo=None)
    return time if time and FIRST_TIME <= time <= LAST_TIME else None


def column_widths(columns: list[str], rows: list[Row]) -> list[int]:
    """Widths in characters, so that names and these rows can be read."""
    widths = []
    for name in columns:
        longest = max((len(str(row[name])) for row in rows if row.get(name) is not None), default=0)
        wanted = max(longest + _PADDING_WIDTH, len(name) + _FILTER_BUTTON_WIDTH)
        widths.append(min(MAX_WIDTH, max(MIN_WIDTH, wanted)))
    return widths


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
