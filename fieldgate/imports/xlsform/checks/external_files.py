"""Check the declarations of external files and their names."""

from collections.abc import Iterator

from fieldgate.i18n.messages import Message
from fieldgate.imports.xlsform.choice_lists import first_rows
from fieldgate.imports.xlsform.issues import IssueCollector
from fieldgate.imports.xlsform.parsed_form import ParsedForm
from fieldgate.imports.xlsform.question_types import EXTERNAL_TYPES, FILE_SELECT_TYPES
from fieldgate.imports.xlsform.questions import Question


def check_externals(form: ParsedForm, issues: IssueCollector) -> None:
    sheet = form.survey.sheet_name
    repeats = {question.row.number for question in form.questions if question.type.begins == "repeat"}
    for question in form.questions:
        if question.type.name in EXTERNAL_TYPES and question.parent_row in repeats:
            message = Message("{type} is not allowed in a repeat. Move the row out of it.", type=question.type.name)
            issues.add_problem("external_in_repeat", message, sheet, question.row.number, form.survey.header("type"))
    _check_ids(form, issues)


def _check_ids(form: ParsedForm, issues: IssueCollector) -> None:
    """External files and lists of choices share one namespace in formulas."""
    lists = first_rows(form.choices)
    first: dict[str, tuple[str, str, int]] = {}
    for question, name, file in _external_files(form):
        row = question.row.number
        kind, same_file, earlier = first.setdefault(name, (question.type.name, file, row))
        twice_declared = kind in EXTERNAL_TYPES and question.type.name in EXTERNAL_TYPES
        if earlier != row and (twice_declared or file != same_file):
            message = Message("The name {name} is taken by row {row}. Choose another name.", name=name, row=earlier)
        elif name in lists and earlier == row:
            message = Message("The name {name} is taken by a list of choices. Choose another name.", name=name)
        else:
            continue
        column = form.survey.header("name" if question.type.name in EXTERNAL_TYPES else "type")
        issues.add_problem("duplicate_instance", message, form.survey.sheet_name, row, column)


def _external_files(form: ParsedForm) -> Iterator[tuple[Question, str, str]]:
    for question in form.questions:
        kind, listed = question.type.name, question.type.list_name
        if kind in EXTERNAL_TYPES and question.name:
            yield question, question.name, f"{question.name}.{kind.partition('-')[0]}"
        elif kind in FILE_SELECT_TYPES and listed:
            yield question, listed.rpartition(".")[0], listed
