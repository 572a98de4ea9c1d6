"""From the bytes of a workbook to grids of text, whatever spreadsheet program wrote it.

Cells are written as XLSForm's own tools write them: whole numbers without a fraction, TRUE and FALSE, dates with
their time, ordinary spaces, no space at either end.
"""

import csv
import io
import re
from collections.abc import Iterable
from datetime import date, datetime
from typing import Any

import msgspec
from python_calamine import CalamineWorkbook, SheetTypeEnum

from fieldgate.i18n.messages import Message
from fieldgate.imports.xlsform.issues import Refused
from fieldgate.imports.xlsform.vocabulary import SHEETS, snake

MOST_SHEETS = 50
MOST_ROWS = 100_000
MOST_COLUMNS = 2_000
LONGEST_CELL = 65_536  # characters

ZIP = b"PK"
OLE2 = b"\xd0\xcf\x11\xe0"
ENCRYPTED = "EncryptedPackage".encode("utf-16-le")  # the stream in which Excel hides a workbook
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
SEPARATORS = ",;\t"

# What an XML document cannot hold, and nobody sees in a cell.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_CONTROL = bytes(set(range(32)) - set(b"\t\n\r"))


class Grid(msgspec.Struct):
    """A sheet as it stands: each row with the number the spreadsheet shows beside it."""

    name: str
    rows: list[tuple[int, list[str]]]


def read(data: bytes) -> list[Grid]:
    """All sheets of the workbook; Refused when it is none, or too large to be a form."""
    try:
        grids = _spreadsheet(data) if data.startswith((ZIP, OLE2)) else _separated_values(data)
    except (Refused, MemoryError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        # The readers raise errors of their own and of the libraries below them. A panic in Rust is no Exception.
        raise _unreadable(data) from error
    for grid in grids:
        _refuse_wide_or_long(grid)
    return grids


def _spreadsheet(data: bytes) -> list[Grid]:
    workbook = CalamineWorkbook.from_filelike(io.BytesIO(data))
    names = [sheet.name for sheet in workbook.sheets_metadata if sheet.typ is SheetTypeEnum.WorkSheet]
    _refuse_many(len(names))
    return [_sheet(workbook, name) for name in names]


def _sheet(workbook: CalamineWorkbook, name: str) -> Grid:
    sheet = workbook.get_sheet_by_name(name)
    if sheet.end is not None and (sheet.end[0] >= MOST_ROWS or sheet.end[1] >= MOST_COLUMNS):
        raise _too_large(name)
    rows = sheet.to_python(skip_empty_area=False)
    return Grid(name, [(number, [_text(value) for value in row]) for number, row in enumerate(rows, 1)])


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, date) and not isinstance(value, datetime):
        return f"{value} 00:00:00"
    return _UNPRINTABLE.sub("", str(value).replace("\u00a0", " ")).strip()


def _separated_values(data: bytes) -> list[Grid]:
    text = _decoded(data)
    separator = max(SEPARATORS, key=text.partition("\n")[0].count)
    if not text.partition("\n")[0].count(separator):
        # The first line is the name of a sheet: the separator shows in the second.
        separator = max(SEPARATORS, key=text.partition("\n")[2].partition("\n")[0].count)
    records = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    rows = [(number, [_text(value) for value in record]) for number, record in enumerate(records, 1)]
    return _sections(rows) if _has_sections(rows) else [Grid("survey", rows)]


def _has_sections(rows: list[tuple[int, list[str]]]) -> bool:
    """Whether one file holds several sheets, each under a line that has only its name."""
    first = next((record for _, record in rows if any(record)), [])
    return bool(first) and snake(first[0]) in SHEETS and not any(first[1:])


def _sections(rows: Iterable[tuple[int, list[str]]]) -> list[Grid]:
    grids: list[Grid] = []
    for number, record in rows:
        if record and record[0]:
            grids.append(Grid(record[0], []))
            _refuse_many(len(grids))
        elif grids:
            grids[-1].rows.append((number, record[1:]))
    return grids


def _decoded(data: bytes) -> str:
    if is_windows_text(data):
        return data.decode("cp1252")
    return data.decode("utf-16" if data.startswith(UTF_16) else "utf-8-sig")


def is_windows_text(data: bytes) -> bool:
    """Whether it is text, but no Unicode: what Excel's plain CSV is in western Europe."""
    if data.startswith((ZIP, OLE2, *UTF_16)) or data.translate(None, _CONTROL) != data:
        return False
    try:
        data.decode()
    except UnicodeDecodeError:
        return True
    return False


def _refuse_many(sheets: int) -> None:
    if sheets > MOST_SHEETS:
        raise Refused(
            "too_large",
            Message(
                "The workbook has more than {count} sheets. Remove those that are not part of the form.",
                count=MOST_SHEETS,
            ),
        )


def _refuse_wide_or_long(grid: Grid) -> None:
    if len(grid.rows) > MOST_ROWS:
        raise _too_large(grid.name)
    for _, texts in grid.rows:
        if len(texts) > MOST_COLUMNS or any(len(text) > LONGEST_CELL for text in texts):
            raise _too_large(grid.name)


def _too_large(sheet: str) -> Refused:
    return Refused(
        "too_large",
        Message(
            "Sheet {sheet} is too large. Keep it within {rows} rows, {columns} columns and {characters} characters a"
            " cell.",
            sheet=sheet,
            rows=MOST_ROWS,
            columns=MOST_COLUMNS,
            characters=LONGEST_CELL,
        ),
    )


def _unreadable(data: bytes) -> Refused:
    if data.startswith(OLE2) and ENCRYPTED in data:
        message = Message("The file is protected by a password. Save it without the password and import it again.")
    else:
        message = Message("The file could not be read. Save it as an Excel workbook (.xlsx) and import it again.")
    return Refused("unreadable_workbook", message)
