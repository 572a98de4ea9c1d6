"""Check loops, which repeat their questions for each choice of a list.

A loop over a list of soap and rope becomes a group with two groups, soap and rope, each with all the questions.
"""

import re
from collections.abc import Collection, Iterable

from fieldgate.i18n.messages import Message
from fieldgate.imports.xlsform.issues import IssueCollector
from fieldgate.imports.xlsform.parsed_form import ParsedForm
from fieldgate.imports.xlsform.questions import TOP_LEVEL, Question
from fieldgate.imports.xlsform.sheet_table import SheetRow, SheetTable
from fieldgate.imports.xlsform.vocabulary import CHOICES
from fieldgate.imports.xlsform.xml_names import invalid_name_message, is_xml_name

_NONE_CHOICE = "none"  # pyxform skips this choice
_PLACEHOLDER = re.compile(r"%(?:%|\((\w+)\)s)?")


def check_loops(form: ParsedForm, issues: IssueCollector) -> None:
    lists, copies = _choices_by_list(form), count_group_copies(form)
    columns: dict[int, Collection[str]] = {}
    for question in form.questions:
        if question.type.begins == "loop":
            columns[question.row.number] = _common_columns(lists.get(question.type.list_name, []))
        if question.type.begins == "repeat" and copies[question.parent_row] > 1:
            message = Message(
                "A repeat is not allowed in a loop. Move it out of the loop, or make it a group."
            )
            issues.add_problem("repeat_in_loop", message, *form.survey.place(question.row, "type"))
        if question.parent_row in columns:
            _check_placeholders(form, question, columns[question.parent_row], issues)
    looped = {
        question.type.list_name for question in form.questions if question.type.begins == "loop"
    }
    for list_name in lists.keys() & looped:
        _check_choices(form.sheets[CHOICES], lists[list_name], issues)


def count_group_copies(form: ParsedForm) -> dict[int, int]:
    """How many copies of the content of each group the form has: one, or more in loops."""
    lists = _choices_by_list(form)
    copies = {TOP_LEVEL: 1}
    for question in form.questions:
        if question.type.begins:
            choices = (
                lists.get(question.type.list_name, []) if question.type.begins == "loop" else []
            )
            copies[question.row.number] = copies[question.parent_row] * max(1, len(choices))
    return copies


def _choices_by_list(form: ParsedForm) -> dict[str | None, list[SheetRow]]:
    lists: dict[str | None, list[SheetRow]] = {}
    for row in form.choices.filled_rows() if form.choices else ():
        if row.text("name") not in (None, _NONE_CHOICE):
            lists.setdefault(row.text("list_name"), []).append(row)
    return lists


def _common_columns(choices: Iterable[SheetRow]) -> Collection[str]:
    """The columns that all choices fill. For an unknown list, which is reported elsewhere, the usual ones."""
    columns = [{cell.column.key for cell in row.cells} for row in choices]
    return set.intersection(*columns) if columns else {"name", "label"}


def _check_choices(table: SheetTable, choices: Iterable[SheetRow], issues: IssueCollector) -> None:
    for row in choices:
        name = row.text("name") or ""
        if not is_xml_name(name):
            issues.add_problem(
                "invalid_choice_name", invalid_name_message(name), *table.place(row, "name")
            )
        if "label" not in row:
            message = Message("A loop uses this list. Enter a label for this choice.")
            issues.add_problem("missing_loop_label", message, *table.place(row, "label"))


def _check_placeholders(
    form: ParsedForm, question: Question, columns: Collection[str], issues: IssueCollector
) -> None:
    """pyxform formats every cell with the columns of the choice, so any other percent sign is an error."""
    for cell in question.row.cells:
        found = _PLACEHOLDER.finditer(cell.text) if cell.column.known else ()
        if any(place[0] != "%%" and place[1] not in columns for place in found):
            message = Message(
                "In a loop, write %(name)s or %(label)s for the choice, and %% for a percent sign."
            )
            issues.add_problem(
                "broken_placeholder",
                message,
                form.survey.sheet_name,
                question.row.number,
                cell.column.header,
            )
