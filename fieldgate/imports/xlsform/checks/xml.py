"""Elements and attributes of the XForm that an author names: one wrong letter, and no tool can read it."""

from collections.abc import Iterable, Iterator
from itertools import islice

from fieldgate.i18n.messages import Message
from fieldgate.imports.xlsform.issues import Findings
from fieldgate.imports.xlsform.parsed_form import Draft
from fieldgate.imports.xlsform.sheet_table import Row, Table
from fieldgate.imports.xlsform.vocabulary import PASSED_ON, SETTINGS
from fieldgate.imports.xlsform.xml_names import declared_prefixes, is_xml_name

_Named = tuple[str, Table, Row, str]  # a name in the XForm, and where it is written


def check_xml(draft: Draft, findings: Findings) -> None:
    attributes, elements = list(_attributes(draft)), list(_elements(draft))
    for name, table, row, header in attributes:
        if not is_xml_name(name):
            message = Message(
                "{name} cannot be an attribute. Begin with a letter or _ and use letters, digits, _, - and . only.",
                name=name,
            )
            findings.problem("invalid_attribute", message, table.sheet, row.number, header)
    for name, table, row, header in elements:
        if table.kind == SETTINGS and not is_xml_name(name):
            message = Message(
                "{name} cannot be a name. Begin with a letter or _ and use letters, digits, _, - and . only.", name=name
            )
            findings.problem("invalid_name", message, table.sheet, row.number, header)
    _check_prefixes([named for named in (*attributes, *elements) if ":" in named[0]], draft, findings)


def _check_prefixes(prefixed: Iterable[_Named], draft: Draft, findings: Findings) -> None:
    declared = declared_prefixes(draft.settings.get("namespaces", ""))
    for name, table, row, header in prefixed:
        prefix = name.partition(":")[0]
        if prefix not in declared and is_xml_name(name):
            message = Message(
                "The prefix {prefix} is not declared. Declare it in column namespaces of sheet settings, or remove it.",
                prefix=prefix,
            )
            findings.problem("undeclared_prefix", message, table.sheet, row.number, header)


def _attributes(draft: Draft) -> Iterator[_Named]:
    """Columns such as `bind::esri:fieldType`, each where it is first filled."""
    for table, rows in _read(draft):
        for column in table.columns:
            kind, _, name = column.key.partition("::")
            row = next((row for row in rows if column.key in row), None) if kind in PASSED_ON and name else None
            if row is not None:
                yield name, table, row, column.header


def _elements(draft: Draft) -> Iterator[_Named]:
    for table, rows in _read(draft):
        header = table.header("name")
        for row in rows:
            if name := row.text("name"):
                yield name, table, row, header


def _read(draft: Draft) -> Iterator[tuple[Table, list[Row]]]:
    """The rows from which the XForm is made: of the settings it is one."""
    yield draft.survey, [question.row for question in draft.questions]
    if settings := draft.sheets.get(SETTINGS):
        yield settings, list(islice(settings.filled(), 1))
