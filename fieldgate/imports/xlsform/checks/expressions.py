"""Check references to other questions, triggers, and the syntax of formulas."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from fieldgate.i18n.messages import Message, PluralMessage
from fieldgate.imports.file_text import truncate
from fieldgate.imports.xlsform.checks.loops import count_group_copies
from fieldgate.imports.xlsform.checks.xml import undeclared_prefix_message
from fieldgate.imports.xlsform.issues import IssueCollector
from fieldgate.imports.xlsform.parsed_form import ParsedForm
from fieldgate.imports.xlsform.question_types import (
    FILE_SELECT_TYPES,
    LIST_TYPES,
    TYPES_WITHOUT_NODE,
    QuestionType,
)
from fieldgate.imports.xlsform.questions import Question, active_rows
from fieldgate.imports.xlsform.sheet_table import FIRST_DATA_ROW, Cell, SheetRow, SheetTable
from fieldgate.imports.xlsform.vocabulary import (
    CHOICES,
    ENTITIES,
    EXPRESSION_COLUMNS,
    SETTINGS,
    TRANSLATABLE_COLUMNS,
)
from fieldgate.imports.xlsform.xml_names import declared_prefixes
from fieldgate.imports.xlsform.xpath.expressions import (
    SyntaxMistake,
    find_references,
    parse_expression,
)

_DATE = re.compile(r"\d{4}-\d\d-\d\d(?: \d\d:\d\d:\d\d)?")  # how the reader writes dates
_ROUND_REFERENCE = re.compile(r"\$\(([^()]*)\)")
_CURLY_QUOTES = re.compile("[‘’‚‛“”„‟«»´`]")
_MAX_SHOWN_CHARS = 31
_EMPTY_REFERENCE = "${}"
_FILTERABLE_TYPES = LIST_TYPES | FILE_SELECT_TYPES
_BUILTIN_NAMES = frozenset({"instanceID"})
_SETTING_EXPRESSIONS = frozenset({"instance_name"})
_ENTITY_EXPRESSIONS = frozenset({"label", "create_if", "update_if", "entity_id"})


def check_references(form: ParsedForm, issues: IssueCollector) -> None:
    """A name that is used in two groups, or in a loop, is valid but cannot be referred to."""
    names = _count_names(form)
    copies = count_group_copies(form)
    looped = {question.name for question in form.questions if copies[question.parent_row] > 1}
    without_node = {
        question.name for question in form.questions if question.type.name in TYPES_WITHOUT_NODE
    }
    for table, row, cell in _reference_cells(form):
        found = find_references(cell.text)
        place = (table.sheet_name, row.number, cell.column.header)
        for text in found.malformed:
            if text == _EMPTY_REFERENCE and cell.column.key in TRANSLATABLE_COLUMNS:
                continue  # shown as it is
            message = Message(
                "{reference} is not a reference. Write ${{name}} with the name of a question.",
                reference=text,
            )
            issues.add_problem("broken_reference", message, *place)
        for name in dict.fromkeys(found.names):
            if name in without_node and name not in names:
                message = Message(
                    "{name} has no answer to refer to. Remove the reference.", name=name
                )
                issues.add_problem("reference_without_answer", message, *place)
            elif name not in names and name not in _BUILTIN_NAMES:
                message = Message(
                    "No question is named {name}. Correct the reference, or add the question.",
                    name=name,
                )
                issues.add_problem("unknown_reference", message, *place)
            elif name in looped:
                message = Message(
                    "{name} is asked for each choice of a loop, so that it is unclear which answer is meant. Refer to a"
                    " question outside the loop.",
                    name=name,
                )
                issues.add_problem("ambiguous_reference", message, *place)
            elif names[name] > 1:
                message = PluralMessage(
                    "{count} question is named {name}. Rename it, so that it is clear which is meant.",
                    "{count} questions are named {name}. Rename them, so that it is clear which is meant.",
                    names[name],
                    name=name,
                )
                issues.add_problem("ambiguous_reference", message, *place)


def _count_names(form: ParsedForm) -> Counter[str]:
    """In how many groups each name is used. Rows without a type count: they have another problem already."""
    with_node = (
        question for question in form.questions if question.type.name not in TYPES_WITHOUT_NODE
    )
    names = Counter(
        name for name, _ in {(question.name, question.parent_row) for question in with_node} if name
    )
    parsed = {question.row.number for question in form.questions}
    for row in active_rows(form.survey):
        name = row.text("name")
        if name and row.number not in parsed:
            names.setdefault(name, 1)
    unnamed = {
        question.row.number
        for question in form.questions
        if question.type.name == "note" and not question.name
    }
    for place, row in enumerate(form.survey.rows, FIRST_DATA_ROW):
        if row.number in unnamed:
            names[f"generated_note_name_{place}"] = 1  # as pyxform names it
    return names


def check_expressions(form: ParsedForm, issues: IssueCollector) -> None:
    prefixes = declared_prefixes(form.namespaces)
    for table, row, cell in _expression_cells(form):
        place = (table.sheet_name, row.number, cell.column.header)
        if find_references(cell.text).malformed:
            continue  # reported already
        expression = parse_expression(cell.text, prefixes)
        if expression.mistake:
            issues.add_problem(
                "broken_expression", _mistake_message(cell.text, expression.mistake), *place
            )
        for prefix in expression.undeclared_prefixes if not expression.mistake else ():
            issues.add_warning("undeclared_prefix", undeclared_prefix_message(prefix), *place)
        for name in expression.unknown_functions:
            message = Message("{name} is not a known function. Check its spelling.", name=name)
            issues.add_warning("unknown_function", message, *place)


def _mistake_message(text: str, mistake: SyntaxMistake) -> Message:
    """Where the formula cannot be read, and what has probably happened."""
    position = mistake.position + 1
    if mistake.missing:
        message = Message(
            "{word} at character {position} of this formula is never closed. Add {value} where it should end.",
            word=text[mistake.position],
            position=position,
            value=mistake.missing,
        )
    elif mistake.position >= len(text):
        message = Message(
            "This formula ends too early: something is missing after its last character."
        )
    else:
        message = Message(
            "This formula cannot be read from character {position} on: {value}. Check its brackets, quotes and"
            " operators.",
            position=position,
            value=truncate(text[mistake.position :], _MAX_SHOWN_CHARS),
        )
    hint = _hint(text)
    return Message("{error} {hint}", error=message, hint=hint) if hint else message


def _hint(text: str) -> Message | None:
    if _DATE.fullmatch(text):
        return Message(
            "The spreadsheet has made a date of it: format the cell as text, and enter the formula again."
        )
    if wrong := _ROUND_REFERENCE.search(text):
        return Message(
            "Write {value} instead of {word}.", value=f"${{{wrong[1].strip()}}}", word=wrong[0]
        )
    if _CURLY_QUOTES.search(text):
        return Message(
            "Write straight quotation marks instead of curly ones; around a text with an apostrophe, write double ones."
        )
    return None


def _reference_cells(form: ParsedForm) -> Iterator[tuple[SheetTable, SheetRow, Cell]]:
    """Cells that may contain references: not names, and in choices only translatable columns."""
    for row in active_rows(form.survey):
        for cell in row.cells if "type" in row else ():
            if "${" in cell.text and cell.column.known and cell.column.key != "name":
                yield form.survey, row, cell
    for kind in (CHOICES, SETTINGS, ENTITIES):
        table = form.sheets.get(kind)
        for row in table.filled_rows() if table else ():
            for cell in row.cells:
                if (
                    table
                    and "${" in cell.text
                    and (kind != CHOICES or cell.column.key in TRANSLATABLE_COLUMNS)
                ):
                    yield table, row, cell


def _expression_cells(form: ParsedForm) -> Iterator[tuple[SheetTable, SheetRow, Cell]]:
    """Formulas that have an effect. A column that does not apply to the type of its row is ignored."""
    for question in form.questions:
        for cell in question.row.cells:
            if cell.column.key in EXPRESSION_COLUMNS and _applies_to(
                cell.column.key, question.type
            ):
                yield form.survey, question.row, cell
    if settings := form.sheets.get(SETTINGS):
        for row in islice(settings.filled_rows(), 1):
            yield from (
                (settings, row, cell)
                for cell in row.cells
                if cell.column.key in _SETTING_EXPRESSIONS
            )
    if entities := form.sheets.get(ENTITIES):
        for row in entities.filled_rows():
            yield from (
                (entities, row, cell)
                for cell in row.cells
                if cell.column.key in _ENTITY_EXPRESSIONS
            )


def _applies_to(key: str, type_: QuestionType) -> bool:
    if key == "choice_filter":
        return type_.name in _FILTERABLE_TYPES or type_.is_unknown
    if key == "repeat_count":
        return type_.begins == "repeat" or type_.is_unknown
    return not type_.ends


def check_triggers(form: ParsedForm, issues: IssueCollector) -> None:
    """The questions whose answers start a calculation. `check_references` reports unknown ones."""
    groups = {question.name for question in form.questions if question.type.begins}
    asked = {question.name: question for question in form.questions if not question.type.begins}
    for question in form.questions:
        text, place = question.row.text("trigger"), form.survey.place(question.row, "trigger")
        if text is None and question.type.name == "background-geopoint":
            message = Message(
                "Enter a trigger such as ${name}: the question whose answer starts recording the location."
            )
            issues.add_problem("missing_trigger", message, *place)
        elif text and (
            "${" not in text
            or any(len(find_references(part).names) > 1 for part in text.split(","))
        ):
            message = Message(
                "Write the trigger as ${name}. Separate several triggers with commas."
            )
            issues.add_problem("broken_trigger", message, *place)
        for name in find_references(text or "").names:
            if name in groups and name not in asked:
                message = Message(
                    "{name} is a group. Only the answer to a question can be a trigger.", name=name
                )
                issues.add_problem("group_as_trigger", message, *place)
            elif name in asked and _is_hidden(asked[name]):
                message = Message(
                    "{name} is not shown to people, so it cannot be a trigger. Choose a question that they answer.",
                    name=name,
                )
                issues.add_problem("hidden_trigger", message, *place)


def _is_hidden(question: Question) -> bool:
    """Whether the question is only calculated: pyxform does not allow such a trigger."""
    row = question.row
    is_calculated = "calculation" in row or "trigger" in row
    return question.type.name == "calculate" or (
        is_calculated and "label" not in row and "hint" not in row
    )
