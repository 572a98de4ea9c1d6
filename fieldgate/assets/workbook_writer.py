"""Write the sheets of a form as an Excel workbook. Every cell is text: nothing in it can become a formula or a link."""

import io
import tempfile
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from fieldgate.assets.content_sheets import ContentSheet

MAX_CELL_CHARS = 32_767  # Excel's limit for one cell
MAX_SHEET_ROWS = 1_048_576  # Excel's limit for one sheet, with the header
MAX_SHEET_COLUMNS = 16_384

_COLUMN_WIDTH = 24
_TEXT_FORMAT = {"num_format": "@"}  # what a person types into a cell stays text, too


class TooLargeForWorkbook(Exception):
    """A sheet or a cell is larger than Excel allows. `row` and `column` are those of the cell."""

    def __init__(self, sheet: str, row: int | None = None, column: str | None = None) -> None:
        super().__init__(sheet, row, column)
        self.sheet = sheet
        self.row = row
        self.column = column


def write_workbook(sheets: Iterable[ContentSheet], created: datetime) -> bytes:
    """The bytes of an xlsx file, equal for equal arguments.

    Rows are written to a temporary file first, so that few are in memory.
    """
    import xlsxwriter  # most processes never need it

    file = io.BytesIO()
    with tempfile.TemporaryDirectory(prefix="fieldgate-workbook-") as folder:
        workbook = xlsxwriter.Workbook(file, {"constant_memory": True, "tmpdir": folder})
        workbook.set_properties({"created": created})
        try:
            for sheet in sheets:
                _write_sheet(workbook, sheet)
            workbook.close()
        finally:
            for worksheet in workbook.worksheets():
                worksheet._opt_close()
    return file.getvalue()


def _write_sheet(workbook: Any, sheet: ContentSheet) -> None:
    if len(sheet.headers) > MAX_SHEET_COLUMNS or len(sheet.rows) >= MAX_SHEET_ROWS:
        raise TooLargeForWorkbook(sheet.name)
    text_format = workbook.add_format(_TEXT_FORMAT)
    worksheet = workbook.add_worksheet(sheet.name)
    worksheet.set_column(0, max(len(sheet.headers) - 1, 0), _COLUMN_WIDTH, text_format)
    worksheet.freeze_panes(1, 0)
    places = {header: place for place, header in enumerate(sheet.headers)}
    rows = ({header: header for header in sheet.headers}, *sheet.rows)
    for number, row in enumerate(rows):
        for header, text in row.items():
            if len(text) > MAX_CELL_CHARS:
                raise TooLargeForWorkbook(sheet.name, number + 1, header)
            worksheet.write_string(number, places[header], text, text_format)
