"""Excel workbooks with one sheet. Text is always text: never a formula, a link or a number.

Columns with times only are dates of Excel, in UTC; times that Excel cannot have are text. Numbers with more than 15
digits are text, as Excel would change them. Line breaks are LF. Characters that Excel refuses become U+FFFD. Text that
is longer than a cell can be is cut, and its end says so. Columns are as wide as the values in the first rows.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from datetime import datetime
from itertools import islice
from typing import Any, BinaryIO

from fieldgate_client.exports.flatten import Cell, Row
from fieldgate_client.exports.table import DATE_CHARS, Table, load_library, parse_time

MAX_CELL_UNITS = 32_767  # of UTF-16
MAX_SHEET_RECORDS = 1_048_575  # and a header
SHEET_NAME = "records"
DATE_FORMAT = "yyyy-mm-dd"
TIME_FORMAT = "yyyy-mm-dd hh:mm"
# Excel has a 29 February 1900, which no calendar has, and rounds the last moment of 9999 to the year 10000.
FIRST_TIME, LAST_TIME = datetime(1900, 3, 1), datetime(9999, 12, 31, 23, 59, 59)
MIN_WIDTH, MAX_WIDTH = 10, 50  # characters
ROWS_FOR_WIDTHS = 100

_FILTER_BUTTON_WIDTH = 3
_PADDING_WIDTH = 1
_MAX_EXACT = 10**15
_REFUSED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def write_xlsx(table: Table, file: BinaryIO) -> None:
    library = load_library("xlsxwriter", "xlsx")
    columns = table.columns()
    times = time_columns(table, columns)
    with tempfile.TemporaryDirectory(prefix="fieldgate-", dir=table.folder) as folder:
        options = {
            "constant_memory": True,
            "tmpdir": folder,
            "strings_to_formulas": False,
            "strings_to_numbers": False,
            "strings_to_urls": False,
        }
        workbook = library.Workbook(file, options)
        sheet = workbook.add_worksheet(SHEET_NAME)
        try:
            _write_header(workbook, sheet, columns, table)
            formats = [
                workbook.add_format({"num_format": each}) for each in (DATE_FORMAT, TIME_FORMAT)
            ]
            for number, row in enumerate(table.rows(), start=1):
                for place, name in enumerate(columns):
                    _write_cell(
                        sheet, number, place, row.get(name), formats if name in times else None
                    )
            workbook.close()
        finally:
            sheet._opt_close()  # its temporary file, after an error


def _write_header(workbook: Any, sheet: Any, columns: list[str], table: Table) -> None:
    """The first row, and what must be known before rows are written."""
    sheet.freeze_panes(1, 0)
    if columns:
        sheet.autofilter(0, 0, table.count, len(columns) - 1)
    for place, width in enumerate(column_widths(columns, [*islice(table.rows(), ROWS_FOR_WIDTHS)])):
        sheet.set_column(place, place, width)
    bold = workbook.add_format({"bold": True})
    for place, name in enumerate(columns):
        if name:
            sheet.write_string(0, place, cell_text(name), bold)


def _write_cell(
    sheet: Any, row: int, place: int, cell: Cell, time_formats: list[Any] | None
) -> None:
    """The formats of a date and of a time are given for columns of times."""
    if cell is None or cell == "":
        return
    if isinstance(cell, str):
        if time_formats and (time := excel_time(cell)):
            sheet.write_datetime(row, place, time, time_formats[len(cell) != DATE_CHARS])
        else:
            sheet.write_string(row, place, cell_text(cell))
    elif isinstance(cell, bool):
        sheet.write_boolean(row, place, cell)
    elif -_MAX_EXACT < cell < _MAX_EXACT:
        sheet.write_number(row, place, cell)
    else:
        sheet.write_string(row, place, str(cell))


def time_columns(table: Table, columns: Sequence[str]) -> set[str]:
    """The columns in which every value is a time."""
    found = {name for name in columns if table.expected.get(name, datetime) is datetime}
    for row in table.rows():
        found -= {
            name
            for name in found
            if (value := row.get(name)) is not None and parse_time(value) is None
        }
    return found


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
    if len(text) > MAX_CELL_UNITS // 2 and len(text.encode("utf-16-le")) > 2 * MAX_CELL_UNITS:
        note = f" [cut: the text has {len(text):,} characters]"
        kept = text.encode("utf-16-le")[: 2 * (MAX_CELL_UNITS - len(note))]
        text = kept.decode("utf-16-le", errors="ignore") + note
    return text
