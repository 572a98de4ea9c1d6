"""Check that questions have valid, unique names, and labels."""

import re

from pyxform.utils import default_is_dynamic

from fieldgate.i18n.messages import Message
from fieldgate.imports.xlsform.issues import IssueCollector
from fieldgate.imports.xlsform.parsed_form import ParsedForm
from fieldgate.imports.xlsform.question_types import QuestionType, guess_question_type
from fieldgate.imports.xlsform.questions import Question
from fieldgate.imports.xlsform.sheet_table import Place, SheetRow
from fieldgate.imports.xlsform.xml_names import invalid_name_message, is_xml_name

_RESERVED_NAME = "meta"
_AUTO_NAMED_TYPES = frozenset({"note", "audit"})
_REFERENCE = re.compile(r"\$\{[^}]*\}")
_HEADER_APPEARANCE = "label"
_DISPLAY_COLUMNS = (
    "label",
    "hint",
    "media::image",
    "media::big-image",
    "media::audio",
    "media::video",
)


def check_names(form: ParsedForm, issues: IssueCollector) -> None:
    taken = _NameRegistry()
    for question in form.questions:
        place = form.survey.place(question.row, "name")
        if question.name is not None:
            _check_name_syntax(question.name, place, issues)
            _check_name_is_unique(question, question.name, taken, place, issues)
        elif _needs_name(question):
            issues.add_problem("missing_name", Message("Give this row a name."), *place)
        if question.type.name == "audit" and question.name not in (None, "audit"):
            message = Message(
                "Remove the name, or change it to audit. No other name is allowed here."
            )
            issues.add_problem("invalid_name", message, *place)
    _check_generated_names(form, taken, issues)


def _needs_name(question: Question) -> bool:
    type_ = _probable_type(question)
    return not type_.ends and not type_.is_unknown and type_.name not in _AUTO_NAMED_TYPES


def _probable_type(question: Question) -> QuestionType:
    """The type of the question, or the one that was most likely meant if it is unknown."""
    return (
        guess_question_type(question.row.text("type") or "")
        if question.type.is_unknown
        else question.type
    )


def check_labels(form: ParsedForm, issues: IssueCollector) -> None:
    place = form.survey.place
    for question in form.questions:
        row = question.row
        if _probable_type(question).needs_label and not _is_shown_without_label(row):
            message = Message("Enter a label: without it people would see an empty question.")
            issues.add_problem("missing_label", message, *place(row, "label"))
        if "media::big-image" in row and "media::image" not in row and question.type.is_visible:
            message = Message("Enter an image as well: the big image is shown when people tap it.")
            issues.add_problem("missing_image", message, *place(row, "media::image"))
        if question.type.name == "calculate" and not _is_calculated(row):
            message = Message("Enter a calculation in this row, or remove the row.")
            issues.add_problem("missing_calculation", message, *place(row, "calculation"))


def _is_shown_without_label(row: SheetRow) -> bool:
    """Whether the row has something else to show, is not shown, or is the header of rows with `list-nolabel`."""
    return row.text("appearance") == _HEADER_APPEARANCE or any(
        key in row for key in (*_DISPLAY_COLUMNS, "calculation", "trigger")
    )


def _is_calculated(row: SheetRow) -> bool:
    """Whether the row has a calculation, or a default that is a formula."""
    return "calculation" in row or default_is_dynamic(row.text("default"), "calculate")


class _NameRegistry:
    """The first row with each name: among the rows of one group, among all repeats of the form, and anywhere."""

    def __init__(self) -> None:
        self.anywhere: dict[str, int] = {}
        self._siblings: dict[tuple[int, str], int] = {}
        self._repeats: dict[str, int] = {}
        self._by_lower_case: dict[tuple[int, str], str] = {}

    def first_row(self, question: Question, name: str) -> int:
        """The first row with this name, which may be this row."""
        first = self._siblings.setdefault((question.parent_row, name), question.row.number)
        if question.type.begins == "repeat":
            first = min(first, self._repeats.setdefault(name, question.row.number))
        return first

    def find_row(self, parent_row: int, name: str) -> int | None:
        return self._siblings.get((parent_row, name))

    def case_variant(self, question: Question, name: str) -> str:
        """The first sibling's name that is equal but for capital letters."""
        return self._by_lower_case.setdefault((question.parent_row, name.lower()), name)


def _check_generated_names(form: ParsedForm, taken: _NameRegistry, issues: IssueCollector) -> None:
    """pyxform adds a row for the other answer of or_other, and one for the count of a repeat."""
    for question in form.questions:
        count = question.row.text("repeat_count")
        if question.type.or_other:
            generated = f"{question.name}_other"
        elif question.type.begins == "repeat" and count and not _REFERENCE.fullmatch(count):
            generated = f"{question.name}_count"
        else:
            continue
        row = taken.find_row(question.parent_row, generated)
        if row is not None:
            message = Message(
                "The name {name} is also generated for row {row}. Choose another name.",
                name=generated,
                row=question.row.number,
            )
            issues.add_problem(
                "duplicate_name", message, form.survey.sheet_name, row, form.survey.header("name")
            )


def _check_name_syntax(name: str, place: Place, issues: IssueCollector) -> None:
    if not is_xml_name(name):
        issues.add_problem("invalid_name", invalid_name_message(name), *place)
    if name == _RESERVED_NAME:
        message = Message("The name {name} is reserved. Choose another name.", name=name)
        issues.add_problem("reserved_name", message, *place)


def _check_name_is_unique(
    question: Question, name: str, taken: _NameRegistry, place: Place, issues: IssueCollector
) -> None:
    row, first, other = (
        question.row.number,
        taken.first_row(question, name),
        taken.case_variant(question, name),
    )
    elsewhere = taken.anywhere.setdefault(name, row)
    if first != row:
        message = Message(
            "The name {name} is taken by row {row}. Choose another name.", name=name, row=first
        )
        issues.add_problem("duplicate_name", message, *place)
    elif elsewhere != row:
        message = Message(
            "Rows {first} and {second} in different groups are both named {name}. Formulas cannot refer to them, and"
            " some tools mix up their answers. Rename one of them.",
            first=elsewhere,
            second=row,
            name=name,
        )
        issues.add_warning("repeated_name", message, *place)
    elif other != name:
        message = Message(
            "{name} and {other} differ in capital letters only. Rename one.", name=name, other=other
        )
        issues.add_warning("similar_name", message, *place)
