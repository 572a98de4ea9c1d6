"""Check choices, the questions that use lists of choices, and external files."""

from collections.abc import Iterator
from pathlib import PurePath

from fieldgate.i18n.messages import Message
from fieldgate.imports.xlsform.choice_lists import first_rows, used_lists
from fieldgate.imports.xlsform.issues import IssueCollector
from fieldgate.imports.xlsform.parsed_form import ParsedForm
from fieldgate.imports.xlsform.question_types import EXTERNAL_TYPES, FILE_SELECT_TYPES, LIST_TYPES
from fieldgate.imports.xlsform.questions import Question
from fieldgate.imports.xlsform.sheet_table import SheetRow, SheetTable
from fieldgate.imports.xlsform.vocabulary import CHOICES, EXTERNAL_CHOICES, OSM

_FILE_SUFFIXES = (".csv", ".xml", ".geojson")
_SHOWN_TYPES = frozenset({"select_one", "select_multiple", "rank"})
_ALLOWED_SUFFIXES = [[suffix] for suffix in _FILE_SUFFIXES]


def check_selects(form: ParsedForm, issues: IssueCollector) -> None:
    lists = {kind: first_rows(form.sheets.get(kind)) for kind in (CHOICES, EXTERNAL_CHOICES, OSM)}
    for question in form.questions:
        if question.type.name not in LIST_TYPES | FILE_SELECT_TYPES | {"osm"}:
            continue
        if found := _list_issue(question, lists) or _or_other_issue(question, lists[CHOICES]):
            code, message = found
            issues.add_problem(code, message, *form.survey.place(question.row, "type"))
        elif found := _choice_filter_issue(question, lists[CHOICES]):
            code, message = found
            issues.add_problem(code, message, *form.survey.place(question.row, "choice_filter"))


def _list_issue(question: Question, lists: dict[str, dict[str, int]]) -> tuple[str, Message] | None:
    type_, list_name = question.type.name, question.type.list_name
    if type_ == "osm" and (list_name is None or not lists[OSM]):
        return None  # tags are optional
    if list_name is None:
        return "missing_choice_list", Message(
            "Name a list of choices after {type}, as in {example}.",
            type=type_,
            example=f"{type_} yes_no",
        )
    if type_ in FILE_SELECT_TYPES and PurePath(list_name).suffixes not in _ALLOWED_SUFFIXES:
        return "unknown_choice_file", Message(
            "{file} cannot contain choices. Use a .csv, .xml or .geojson file.", file=list_name
        )
    if type_ == "begin_loop" and list_name not in lists[CHOICES]:
        return _unknown_list_issue(list_name, CHOICES)
    if type_ == "select_multiple" and "${" in list_name:
        return "earlier_answers", Message(
            "Only select_one can offer earlier answers. Use select_one, or name a list of choices."
        )
    where = {"select_one_external": EXTERNAL_CHOICES, "osm": OSM}.get(type_, CHOICES)
    # Choices may also be earlier answers (`${name}`), or come from a file.
    if (
        type_ in FILE_SELECT_TYPES
        or "${" in list_name
        or list_name.endswith(_FILE_SUFFIXES)
        or list_name in lists[where]
    ):
        return None
    return _unknown_list_issue(list_name, where)


def _unknown_list_issue(list_name: str, where: str) -> tuple[str, Message]:
    return "unknown_choice_list", Message(
        "There is no list {list} in sheet {sheet}. Add it there, or correct its name here.",
        list=list_name,
        sheet=where,
    )


def _or_other_issue(question: Question, lists: dict[str, int]) -> tuple[str, Message] | None:
    if question.type.or_other and question.type.list_name not in lists:
        return "or_other_without_list", Message(
            "or_other needs a list in sheet choices. Name one, or remove or_other and ask for other answers yourself."
        )
    return None


def _choice_filter_issue(question: Question, lists: dict[str, int]) -> tuple[str, Message] | None:
    filtered = "choice_filter" in question.row
    if question.type.or_other and filtered:
        return "or_other_with_filter", Message(
            "or_other cannot be combined with a choice filter. Remove one of them."
        )
    if (
        question.type.name == "select_one_external"
        and not filtered
        and question.type.list_name not in lists
    ):
        return "missing_choice_filter", Message(
            "Enter a choice filter: select_one_external needs one."
        )
    return None


def check_choices(form: ParsedForm, issues: IssueCollector) -> None:
    table = form.choices
    if table is None:
        return
    labelled = {question.type.list_name for question in form.questions if question.type.or_other}
    labelled &= {row.text("list_name") for row in table.filled_rows() if _has_translated_label(row)}
    used = used_lists(form)
    unlabelled = _lists_without_labels(form, table)
    for list_name, number in unlabelled.items():
        message = Message(
            "No choice of the list {list} has a label, and ODK cannot open such a form. Enter the texts that people"
            " see.",
            list=list_name,
        )
        issues.add_problem(
            "missing_choice_label", message, table.sheet_name, number, table.header("label")
        )
    for row in table.filled_rows():
        _check_complete(
            table, row, labelled, used, issues, warns=row.text("list_name") not in unlabelled
        )
    if not form.is_enabled("allow_choice_duplicates"):
        _check_duplicates(table, used, issues)
    _check_spaces(form, table, issues)
    if not any(
        each.code == "unknown_choice_list" for each in issues.problems
    ):  # one of them may be meant
        _check_unused(table, used, issues)


def _lists_without_labels(form: ParsedForm, table: SheetTable) -> dict[str, int]:
    """The lists that people would see without any text or picture, with the rows of their first choices."""
    shown = {
        question.type.list_name for question in form.questions if question.type.name in _SHOWN_TYPES
    }
    with_label = {
        row.text("list_name") for row in table.filled_rows() if "label" in row or _has_media(row)
    }
    return {
        name: row
        for name, row in first_rows(table).items()
        if name in shown and name not in with_label
    }


def _check_complete(
    table: SheetTable,
    row: SheetRow,
    labelled: set[str | None],
    used: set[str],
    issues: IssueCollector,
    *,
    warns: bool,
) -> None:
    """Choices of a list with a translated "Other" need a label themselves. A list that is not used is not compiled."""
    if not any(key in row for key in ("list_name", "name", "label")):
        return  # a note of the author, which nothing reads
    if "list_name" not in row:
        message = Message("Enter the name of the list that this choice belongs to.")
        issues.add_warning("missing_list_name", message, *table.place(row, "list_name"))
        return  # no question can use it
    if "name" not in row:
        message = Message("Give this choice a name: answers are stored under this name.")
        report = issues.add_problem if row.text("list_name") in used else issues.add_warning
        report("missing_choice_name", message, *table.place(row, "name"))
    if (
        warns
        and "label" not in row
        and not (_has_media(row) and row.text("list_name") not in labelled)
    ):
        message = Message("This choice has no label. Enter the text that people see.")
        report = issues.add_problem if row.text("list_name") in labelled else issues.add_warning
        report("missing_choice_label", message, *table.place(row, "label"))


def _has_translated_label(row: SheetRow) -> bool:
    return any(cell.column.key == "label" and cell.column.language for cell in row.cells)


def _has_media(row: SheetRow) -> bool:
    """Whether the choice has media, which can replace a label."""
    return any(cell.column.key.startswith("media::") for cell in row.cells)


def _check_duplicates(table: SheetTable, used: set[str], issues: IssueCollector) -> None:
    first: dict[tuple[str, str], int] = {}
    for row in table.filled_rows():
        list_name, name = row.text("list_name"), row.text("name")
        if list_name is None or name is None:
            continue
        earlier = first.setdefault((list_name, name), row.number)
        if earlier != row.number:
            message = Message(
                "The name {name} is taken by row {row}. Choose another name.",
                name=name,
                row=earlier,
            )
            report = issues.add_problem if list_name in used else issues.add_warning
            report("duplicate_choice", message, *table.place(row, "name"))


def _check_spaces(form: ParsedForm, table: SheetTable, issues: IssueCollector) -> None:
    """The answers of a select_multiple are stored in one text, separated by spaces."""
    multiple = {
        question.type.list_name
        for question in form.questions
        if question.type.name == "select_multiple"
    }
    for row in table.filled_rows():
        name = row.text("name") or ""
        if " " in name and row.text("list_name") in multiple:
            message = Message(
                "Remove the spaces from {name}: this list allows several answers.", name=name
            )
            issues.add_problem("choice_name_with_space", message, *table.place(row, "name"))


def _check_unused(table: SheetTable, used: set[str], issues: IssueCollector) -> None:
    for list_name, row in first_rows(table).items():
        if list_name not in used:
            message = Message(
                "No question uses the list {list}. Remove it, or name it in a question.",
                list=list_name,
            )
            issues.add_warning(
                "unused_choice_list", message, table.sheet_name, row, table.header("list_name")
            )


def check_externals(form: ParsedForm, issues: IssueCollector) -> None:
    """Declarations of external files, and their names."""
    sheet = form.survey.sheet_name
    repeats = {
        question.row.number for question in form.questions if question.type.begins == "repeat"
    }
    for question in form.questions:
        if question.type.name in EXTERNAL_TYPES and question.parent_row in repeats:
            message = Message(
                "{type} is not allowed in a repeat. Move the row out of it.",
                type=question.type.name,
            )
            issues.add_problem(
                "external_in_repeat",
                message,
                sheet,
                question.row.number,
                form.survey.header("type"),
            )
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
            message = Message(
                "The name {name} is taken by row {row}. Choose another name.",
                name=name,
                row=earlier,
            )
        elif name in lists and earlier == row:
            message = Message(
                "The name {name} is taken by a list of choices. Choose another name.", name=name
            )
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
