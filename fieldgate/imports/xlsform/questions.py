"""The rows of a survey in their groups: what each row asks, what it is called and where it stands."""

from collections.abc import Iterator

import msgspec

from fieldgate.i18n.messages import Message, PluralMessage
from fieldgate.imports.xlsform.issues import IssueCollector
from fieldgate.imports.xlsform.question_types import QuestionType, parse_question_type, suggest_question_type
from fieldgate.imports.xlsform.sheet_table import SheetRow, SheetTable

TRUE_WORDS = frozenset({"yes", "true", "true()"})
FALSE_WORDS = frozenset({"no", "false", "false()"})

MAX_NESTED_GROUPS = 100  # groups in groups: a compiler calls itself for each of them

TOP_LEVEL = 0  # the number of the container that is the form itself; a group is numbered by its row


class Question(msgspec.Struct, frozen=True):
    """A row with a type that is understood. `path` names the groups around it, `inside` numbers the innermost."""

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
    """The questions and groups in order; rows that are none of these become problems or warnings."""
    questions: list[Question] = []
    around: list[_OpenGroup] = []
    for row in active_rows(survey):
        kind = _parse_type(row, survey, issues)
        if kind is None:
            continue
        if kind.ends:
            _close_group(kind.ends, row, survey, around, issues)
        name = None if kind.ends else row.text("name")
        path = tuple(group.name for group in around)
        questions.append(Question(row, kind, name, path, around[-1].row if around else TOP_LEVEL))
        if kind.begins:
            around.append(_OpenGroup(kind.begins, name or "", row.number))
            if len(around) == MAX_NESTED_GROUPS + 1:
                message = PluralMessage(
                    "Groups are nested too deeply here. Keep within {count} level.",
                    "Groups are nested too deeply here. Keep within {count} levels.",
                    MAX_NESTED_GROUPS,
                )
                issues.add_problem("deep_nesting", message, survey.sheet_name, row.number, survey.header("type"))
    for group in around:
        _report_unclosed(group, survey, issues)
    return questions


def active_rows(survey: SheetTable) -> Iterator[SheetRow]:
    """The filled rows, without those that the author has switched off."""
    return (row for row in survey.filled_rows() if (row.text("disabled") or "").lower() not in TRUE_WORDS)


def _parse_type(row: SheetRow, survey: SheetTable, issues: IssueCollector) -> QuestionType | None:
    text = row.text("type")
    column = survey.header("type")
    if text is None:
        if "name" in row or "label" in row:
            message = Message("Enter a question type in this row, or remove the row.")
            issues.add_problem("missing_type", message, survey.sheet_name, row.number, column)
        else:
            message = Message("This row has no type and no name and is ignored. Remove it, or complete it.")
            issues.add_warning("ignored_row", message, survey.sheet_name, row.number)
        return None
    kind = parse_question_type(text)
    if kind is None:
        issues.add_problem("unknown_type", _unknown_type_message(text), survey.sheet_name, row.number, column)
    elif kind.is_kobo_only and not kind.ends:
        message = Message(
            "The type {type} works in KoboToolbox only. It is kept, but other tools will not show it.", type=text
        )
        issues.add_warning("live_only_type", message, survey.sheet_name, row.number, column)
    return kind


def _unknown_type_message(text: str) -> Message:
    if guess := suggest_question_type(text):
        return Message("{type} is not a question type. Did you mean {guess}?", type=text, guess=guess)
    return Message("{type} is not a question type. Enter one of the types of the XLSForm standard.", type=text)


def _close_group(
    kind: str, row: SheetRow, survey: SheetTable, open_groups: list[_OpenGroup], issues: IssueCollector
) -> None:
    """Ends the innermost group of that kind. What was left open inside it is reported where it begins."""
    if any(group.kind == kind for group in open_groups):
        while open_groups[-1].kind != kind:
            _report_unclosed(open_groups.pop(), survey, issues)
        open_groups.pop()
        return
    message = Message("end_{kind} ends nothing here. Remove the row, or add begin_{kind} above it.", kind=kind)
    issues.add_problem("unmatched_end", message, survey.sheet_name, row.number, survey.header("type"))
    if open_groups:
        # Most likely this row was meant to end the innermost group: one mistake is reported once.
        open_groups.pop()


def _report_unclosed(group: _OpenGroup, survey: SheetTable, issues: IssueCollector) -> None:
    message = Message("This begin_{kind} is never ended. Add a row end_{kind} after its last row.", kind=group.kind)
    issues.add_problem("unclosed_group", message, survey.sheet_name, group.row, survey.header("type"))
