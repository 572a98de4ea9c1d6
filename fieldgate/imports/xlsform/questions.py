"""Questions and groups of a survey sheet, with their types, names and places in the groups."""

from collections.abc import Iterator

import msgspec

from fieldgate.i18n.messages import Message, PluralMessage
from fieldgate.imports.xlsform.foreign_types import foreign_type_message
from fieldgate.imports.xlsform.issues import IssueCollector
from fieldgate.imports.xlsform.question_types import (
    UNKNOWN,
    QuestionType,
    parse_question_type,
    suggest_question_type,
)
from fieldgate.imports.xlsform.sheet_table import SheetRow, SheetTable
from fieldgate.imports.xlsform.vocabulary import TRUE_WORDS

MAX_NESTED_GROUPS = 100  # pyxform recurses for each level

TOP_LEVEL = 0  # the parent row of questions outside all groups


class Question(msgspec.Struct, frozen=True):
    """A row with a type. `path` names the groups around it, `parent_row` is the row of the innermost.

    A row with an unknown type is also a question, so that its other problems are found.
    """

    row: SheetRow
    type: QuestionType
    name: str | None
    path: tuple[str, ...]
    parent_row: int


class _OpenGroup(msgspec.Struct, frozen=True):
    kind: str
    name: str
    row: int


def parse_questions(survey: SheetTable, issues: IssueCollector) -> list[Question]:
    """Questions and groups in order. Other rows are reported as problems or warnings."""
    questions: list[Question] = []
    open_groups: list[_OpenGroup] = []
    for row in active_rows(survey):
        type_ = _parse_type(row, survey, issues)
        if type_ is None:
            continue
        if type_.ends:
            _close_group(type_.ends, row, survey, open_groups, issues)
        name = None if type_.ends else row.text("name")
        path = tuple(group.name for group in open_groups)
        questions.append(
            Question(row, type_, name, path, open_groups[-1].row if open_groups else TOP_LEVEL)
        )
        if type_.begins:
            open_groups.append(_OpenGroup(type_.begins, name or "", row.number))
            if len(open_groups) == MAX_NESTED_GROUPS + 1:
                message = PluralMessage(
                    "Groups are nested too deeply here. Keep within {count} level.",
                    "Groups are nested too deeply here. Keep within {count} levels.",
                    MAX_NESTED_GROUPS,
                )
                issues.add_problem("deep_nesting", message, *survey.place(row, "type"))
    for group in open_groups:
        _report_unclosed(group, survey, issues)
    return questions


def active_rows(survey: SheetTable) -> Iterator[SheetRow]:
    """The filled rows, without those that the author has disabled."""
    return (
        row
        for row in survey.filled_rows()
        if (row.text("disabled") or "").lower() not in TRUE_WORDS
    )


def _parse_type(row: SheetRow, survey: SheetTable, issues: IssueCollector) -> QuestionType | None:
    text, place = row.text("type"), survey.place(row, "type")
    if text is None:
        if "name" in row or "label" in row:
            message = Message("Enter a question type in this row, or remove the row.")
            issues.add_problem("missing_type", message, *place)
        else:
            message = Message(
                "This row has no type and no name and is ignored. Remove it, or complete it."
            )
            issues.add_warning("ignored_row", message, survey.sheet_name, row.number)
        return None
    type_ = parse_question_type(text)
    if type_ is None:
        issues.add_problem("unknown_type", _unknown_type_message(text), *place)
        return QuestionType(UNKNOWN)
    if type_.is_kobo_only and not type_.ends:
        message = Message(
            "The type {type} works in KoboToolbox only. It is kept, but other tools will not show it.",
            type=text,
        )
        issues.add_warning("live_only_type", message, *place)
    return type_


def _unknown_type_message(text: str) -> Message:
    if message := foreign_type_message(text):
        return message
    if guess := suggest_question_type(text):
        return Message(
            "{type} is not a question type. Did you mean {guess}?", type=text, guess=guess
        )
    return Message(
        "{type} is not a question type. Enter one of the types of the XLSForm standard.", type=text
    )


def _close_group(
    kind: str,
    row: SheetRow,
    survey: SheetTable,
    open_groups: list[_OpenGroup],
    issues: IssueCollector,
) -> None:
    """Close the innermost open group of that kind, and report the groups left open inside it."""
    if any(group.kind == kind for group in open_groups):
        while open_groups[-1].kind != kind:
            _report_unclosed(open_groups.pop(), survey, issues)
        open_groups.pop()
        return
    message = Message(
        "This end_{kind} has no begin_{kind}. Remove the row, or add begin_{kind} above it.",
        kind=kind,
    )
    issues.add_problem("unmatched_end", message, *survey.place(row, "type"))
    if open_groups:
        # Most likely the row was meant to end the innermost group. Report the mistake once.
        open_groups.pop()


def _report_unclosed(group: _OpenGroup, survey: SheetTable, issues: IssueCollector) -> None:
    message = Message(
        "This begin_{kind} has no end_{kind}. Add a row end_{kind} after its last row.",
        kind=group.kind,
    )
    issues.add_problem(
        "unclosed_group", message, survey.sheet_name, group.row, survey.header("type")
    )
