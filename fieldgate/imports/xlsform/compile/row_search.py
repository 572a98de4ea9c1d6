"""Find the row that keeps a form from being compiled, by compiling parts of the form."""

import time
from collections.abc import Callable, Iterator

import msgspec

from fieldgate.imports.xlsform.parsed_form import ParsedForm
from fieldgate.imports.xlsform.question_types import QuestionType
from fieldgate.imports.xlsform.questions import Question
from fieldgate.imports.xlsform.sheet_table import Cell, SheetColumn, SheetRow, SheetTable
from fieldgate.imports.xlsform.vocabulary import CHOICES, ENTITIES, EXTERNAL_CHOICES, OSM, SETTINGS

MAX_SECONDS = 15.0  # of processor time; the last part that is known to fail is reported then

_Part = tuple[SheetTable, SheetRow]


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
    sheets = {kind: table.with_rows(kept[kind]) for kind, table in form.sheets.items() if kind in kept}
    questions = list(_reduced_questions(form, {row.number for row in kept.get(form.survey.kind, [])}))
    survey = form.survey.with_rows([question.row for question in questions])
    return ParsedForm(survey, sheets, questions)


def _reduced_questions(form: ParsedForm, kept: set[int]) -> Iterator[Question]:
    label = next((column for column in form.survey.columns if column.key == "label"), SheetColumn("label", "label"))
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
    return QuestionType(f"{'begin' if type_.begins else 'end'}_{'repeat' if container == 'repeat' else 'group'}")
