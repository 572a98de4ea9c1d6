"""The rows of a survey in their groups: what each row asks, what it is called and where it stands."""

from collections.abc import Iterator

import msgspec

from fieldgate.i18n.messages import Message
from fieldgate.imports.xlsform.issues import Findings
from fieldgate.imports.xlsform.question_types import QuestionType, nearest, parse
from fieldgate.imports.xlsform.sheet_table import Row, Table

YES = frozenset({"yes", "true", "true()"})
NO = frozenset({"no", "false", "false()"})

MOST_NESTED = 100  # groups in groups: a compiler calls itself for each of them

TOP = 0  # the number of the container that is the form itself; a group is numbered by its row


class Question(msgspec.Struct, frozen=True):
    """A row with a type that is understood. `path` names the groups around it, `inside` numbers the innermost."""

    row: Row
    type: QuestionType
    name: str | None
    path: tuple[str, ...]
    inside: int


class _Open(msgspec.Struct, frozen=True):
    kind: str
    name: str
    row: int


def outline(survey: Table, findings: Findings) -> list[Question]:
    """The questions and groups in order; rows that are none of these become problems or warnings."""
    questions: list[Question] = []
    around: list[_Open] = []
    for row in active(survey):
        kind = _type_of(row, survey, findings)
        if kind is None:
            continue
        if kind.ends:
            _close(kind.ends, row, survey, around, findings)
        name = None if kind.ends else row.text("name")
        path = tuple(group.name for group in around)
        questions.append(Question(row, kind, name, path, around[-1].row if around else TOP))
        if kind.begins:
            around.append(_Open(kind.begins, name or "", row.number))
            if len(around) == MOST_NESTED + 1:
                message = Message("Groups are nested too deeply here. Keep within {count} levels.", count=MOST_NESTED)
                findings.problem("deep_nesting", message, survey.sheet, row.number, survey.header("type"))
    for group in around:
        _left_open(group, survey, findings)
    return questions


def active(survey: Table) -> Iterator[Row]:
    """The filled rows, without those that the author has switched off."""
    return (row for row in survey.filled() if (row.text("disabled") or "").lower() not in YES)


def _type_of(row: Row, survey: Table, findings: Findings) -> QuestionType | None:
    text = row.text("type")
    column = survey.header("type")
    if text is None:
        if "name" in row or "label" in row:
            message = Message("Enter a question type in this row, or remove the row.")
            findings.problem("missing_type", message, survey.sheet, row.number, column)
        else:
            message = Message("This row has no type and no name and is ignored. Remove it, or complete it.")
            findings.warning("ignored_row", message, survey.sheet, row.number)
        return None
    kind = parse(text)
    if kind is None:
        findings.problem("unknown_type", _unknown_type(text), survey.sheet, row.number, column)
    elif kind.only_live and not kind.ends:
        message = Message(
            "The type {type} works in KoboToolbox only. It is kept, but other tools will not show it.", type=text
        )
        findings.warning("live_only_type", message, survey.sheet, row.number, column)
    return kind


def _unknown_type(text: str) -> Message:
    if guess := nearest(text):
        return Message("{type} is not a question type. Did you mean {guess}?", type=text, guess=guess)
    return Message("{type} is not a question type. Enter one of the types of the XLSForm standard.", type=text)


def _close(kind: str, row: Row, survey: Table, around: list[_Open], findings: Findings) -> None:
    """Ends the innermost group of that kind. What was left open inside it is reported where it begins."""
    if any(group.kind == kind for group in around):
        while around[-1].kind != kind:
            _left_open(around.pop(), survey, findings)
        around.pop()
        return
    message = Message("end_{kind} ends nothing here. Remove the row, or add begin_{kind} above it.", kind=kind)
    findings.problem("unmatched_end", message, survey.sheet, row.number, survey.header("type"))
    if around:
        # Most likely this row was meant to end the innermost group: one mistake is reported once.
        around.pop()


def _left_open(group: _Open, survey: Table, findings: Findings) -> None:
    message = Message("This begin_{kind} is never ended. Add a row end_{kind} after its last row.", kind=group.kind)
    findings.problem("unclosed_group", message, survey.sheet, group.row, survey.header("type"))
