"""Names and labels of questions: there, well formed, and different from their neighbours'."""

import re

from pyxform.utils import default_is_dynamic

from fieldgate.i18n.messages import Message
from fieldgate.imports.xlsform.issues import Findings
from fieldgate.imports.xlsform.parsed_form import Draft
from fieldgate.imports.xlsform.questions import Question
from fieldgate.imports.xlsform.sheet_table import Row
from fieldgate.imports.xlsform.xml_names import is_xml_name

ROOT = "data"
_RESERVED = "meta"
_NAMED_BY_ITSELF = frozenset({"note", "audit"})
_REFERENCE = re.compile(r"\$\{[^}]*\}")
_SHOWN = ("label", "hint", "media::image", "media::big-image", "media::audio", "media::video")


def check_names(draft: Draft, findings: Findings) -> None:
    sheet, column = draft.survey.sheet, draft.survey.header("name")
    taken, root = _Taken(), draft.settings.get("name", ROOT)
    for question in draft.questions:
        if question.name is not None:
            _check_form_of_name(question, question.name, root, sheet, column, findings)
            _check_others(question, question.name, taken, sheet, column, findings)
        elif not question.type.ends and question.type.name not in _NAMED_BY_ITSELF:
            findings.problem("missing_name", Message("Give this row a name."), sheet, question.row.number, column)
        if question.type.name == "audit" and question.name not in (None, "audit"):
            message = Message("Remove the name, or call it audit: it cannot have another one.")
            findings.problem("invalid_name", message, sheet, question.row.number, column)
    _check_made_names(draft, taken, findings)


def check_labels(draft: Draft, findings: Findings) -> None:
    sheet = draft.survey.sheet
    for question in draft.questions:
        row = question.row
        if question.type.needs_label and "calculation" not in row and not any(key in row for key in _SHOWN):
            message = Message("Enter a label: without it people would see an empty question.")
            findings.problem("missing_label", message, sheet, row.number, draft.survey.header("label"))
        if "media::big-image" in row and "media::image" not in row and question.type.is_shown:
            message = Message("Enter an image as well: the big one is shown when people touch it.")
            findings.problem("missing_image", message, sheet, row.number, draft.survey.header("media::image"))
        if question.type.name == "calculate" and not _is_calculated(row):
            message = Message("Enter a calculation in this row, or remove the row.")
            findings.problem("missing_calculation", message, sheet, row.number, draft.survey.header("calculation"))


def _is_calculated(row: Row) -> bool:
    """A default that is a formula does as well."""
    return "calculation" in row or default_is_dynamic(row.text("default"), "calculate")


class _Taken:
    """Which row took a name first: among the rows of one group, and among all repeats of the form."""

    def __init__(self) -> None:
        self._siblings: dict[tuple[int, str], int] = {}
        self._repeats: dict[str, int] = {}
        self._in_small_letters: dict[tuple[int, str], str] = {}

    def by_row(self, question: Question, name: str) -> int:
        """The row that had the name before, or this row itself."""
        first = self._siblings.setdefault((question.inside, name), question.row.number)
        if question.type.begins == "repeat":
            first = min(first, self._repeats.setdefault(name, question.row.number))
        return first

    def by_name(self, inside: int, name: str) -> int | None:
        return self._siblings.get((inside, name))

    def in_other_letters(self, question: Question, name: str) -> str:
        """The sibling's name that differs in capital letters at most."""
        return self._in_small_letters.setdefault((question.inside, name.lower()), name)


def _check_made_names(draft: Draft, taken: _Taken, findings: Findings) -> None:
    """A compiler adds rows of its own: one for other answers, one for how often something is repeated."""
    for question in draft.questions:
        count = question.row.text("repeat_count")
        if question.type.or_other:
            made = f"{question.name}_other"
        elif question.type.begins == "repeat" and count and not _REFERENCE.fullmatch(count):
            made = f"{question.name}_count"
        else:
            continue
        row = taken.by_name(question.inside, made)
        if row is not None:
            message = Message(
                "The name {name} is made for row {row} as well. Choose another name.",
                name=made,
                row=question.row.number,
            )
            findings.problem("duplicate_name", message, draft.survey.sheet, row, draft.survey.header("name"))


def _check_form_of_name(question: Question, name: str, root: str, sheet: str, column: str, findings: Findings) -> None:
    row = question.row.number
    if not is_xml_name(name):
        message = Message(
            "{name} cannot be a name. Begin with a letter or _ and use letters, digits, _, - and . only.", name=name
        )
        findings.problem("invalid_name", message, sheet, row, column)
    if name == _RESERVED or (question.type.begins == "repeat" and name == root):
        message = Message("The name {name} is reserved. Choose another name.", name=name)
        findings.problem("reserved_name", message, sheet, row, column)


def _check_others(question: Question, name: str, taken: _Taken, sheet: str, column: str, findings: Findings) -> None:
    row, first, other = question.row.number, taken.by_row(question, name), taken.in_other_letters(question, name)
    if first != row:
        message = Message("The name {name} is taken by row {row}. Choose another name.", name=name, row=first)
        findings.problem("duplicate_name", message, sheet, row, column)
    elif other != name:
        message = Message("{name} and {other} differ in capital letters only. Rename one.", name=name, other=other)
        findings.warning("similar_name", message, sheet, row, column)
