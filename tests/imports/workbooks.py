"""Workbooks made in memory, as people would send them."""

import io
from collections.abc import Sequence

from openpyxl import Workbook

Rows = Sequence[Sequence[object]]

SURVEY: Rows = (
    ("type", "name", "label"),
    ("text", "name", "What is your name?"),
    ("integer", "age", "How old are you?"),
)


def xlsx(**sheets: Rows) -> bytes:
    """A workbook of these sheets; a small survey if none is given."""
    book = Workbook()
    book.remove(book.active)
    for title, rows in (sheets or {"survey": SURVEY}).items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(list(row))
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()
