"""Cells that speak of other questions: whether those exist, and whether the formula can be read."""

from collections import Counter
from collections.abc import Iterator
from itertools import islice

from fieldgate.i18n.messages import Message
from fieldgate.imports.xlsform.checks.loops import copies_of_groups
from fieldgate.imports.xlsform.issues import Findings
from fieldgate.imports.xlsform.parsed_form import Draft
from fieldgate.imports.xlsform.question_types import FROM_FILE, FROM_LIST, WITHOUT_NODE, QuestionType
from fieldgate.imports.xlsform.questions import NO, YES, active
from fieldgate.imports.xlsform.sheet_table import FIRST_ROW, Cell, Row, Table
from fieldgate.imports.xlsform.vocabulary import CHOICES, ENTITIES, EXPRESSIONS, SETTINGS, TRANSLATABLE
from fieldgate.imports.xlsform.xml_names import declared_prefixes
from fieldgate.imports.xlsform.xpath.expressions import examine, references

_EMPTY = "${}"
_FILTERED = FROM_LIST | FROM_FILE
_PLAIN_ANSWERS = YES | NO
_ALWAYS_THERE = frozenset({"instanceID"})
_SETTING_EXPRESSIONS = frozenset({"instance_name"})
_ENTITY_EXPRESSIONS = frozenset({"label", "create_if", "update_if", "entity_id"})


def check_references(draft: Draft, findings: Findings) -> None:
    """A name that is used twice, in two groups or in a loop, may exist but cannot be referred to."""
    names = _names(draft)
    copies = copies_of_groups(draft)
    looped = {question.name for question in draft.questions if copies[question.inside] > 1}
    without_node = {question.name for question in draft.questions if question.type.name in WITHOUT_NODE}
    for table, row, cell in _cells_that_refer(draft):
        found = references(cell.text)
        place = (table.sheet, row.number, cell.column.header)
        for text in found.malformed:
            if text == _EMPTY and cell.column.key in TRANSLATABLE:
                continue  # people read it as it is
            message = Message(
                "{reference} is not a reference. Write ${{name}} with the name of a question.", reference=text
            )
            findings.problem("broken_reference", message, *place)
        for name in dict.fromkeys(found.names):
            if name in without_node and name not in names:
                message = Message("{name} has no answer to refer to. Remove the reference.", name=name)
                findings.problem("reference_without_answer", message, *place)
            elif name not in names and name not in _ALWAYS_THERE:
                message = Message("No question is named {name}. Correct the reference, or add the question.", name=name)
                findings.problem("unknown_reference", message, *place)
            elif name in looped:
                message = Message(
                    "{name} is asked for each choice of a loop, so that it is unclear which answer is meant. Refer to a"
                    " question outside the loop.",
                    name=name,
                )
                findings.problem("ambiguous_reference", message, *place)
            elif names[name] > 1:
                message = Message(
                    "{count} questions are named {name}. Rename them, so that it is clear which is meant.",
                    count=names[name],
                    name=name,
                )
                findings.problem("ambiguous_reference", message, *place)


def _names(draft: Draft) -> Counter[str]:
    """In how many groups each name is used. Rows whose type is unknown count: their mistake is another one."""
    answered = (question for question in draft.questions if question.type.name not in WITHOUT_NODE)
    names = Counter(name for name, _ in {(question.name, question.inside) for question in answered} if name)
    understood = {question.row.number for question in draft.questions}
    for row in active(draft.survey):
        name = row.text("name")
        if name and row.number not in understood:
            names.setdefault(name, 1)
    unnamed = {
        question.row.number for question in draft.questions if question.type.name == "note" and not question.name
    }
    for place, row in enumerate(draft.survey.rows, FIRST_ROW):
        if row.number in unnamed:
            names[f"generated_note_name_{place}"] = 1  # as a compiler calls it
    return names


def check_expressions(draft: Draft, findings: Findings) -> None:
    prefixes = declared_prefixes(draft.settings.get("namespaces", ""))
    for table, row, cell in _cells_with_expressions(draft):
        place = (table.sheet, row.number, cell.column.header)
        if references(cell.text).malformed:
            continue  # reported already, and the reason why the rest cannot be read
        expression = examine(cell.text, prefixes)
        if expression.broken:
            message = Message("This formula cannot be read. Check its brackets, quotes and operators.")
            findings.problem("broken_expression", message, *place)
        for name in expression.unknown_functions:
            message = Message("{name} is not a function that forms usually have. Check its spelling.", name=name)
            findings.warning("unknown_function", message, *place)


def _cells_that_refer(draft: Draft) -> Iterator[tuple[Table, Row, Cell]]:
    """Names cannot refer; in choices only what people read can, the rest being data."""
    for row in active(draft.survey):
        for cell in row.cells if "type" in row else ():
            if "${" in cell.text and cell.column.known and cell.column.key != "name":
                yield draft.survey, row, cell
    for kind in (CHOICES, SETTINGS, ENTITIES):
        table = draft.sheets.get(kind)
        for row in table.filled() if table else ():
            for cell in row.cells:
                if table and "${" in cell.text and (kind != CHOICES or cell.column.key in TRANSLATABLE):
                    yield table, row, cell


def _cells_with_expressions(draft: Draft) -> Iterator[tuple[Table, Row, Cell]]:
    """Only those that something comes of: what stands in a column that does not concern its row is never read."""
    for question in draft.questions:
        for cell in question.row.cells:
            if cell.column.key in EXPRESSIONS and _concerns(cell.column.key, question.type) and _is_formula(cell):
                yield draft.survey, question.row, cell
    if settings := draft.sheets.get(SETTINGS):
        for row in islice(settings.filled(), 1):
            yield from ((settings, row, cell) for cell in row.cells if cell.column.key in _SETTING_EXPRESSIONS)
    if entities := draft.sheets.get(ENTITIES):
        for row in entities.filled():
            yield from ((entities, row, cell) for cell in row.cells if cell.column.key in _ENTITY_EXPRESSIONS)


def _concerns(key: str, kind: QuestionType) -> bool:
    if key == "choice_filter":
        return kind.name in _FILTERED
    if key == "repeat_count":
        return kind.begins == "repeat"
    return not kind.ends


def _is_formula(cell: Cell) -> bool:
    return cell.text.lower() not in _PLAIN_ANSWERS
