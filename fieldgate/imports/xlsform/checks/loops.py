"""Loops ask their questions once for each choice of a list: what that asks of the list and of the questions.

A loop over a list of soap and rope becomes a group of two groups, soap and rope, each with all the questions.
"""

import re
from collections.abc import Collection, Iterable

from fieldgate.i18n.messages import Message
from fieldgate.imports.xlsform.issues import Findings
from fieldgate.imports.xlsform.parsed_form import Draft
from fieldgate.imports.xlsform.questions import TOP, Question
from fieldgate.imports.xlsform.sheet_table import Row, Table
from fieldgate.imports.xlsform.vocabulary import CHOICES
from fieldgate.imports.xlsform.xml_names import is_xml_name

_LEFT_OUT = "none"  # the choice that compilers do not ask about
_PLACEHOLDER = re.compile(r"%(?:%|\((\w+)\)s)?")


def check_loops(draft: Draft, findings: Findings) -> None:
    lists, copies = _lists(draft), copies_of_groups(draft)
    offered: dict[int, Collection[str]] = {}
    for question in draft.questions:
        if question.type.begins == "loop":
            offered[question.row.number] = _columns_of_all(lists.get(question.type.list_name, []))
        if question.type.begins == "repeat" and copies[question.inside] > 1:
            message = Message("A repeat cannot stand in a loop. Move it out of the loop, or make it a group.")
            findings.problem(
                "repeat_in_loop", message, draft.survey.sheet, question.row.number, draft.survey.header("type")
            )
        if question.inside in offered:
            _check_placeholders(draft, question, offered[question.inside], findings)
    looped = {question.type.list_name for question in draft.questions if question.type.begins == "loop"}
    for listed in lists.keys() & looped:
        _check_choices(draft.sheets[CHOICES], lists[listed], findings)


def copies_of_groups(draft: Draft) -> dict[int, int]:
    """How often what is inside each group stands in the form: once, but for what is inside loops."""
    lists = _lists(draft)
    copies = {TOP: 1}
    for question in draft.questions:
        if question.type.begins:
            choices = lists.get(question.type.list_name, []) if question.type.begins == "loop" else []
            copies[question.row.number] = copies[question.inside] * max(1, len(choices))
    return copies


def _lists(draft: Draft) -> dict[str | None, list[Row]]:
    lists: dict[str | None, list[Row]] = {}
    for row in draft.choices.filled() if draft.choices else ():
        if row.text("name") not in (None, _LEFT_OUT):
            lists.setdefault(row.text("list_name"), []).append(row)
    return lists


def _columns_of_all(choices: Iterable[Row]) -> Collection[str]:
    """The columns that each of the choices fills. Where there are none the list is the mistake, and not the columns."""
    columns = [{cell.column.key for cell in row.cells} for row in choices]
    return set.intersection(*columns) if columns else {"name", "label"}


def _check_choices(table: Table, choices: Iterable[Row], findings: Findings) -> None:
    for row in choices:
        name = row.text("name") or ""
        if not is_xml_name(name):
            message = Message(
                "{name} cannot be a name. Begin with a letter or _ and use letters, digits, _, - and . only.", name=name
            )
            findings.problem("invalid_choice_name", message, table.sheet, row.number, table.header("name"))
        if "label" not in row:
            message = Message("A loop goes over this list. Enter a label for this choice.")
            findings.problem("missing_loop_label", message, table.sheet, row.number, table.header("label"))


def _check_placeholders(draft: Draft, question: Question, offered: Collection[str], findings: Findings) -> None:
    """Compilers put columns of the choice into every cell; any other percent sign breaks the cell or the form."""
    for cell in question.row.cells:
        found = _PLACEHOLDER.finditer(cell.text) if cell.column.known else ()
        if any(place[0] != "%%" and place[1] not in offered for place in found):
            message = Message("In a loop, write %(name)s or %(label)s for the choice, and %% for a percent sign.")
            findings.problem("broken_placeholder", message, draft.survey.sheet, question.row.number, cell.column.header)
