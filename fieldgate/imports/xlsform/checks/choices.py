"""Lists of choices, and the questions that offer them."""

import re
from pathlib import PurePath

from fieldgate.i18n.messages import Message
from fieldgate.imports.xlsform.issues import Findings
from fieldgate.imports.xlsform.parsed_form import Draft
from fieldgate.imports.xlsform.question_types import FROM_FILE, FROM_LIST
from fieldgate.imports.xlsform.questions import Question
from fieldgate.imports.xlsform.sheet_table import Row, Table
from fieldgate.imports.xlsform.vocabulary import CHOICES, EXTERNAL_CHOICES, OSM

_FILES = (".csv", ".xml", ".geojson")
_SUFFIXES = [[suffix] for suffix in _FILES]
_WORD = re.compile(r"[\w.-]+")


def check_selects(draft: Draft, findings: Findings) -> None:
    lists = {kind: choice_lists(draft.sheets.get(kind)) for kind in (CHOICES, EXTERNAL_CHOICES, OSM)}
    for question in draft.questions:
        if question.type.name not in FROM_LIST | FROM_FILE | {"osm"}:
            continue
        if found := _trouble(question, lists) or _trouble_with_other(question, lists[CHOICES]):
            code, message = found
            findings.problem(code, message, draft.survey.sheet, question.row.number, draft.survey.header("type"))
        elif found := _trouble_with_filter(question, lists[CHOICES]):
            code, message = found
            column = draft.survey.header("choice_filter")
            findings.problem(code, message, draft.survey.sheet, question.row.number, column)


def _trouble(question: Question, lists: dict[str, dict[str, int]]) -> tuple[str, Message] | None:
    kind, wanted = question.type.name, question.type.list_name
    if kind == "osm" and (wanted is None or not lists[OSM]):
        return None  # tags are optional
    if wanted is None:
        return "missing_choice_list", Message("Name a list of choices after {type}, as in {type} yes_no.", type=kind)
    if kind in FROM_FILE and PurePath(wanted).suffixes not in _SUFFIXES:
        return "unknown_choice_file", Message(
            "{file} cannot hold choices. Name a .csv, .xml or .geojson file.", file=wanted
        )
    if kind == "begin_loop" and wanted not in lists[CHOICES]:
        return _unknown_list(wanted, CHOICES)
    if kind == "select_multiple" and "${" in wanted:
        return "earlier_answers", Message(
            "Answers given before can be offered by select_one only. Use it, or name a list of choices."
        )
    where = {"select_one_external": EXTERNAL_CHOICES, "osm": OSM}.get(kind, CHOICES)
    # Choices may also be the answers given before (`${name}`), or come with a file.
    if kind in FROM_FILE or "${" in wanted or wanted.endswith(_FILES) or wanted in lists[where]:
        return None
    return _unknown_list(wanted, where)


def _unknown_list(wanted: str, where: str) -> tuple[str, Message]:
    return "unknown_choice_list", Message(
        "There is no list {list} in sheet {sheet}. Add it there, or correct its name here.", list=wanted, sheet=where
    )


def _trouble_with_other(question: Question, lists: dict[str, int]) -> tuple[str, Message] | None:
    if question.type.or_other and question.type.list_name not in lists:
        return "or_other_without_list", Message(
            "or_other needs a list in sheet choices. Name one, or remove or_other and ask for other answers yourself."
        )
    return None


def _trouble_with_filter(question: Question, lists: dict[str, int]) -> tuple[str, Message] | None:
    filtered = "choice_filter" in question.row
    if question.type.or_other and filtered:
        return "or_other_with_filter", Message("or_other and a choice filter exclude each other. Remove one of them.")
    if question.type.name == "select_one_external" and not filtered and question.type.list_name not in lists:
        return "missing_choice_filter", Message("Enter a choice filter: select_one_external cannot do without one.")
    return None


def check_choices(draft: Draft, findings: Findings) -> None:
    table = draft.choices
    if table is None:
        return
    labelled = {question.type.list_name for question in draft.questions if question.type.or_other}
    labelled &= {row.text("list_name") for row in table.filled() if _has_translated_label(row)}
    for row in table.filled():
        _check_complete(table, row, labelled, findings)
    if not draft.allows("allow_choice_duplicates"):
        _check_duplicates(table, findings)
    _check_spaces(draft, table, findings)
    _check_unused(draft, table, findings)


def _check_complete(table: Table, row: Row, labelled: set[str | None], findings: Findings) -> None:
    """Choices to which a translated "Other" is added must be translated themselves."""
    if not any(key in row for key in ("list_name", "name", "label")):
        return  # a remark of the author's, which nothing reads
    if "list_name" not in row:
        message = Message("Enter the name of the list that this choice belongs to.")
        findings.warning("missing_list_name", message, table.sheet, row.number, table.header("list_name"))
        return  # nothing can offer it
    if "name" not in row:
        message = Message("Give this choice a name: it is what answers are stored as.")
        findings.problem("missing_choice_name", message, table.sheet, row.number, table.header("name"))
    if "label" not in row and not (_has_media(row) and row.text("list_name") not in labelled):
        message = Message("This choice has no label. Enter what people should read.")
        found = findings.problem if row.text("list_name") in labelled else findings.warning
        found("missing_choice_label", message, table.sheet, row.number, table.header("label"))


def _has_translated_label(row: Row) -> bool:
    return any(cell.column.key == "label" and cell.column.language for cell in row.cells)


def _has_media(row: Row) -> bool:
    """A picture says as much as a label."""
    return any(cell.column.key.startswith("media::") for cell in row.cells)


def _check_duplicates(table: Table, findings: Findings) -> None:
    first: dict[tuple[str, str], int] = {}
    for row in table.filled():
        listed, name = row.text("list_name"), row.text("name")
        if listed is None or name is None:
            continue
        earlier = first.setdefault((listed, name), row.number)
        if earlier != row.number:
            message = Message("The name {name} is taken by row {row}. Choose another name.", name=name, row=earlier)
            findings.problem("duplicate_choice", message, table.sheet, row.number, table.header("name"))


def _check_spaces(draft: Draft, table: Table, findings: Findings) -> None:
    """Several answers are stored in one text, with spaces between them."""
    several = {question.type.list_name for question in draft.questions if question.type.name == "select_multiple"}
    for row in table.filled():
        name = row.text("name") or ""
        if " " in name and row.text("list_name") in several:
            message = Message("Remove the spaces from {name}: this list allows several answers.", name=name)
            findings.problem("choice_name_with_space", message, table.sheet, row.number, table.header("name"))


def _check_unused(draft: Draft, table: Table, findings: Findings) -> None:
    """A list is used when any cell of the survey mentions it: matrices and lookups name theirs in other columns."""
    used = {word for row in draft.survey.filled() for cell in row.cells for word in _WORD.findall(cell.text)}
    used |= {question.type.list_name for question in draft.questions if question.type.list_name}
    for listed, row in choice_lists(table).items():
        if listed not in used:
            message = Message("No question uses the list {list}. Remove it, or name it in a question.", list=listed)
            findings.warning("unused_choice_list", message, table.sheet, row, table.header("list_name"))


def choice_lists(table: Table | None) -> dict[str, int]:
    """Each list and the row of its first choice."""
    lists: dict[str, int] = {}
    for row in table.filled() if table else ():
        if listed := row.text("list_name"):
            lists.setdefault(listed, row.number)
    return lists
