"""Workbooks created in memory."""

import io
from collections.abc import Mapping, Sequence

from openpyxl import Workbook

Rows = Sequence[Sequence[object]]

SURVEY: Rows = (
    ("type", "name", "label"),
    ("text", "name", "What is your name?"),
    ("integer", "age", "How old are you?"),
)


def xlsx(**sheets: Rows) -> bytes:
    """Return a workbook with these sheets, by default a small survey."""
    return write_xlsx(sheets or {"survey": SURVEY})


def write_xlsx(sheets: Mapping[str, Rows]) -> bytes:
    book = Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(list(row))
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()
