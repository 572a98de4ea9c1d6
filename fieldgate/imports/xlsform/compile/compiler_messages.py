"""Find the place in the author's workbook that an error or a warning of pyxform is about."""

import re

from fieldgate.imports.xlsform.parsed_form import ParsedForm
from fieldgate.imports.xlsform.sheet_table import FIRST_DATA_ROW, SheetRow, SheetTable
from fieldgate.imports.xlsform.vocabulary import ENTITIES, SURVEY

_ROW = re.compile(r"\[row : (\w+)\]\s*")
_SHEET = re.compile(r"'(survey|choices|settings|entities|external_choices|osm)' sheet")
_ELEMENT = re.compile(r"'([^'\n]{1,300})'|\$\{([^}\n]{1,300})\}|\bnamed ([^\s'\"]{1,300})")


def strip_row(text: str) -> str:
    """The text without pyxform's number of the row, which may not be the author's."""
    return _ROW.sub("", text)


def find_place(text: str, form: ParsedForm) -> tuple[str | None, int | None]:
    """The author's sheet and row: those that the text names, or those of the first question that it names."""
    sheet, row = _SHEET.search(text), _ROW.search(text)
    if row and row[1].isdigit():
        table = form.sheets.get(sheet[1], form.survey) if sheet else form.survey
        return table.sheet_name, _author_row(int(row[1]), table)
    if sheet and sheet[1] != SURVEY:
        return form.sheets[sheet[1]].sheet_name if sheet[1] in form.sheets else None, None
    row_number = _row_of_named_element(text, form)
    return (form.survey.sheet_name if sheet or row_number else None), row_number


def pyxform_rows(table: SheetTable) -> list[SheetRow]:
    """Blank rows are kept, so that row numbers stay right; in the entities sheet pyxform would refuse them."""
    return list(table.filled_rows()) if table.kind == ENTITIES else table.rows


def _row_of_named_element(text: str, form: ParsedForm) -> int | None:
    """Questions are named directly, or by the list or file that they use."""
    rows: dict[str, int] = {}
    for question in form.questions:
        if question.name:
            rows.setdefault(question.name, question.row.number)
    for question in form.questions:
        if question.type.list_name:
            rows.setdefault(question.type.list_name, question.row.number)
            rows.setdefault(question.type.list_name.rpartition(".")[0], question.row.number)
    names = (next(filter(None, found.groups())).rstrip(".,:;") for found in _ELEMENT.finditer(text))
    return next((rows[name] for name in names if name in rows), None)


def _author_row(number: int, table: SheetTable) -> int | None:
    index = number - FIRST_DATA_ROW
    if index == -1:
        return table.header_row
    rows = pyxform_rows(table)
    return rows[index].number if 0 <= index < len(rows) else None
