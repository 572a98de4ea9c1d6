"""Write a copy of a workbook with its problems and warnings marked: a colour and a comment in each cell.

Every cell of the copy is text, at the same place as in the file, so that importing it again gives the same form.
Formulas become their values; macros, links, pictures and styles are left out.
"""

import io
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from fieldgate.i18n.messages import Message
from fieldgate.imports.quoted_values import quoted
from fieldgate.imports.sheet_excerpts import IssueComment, IssueKind
from fieldgate.imports.xlsform.excerpt_builder import find_column, header_of
from fieldgate.imports.xlsform.issues import FormRejected
from fieldgate.imports.xlsform.workbook_reader import Sheet, clean_text, read_workbook

MAX_CELL_CHARS = 32_767  # Excel's limit
MAX_SHEET_NAME_CHARS = 31  # Excel's limit
MAX_COMMENT_CHARS = 2_000
COLUMN_WIDTH = 24
COMMENT_WIDTH = 320  # pixels
COMMENT_LINE_CHARS, COMMENT_LINE_HEIGHT = 45, 18

_FORBIDDEN_IN_NAME = re.compile(r"[\[\]:*?/\\\x00-\x1f]")
_FORMATS: dict[IssueKind | None, dict[str, Any]] = {
    None: {"num_format": "@"},
    "problem": {"num_format": "@", "bg_color": "#F4DCDC", "border": 2, "border_color": "#B3261E"},
    "warning": {"num_format": "@", "bg_color": "#FFF0C2", "border": 1, "border_color": "#8A6100"},
}


class _Place(NamedTuple):
    row: int  # from 0
    column: int


class _MarkedCell(msgspec.Struct):
    kind: IssueKind
    texts: list[str]


def annotate_workbook(
    data: bytes, comments: Sequence[IssueComment], use_first_reader: bool = True
) -> bytes:
    """The bytes of an xlsx file. Raises FormRejected if the file cannot be read or does not fit into one."""
    import xlsxwriter  # most processes never need it

    sheets = read_workbook(data, use_first_reader=use_first_reader)
    file = io.BytesIO()
    workbook = xlsxwriter.Workbook(file, {"in_memory": True})  # the process cannot write files
    formats = {kind: workbook.add_format(properties) for kind, properties in _FORMATS.items()}
    names = _sheet_names(sheets)
    first_of_name = {sheet.name: position for position, sheet in reversed(list(enumerate(sheets)))}
    for position, sheet in enumerate(sheets):
        own = [
            comment
            for comment in comments
            if (0 if comment.sheet is None else first_of_name.get(comment.sheet)) == position
        ]
        _write_sheet(
            workbook.add_worksheet(names[position]), sheet, _marked_cells(sheet, own), formats
        )
    workbook.close()
    return file.getvalue()


def _write_sheet(
    worksheet: Any, sheet: Sheet, marked: dict[_Place, _MarkedCell], formats: dict[Any, Any]
) -> None:
    start = _first_number(sheet)
    worksheet.set_column(
        0, max((len(texts) for _, texts in sheet.rows), default=1), COLUMN_WIDTH, formats[None]
    )
    for number, texts in sheet.rows:
        for column, text in enumerate(texts):
            place = _Place(number - start, column)
            if text and place not in marked:
                _write_text(worksheet, sheet, place, text, formats[None])
    texts_by_row = dict(sheet.rows)
    for place, cell in marked.items():
        texts = texts_by_row.get(place.row + start, [])
        text = texts[place.column] if place.column < len(texts) else ""
        if text:
            _write_text(worksheet, sheet, place, text, formats[cell.kind])
        else:
            worksheet.write_blank(*place, None, formats[cell.kind])
        comment = "\n\n".join(cell.texts)[:MAX_COMMENT_CHARS]
        height = COMMENT_LINE_HEIGHT * (
            2 + comment.count("\n") + len(comment) // COMMENT_LINE_CHARS
        )
        worksheet.write_comment(*place, comment, {"width": COMMENT_WIDTH, "height": height})


def _write_text(worksheet: Any, sheet: Sheet, place: _Place, text: str, cell_format: Any) -> None:
    if len(text) > MAX_CELL_CHARS:
        message = Message(
            "Sheet {sheet}, row {row}: a cell has more text than Excel allows, so the file cannot be marked.",
            sheet=quoted(sheet.name),
            row=place.row + _first_number(sheet),
        )
        raise FormRejected("too_large", message)
    worksheet.write_string(*place, text, cell_format)


def _marked_cells(sheet: Sheet, comments: Sequence[IssueComment]) -> dict[_Place, _MarkedCell]:
    """The cells to mark. A comment about a row is at its first filled cell, one about the sheet at its first header."""
    header_row, headers = header_of(sheet)
    texts_by_row = dict(sheet.rows)
    start = _first_number(sheet)
    marked: dict[_Place, _MarkedCell] = {}
    for comment in comments:
        row = comment.row if comment.row in texts_by_row else header_row
        texts = texts_by_row.get(row, [])
        column = find_column(headers, texts, comment.column)
        if column is None:
            column = next((position for position, text in enumerate(texts) if text), 0)
        cell = marked.setdefault(_Place(row - start, column), _MarkedCell(comment.kind, []))
        if comment.kind == "problem":
            cell.kind = "problem"
        cell.texts.append(clean_text(comment.text))
    return marked


def _first_number(sheet: Sheet) -> int:
    """Sections of a CSV file begin at any row. In the workbook each is a sheet of its own."""
    return sheet.rows[0][0] if sheet.rows else 1


def _sheet_names(sheets: Sequence[Sheet]) -> list[str]:
    """Names that Excel allows, each once."""
    names: list[str] = []
    for sheet in sheets:
        base = _FORBIDDEN_IN_NAME.sub("_", sheet.name)[:MAX_SHEET_NAME_CHARS].strip(" '") or "Sheet"
        name, number = base, 2
        while name.casefold() in {taken.casefold() for taken in names}:
            suffix = f" ({number})"
            name, number = base[: MAX_SHEET_NAME_CHARS - len(suffix)] + suffix, number + 1
        names.append(name)
    return names
