"""Check the entities sheet, and the questions that save to entities."""

from pyxform.constants import ENTITIES_RESERVED_PREFIX

from fieldgate.i18n.messages import Message
from fieldgate.imports.xlsform.issues import IssueCollector
from fieldgate.imports.xlsform.parsed_form import ParsedForm
from fieldgate.imports.xlsform.questions import Question
from fieldgate.imports.xlsform.sheet_table import SheetRow, SheetTable
from fieldgate.imports.xlsform.vocabulary import ENTITIES, ENTITY_COLUMNS
from fieldgate.imports.xlsform.xml_names import is_xml_name

_RESERVED_NAMES = frozenset({"name", "label"})


def check_entities(form: ParsedForm, issues: IssueCollector) -> None:
    table = form.sheets.get(ENTITIES)
    first: dict[str, int] = {}
    for row in table.filled_rows() if table else ():
        if table:
            _check_declaration(table, row, issues)
            _check_list_name(table, row, first, issues)
    _check_save_to(form, first, issues)


def _check_declaration(table: SheetTable, row: SheetRow, issues: IssueCollector) -> None:
    """A row without an entity_id creates an entity, which needs a label; a row with one updates an entity."""
    for cell in row.cells:
        if cell.column.key not in ENTITY_COLUMNS:
            message = Message(
                "Entities have no column {column}. Correct its name, or remove it.",
                column=cell.column.header,
            )
            issues.add_problem(
                "unknown_entity_column", message, table.sheet_name, row.number, cell.column.header
            )
    if "entity_id" not in row and "update_if" in row:
        message = Message("Enter an entity_id: it says which entity to update.")
        issues.add_problem("missing_entity_id", message, *table.place(row, "entity_id"))
    elif "entity_id" not in row and "label" not in row:
        message = Message("Enter a label: a new entity needs one.")
        issues.add_problem("missing_entity_label", message, *table.place(row, "label"))
    elif "entity_id" in row and "create_if" in row and "update_if" not in row:
        message = Message("Enter update_if: a row with create_if and entity_id needs it.")
        issues.add_problem("missing_update_if", message, *table.place(row, "update_if"))


def _check_list_name(
    table: SheetTable, row: SheetRow, first: dict[str, int], issues: IssueCollector
) -> None:
    place = table.place(row, "dataset" if table.has_column("dataset") else "list_name")
    name = row.text("list_name") or row.text("dataset")
    if name is None:
        message = Message("Enter the name of the list that the entity belongs to.")
        issues.add_problem("missing_entity_list", message, *place)
        return
    if name.startswith(ENTITIES_RESERVED_PREFIX) or "." in name or not is_xml_name(name):
        message = Message(
            "{name} cannot name a list of entities. Use letters, digits, _ and -, and begin with a letter or one _.",
            name=name,
        )
        issues.add_problem("invalid_entity_list", message, *place)
    earlier = first.setdefault(name, row.number)
    if earlier != row.number:
        message = Message(
            "The name {name} is taken by row {row}. Choose another name.", name=name, row=earlier
        )
        issues.add_problem("duplicate_entity_list", message, *place)


def _check_save_to(form: ParsedForm, lists: dict[str, int], issues: IssueCollector) -> None:
    first: dict[tuple[str, str], int] = {}
    for question in form.questions:
        text = question.row.text("save_to")
        if found := _save_to_issue(question, text, lists, first) if text else None:
            code, message = found
            issues.add_problem(code, message, *form.survey.place(question.row, "save_to"))


def _save_to_issue(
    question: Question, text: str, lists: dict[str, int], first: dict[tuple[str, str], int]
) -> tuple[str, Message] | None:
    list_name, sign, name = text.rpartition("#")
    if not lists:
        return "missing_entities", Message(
            "save_to needs a list of entities. Add a sheet entities that declares one."
        )
    if not sign and len(lists) > 1:
        return "ambiguous_save_to", Message(
            "There are several lists of entities. Name one of them, as in {example}.",
            example=f"list#{name}",
        )
    list_name = list_name if sign else next(iter(lists))
    if list_name not in lists:
        return "unknown_entity_list", Message(
            "There is no list {list} in sheet entities. Add it there, or correct its name here.",
            list=list_name,
        )
    if question.type.begins or question.type.ends:
        return "save_to_of_group", Message(
            "A group cannot be saved to an entity. Move save_to to one of its questions."
        )
    if (
        name.lower() in _RESERVED_NAMES
        or name.startswith(ENTITIES_RESERVED_PREFIX)
        or not is_xml_name(name)
    ):
        return "invalid_save_to", Message(
            "{name} cannot name a property. Use letters, digits, _, - and ., begin with a letter or one _, avoid name "
            "and label.",
            name=name,
        )
    earlier = first.setdefault((list_name, name), question.row.number)
    if earlier != question.row.number:
        return "duplicate_save_to", Message(
            "The name {name} is taken by row {row}. Choose another name.", name=name, row=earlier
        )
    return None
