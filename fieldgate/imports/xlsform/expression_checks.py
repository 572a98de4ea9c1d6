"""Cells that speak of other questions: whether those exist, and whether the formula can be read."""

from collections import Counter
from collections.abc import Iterator

from fieldgate.http.language import Message
from fieldgate.imports.xlsform.draft import Draft
from fieldgate.imports.xlsform.expressions import examine, references
from fieldgate.imports.xlsform.loop_checks import copies_of_groups
from fieldgate.imports.xlsform.names import CHOICES, ENTITIES, EXPRESSIONS, SETTINGS, TRANSLATABLE
from fieldgate.imports.xlsform.outline import NO, YES, active
from fieldgate.imports.xlsform.problems import Findings
from fieldgate.imports.xlsform.tables import Cell, Row, Table

_ALWAYS_THERE = frozenset({"instanceID"})
_SETTING_EXPRESSIONS = frozenset({"instance_name"})
_ENTITY_EXPRESSIONS = frozenset({"label", "create_if", "update_if", "entity_id"})


def check_references(draft: Draft, findings: Findings) -> None:
    """A name that is used twice, in two groups or in a loop, may exist but cannot be referred to."""
    names = _names(draft)
    copies = copies_of_groups(draft)
    looped = {question.name for question in draft.questions if copies[question.inside] > 1}
    for table, row, cell in _cells_that_refer(draft):
        found = references(cell.text)
        place = (table.sheet, row.number, cell.column.header)
        for text in found.malformed:
            message = Message(
                "{reference} is not a reference. Write ${{name}} with the name of a question.", reference=text
            )
            findings.problem("broken_reference", message, *place)
        for name in dict.fromkeys(found.names):
            if name not in names and name not in _ALWAYS_THERE:
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
    names = Counter(name for name, _ in {(question.name, question.inside) for question in draft.questions} if name)
    understood = {question.row.number for question in draft.questions}
    for row in active(draft.survey):
        name = row.text("name")
        if name and row.number not in understood:
            names.setdefault(name, 1)
    return names


def check_expressions(draft: Draft, findings: Findings) -> None:
    for table, row, cell in _cells_with_expressions(draft):
        place = (table.sheet, row.number, cell.column.header)
        if references(cell.text).malformed:
            continue  # reported already, and the reason why the rest cannot be read
        expression = examine(cell.text)
        if expression.broken:
            message = Message("This formula cannot be read. Check its brackets, quotes and operators.")
            findings.problem("broken_expression", message, *place)
        for name in expression.unknown_functions:
            message = Message("{name} is not a function that forms usually have. Check its spelling.", name=name)
            findings.warning("unknown_function", message, *place)


def _cells_that_refer(draft: Draft) -> Iterator[tuple[Table, Row, Cell]]:
    """Names cannot refer; in choices only what people read can, the rest being data."""
    for row in active(draft.survey):
        for cell in row.cells:
            if "${" in cell.text and cell.column.known and cell.column.key != "name":
                yield draft.survey, row, cell
    for kind in (CHOICES, SETTINGS, ENTITIES):
        table = draft.sheets.get(kind)
        for row in table.filled() if table else ():
            for cell in row.cells:
                if table and "${" in cell.text and (kind != CHOICES or cell.column.key in TRANSLATABLE):
                    yield table, row, cell


def _cells_with_expressions(draft: Draft) -> Iterator[tuple[Table, Row, Cell]]:
    asked: list[tuple[Table, frozenset[str]]] = [(draft.survey, EXPRESSIONS)]
    asked += [(table, _SETTING_EXPRESSIONS) for kind, table in draft.sheets.items() if kind == SETTINGS]
    asked += [(table, _ENTITY_EXPRESSIONS) for kind, table in draft.sheets.items() if kind == ENTITIES]
    for table, keys in asked:
        for row in table.filled():
            for cell in row.cells:
                if cell.column.key in keys and cell.text.lower() not in YES | NO:
                    yield table, row, cell
