"""Files that come with a form: where they may be declared, and under which names."""

from collections.abc import Iterator

from fieldgate.i18n.messages import Message
from fieldgate.imports.xlsform.checks.choices import choice_lists
from fieldgate.imports.xlsform.issues import Findings
from fieldgate.imports.xlsform.parsed_form import Draft
from fieldgate.imports.xlsform.question_types import EXTERNAL, FROM_FILE
from fieldgate.imports.xlsform.questions import Question


def check_externals(draft: Draft, findings: Findings) -> None:
    sheet = draft.survey.sheet
    repeats = {question.row.number for question in draft.questions if question.type.begins == "repeat"}
    for question in draft.questions:
        if question.type.name in EXTERNAL and question.inside in repeats:
            message = Message("{type} cannot stand in a repeat. Move the row out of it.", type=question.type.name)
            findings.problem("external_in_repeat", message, sheet, question.row.number, draft.survey.header("type"))
    _check_ids(draft, findings)


def _check_ids(draft: Draft, findings: Findings) -> None:
    """Formulas find files and lists by one kind of name, and a name can mean one thing only."""
    lists = choice_lists(draft.choices)
    first: dict[str, tuple[str, str, int]] = {}
    for question, name, file in _files(draft):
        row = question.row.number
        kind, same_file, earlier = first.setdefault(name, (question.type.name, file, row))
        twice_declared = kind in EXTERNAL and question.type.name in EXTERNAL
        if earlier != row and (twice_declared or file != same_file):
            message = Message("The name {name} is taken by row {row}. Choose another name.", name=name, row=earlier)
        elif name in lists and earlier == row:
            message = Message("The name {name} is taken by a list of choices. Choose another name.", name=name)
        else:
            continue
        column = draft.survey.header("name" if question.type.name in EXTERNAL else "type")
        findings.problem("duplicate_instance", message, draft.survey.sheet, row, column)


def _files(draft: Draft) -> Iterator[tuple[Question, str, str]]:
    for question in draft.questions:
        kind, listed = question.type.name, question.type.list_name
        if kind in EXTERNAL and question.name:
            yield question, question.name, f"{question.name}.{kind.partition('-')[0]}"
        elif kind in FROM_FILE and listed:
            yield question, listed.rpartition(".")[0], listed
