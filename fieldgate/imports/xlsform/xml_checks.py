"""Elements and attributes of the XForm that an author names: one wrong letter, and no tool can read it."""

from collections.abc import Iterator

from fieldgate.http.language import Message
from fieldgate.imports.xlsform.draft import Draft
from fieldgate.imports.xlsform.names import PASSED_ON, SETTINGS
from fieldgate.imports.xlsform.problems import Findings
from fieldgate.imports.xlsform.tables import Row, Table
from fieldgate.imports.xlsform.xml_names import declared_prefixes, is_xml_name, undeclared_prefix

_Named = tuple[str, Table, Row, str]  # a name in the XForm, and where it is written


def check_xml(draft: Draft, findings: Findings) -> None:
    declared = declared_prefixes(draft.settings.get("namespaces", ""))
    for name, table, row, header in _attributes(draft):
        if not is_xml_name(name):
            message = Message(
                "{name} cannot be an attribute. Begin with a letter or _ and use letters, digits, _, - and . only.",
                name=name,
            )
            findings.problem("invalid_attribute", message, table.sheet, row.number, header)
    for name, table, row, header in _elements(draft):
        if table.kind == SETTINGS and not is_xml_name(name):
            message = Message(
                "{name} cannot be a name. Begin with a letter or _ and use letters, digits, _, - and . only.", name=name
            )
            findings.problem("invalid_name", message, table.sheet, row.number, header)
    for name, table, row, header in (*_attributes(draft), *_elements(draft)):
        prefix = undeclared_prefix(name, declared)
        if prefix is not None and is_xml_name(name):
            message = Message(
                "The prefix {prefix} is not declared. Declare it in column namespaces of sheet settings, or remove it.",
                prefix=prefix,
            )
            findings.problem("undeclared_prefix", message, table.sheet, row.number, header)


def _attributes(draft: Draft) -> Iterator[_Named]:
    """Columns such as `bind::esri:fieldType`, each where it is first filled."""
    seen: set[str] = set()
    for table, row in _rows(draft):
        for cell in row.cells:
            kind, _, name = cell.column.key.partition("::")
            if kind in PASSED_ON and name and cell.column.key not in seen:
                seen.add(cell.column.key)
                yield name, table, row, cell.column.header


def _elements(draft: Draft) -> Iterator[_Named]:
    for question in draft.questions:
        if question.name:
            yield question.name, draft.survey, question.row, draft.survey.header("name")
    for table, row in _rows(draft):
        if table.kind == SETTINGS and (name := row.text("name")):
            yield name, table, row, table.header("name")


def _rows(draft: Draft) -> Iterator[tuple[Table, Row]]:
    for question in draft.questions:
        yield draft.survey, question.row
    settings = draft.sheets.get(SETTINGS)
    for row in (next(settings.filled(), None),) if settings else ():
        if settings and row:
            yield settings, row
