"""Find the place in the author's workbook that an error or a warning of pyxform is about.

Its text may name it. If not, parts of the form are compiled, until one row is known to fail.
"""

import re
import time
from collections.abc import Callable, Iterator

import msgspec

from fieldgate.imports.xlsform.parsed_form import ParsedForm
from fieldgate.imports.xlsform.question_types import QuestionType
from fieldgate.imports.xlsform.questions import Question
from fieldgate.imports.xlsform.sheet_table import (
    FIRST_DATA_ROW,
    Cell,
    SheetColumn,
    SheetRow,
    SheetTable,
)
from fieldgate.imports.xlsform.vocabulary import (
    CHOICES,
    ENTITIES,
    EXTERNAL_CHOICES,
    OSM,
    SETTINGS,
    SURVEY,
)

MAX_SECONDS = 15.0  # of processor time; the last part that is known to fail is reported then

_Part = tuple[SheetTable, SheetRow]

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


def find_row(form: ParsedForm, fails: Callable[[ParsedForm], bool]) -> tuple[str, int]:
    """The sheet and the row without which the rows before it compile. The header if no row is the reason.

    Settings come first, then lists, then questions. Questions that are left out keep their names, so that others can
    refer to them.
    """
    parts = [*_other_rows(form), *((form.survey, question.row) for question in form.questions)]
    good, bad = 0, len(parts)
    if not parts or fails(_reduced(form, [])):
        return form.survey.sheet_name, form.survey.header_row
    deadline = time.process_time() + MAX_SECONDS
    while bad - good > 1 and time.process_time() < deadline:
        middle = (good + bad) // 2
        if fails(_reduced(form, parts[:middle])):
            bad = middle
        else:
            good = middle
    table, row = parts[bad - 1]
    return table.sheet_name, row.number


def _other_rows(form: ParsedForm) -> Iterator[_Part]:
    for kind in (SETTINGS, CHOICES, EXTERNAL_CHOICES, OSM, ENTITIES):
        if table := form.sheets.get(kind):
            yield from ((table, row) for row in table.filled_rows())


def _reduced(form: ParsedForm, parts: list[_Part]) -> ParsedForm:
    """The form with these rows as they are. Other questions only keep their names, other rows are left out."""
    kept: dict[str, list[SheetRow]] = {}
    for table, row in parts:
        kept.setdefault(table.kind, []).append(row)
    sheets = {
        kind: table.with_rows(kept[kind]) for kind, table in form.sheets.items() if kind in kept
    }
    questions = list(
        _reduced_questions(form, {row.number for row in kept.get(form.survey.kind, [])})
    )
    survey = form.survey.with_rows([question.row for question in questions])
    return ParsedForm(survey, sheets, questions)


def _reduced_questions(form: ParsedForm, kept: set[int]) -> Iterator[Question]:
    label = next(
        (column for column in form.survey.columns if column.key == "label"),
        SheetColumn("label", "label"),
    )
    is_kept: list[bool] = []  # of the groups that are open
    for question in form.questions:
        if question.type.begins:
            is_kept.append(question.row.number in kept)
        keeps = is_kept.pop() if question.type.ends and is_kept else question.row.number in kept
        if keeps:
            yield question
        elif question.name or question.type.ends:
            cells = [cell for cell in question.row.cells if cell.column.key == "name"]
            row = SheetRow(question.row.number, [*cells, Cell(label, "-")])
            yield msgspec.structs.replace(question, row=row, type=_reduced_type(question.type))


def _reduced_type(type_: QuestionType) -> QuestionType:
    """A text, or the edge of a group or a repeat."""
    container = type_.begins or type_.ends
    if not container:
        return QuestionType("text")
    return QuestionType(
        f"{'begin' if type_.begins else 'end'}_{'repeat' if container == 'repeat' else 'group'}"
    )
