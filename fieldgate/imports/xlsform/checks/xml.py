"""Check the names of elements and attributes of the XForm that come from the workbook."""

from collections.abc import Iterable, Iterator
from itertools import islice

from fieldgate.i18n.messages import Message
from fieldgate.imports.xlsform.issues import IssueCollector
from fieldgate.imports.xlsform.parsed_form import ParsedForm
from fieldgate.imports.xlsform.question_types import FILE_SELECT_TYPES, QuestionType
from fieldgate.imports.xlsform.sheet_table import Cell, SheetRow, SheetTable
from fieldgate.imports.xlsform.vocabulary import PASSTHROUGH_PREFIXES, SETTINGS
from fieldgate.imports.xlsform.xml_names import declared_prefixes, invalid_name_message, is_xml_name

_NamedNode = tuple[
    str, SheetTable, SheetRow, str
]  # a name in the XForm, and its place in the workbook

_FIXED_COLUMNS = frozenset({"bind::nodeset", "body::nodeset", "control::nodeset", "bind::type"})
_TYPED_SELECTS = FILE_SELECT_TYPES | {"select_one", "select_multiple", "rank"}
_SELECT_TYPES = ("string", "odk:rank")


def check_xml(form: ParsedForm, issues: IssueCollector) -> None:
    attributes, elements = list(_attributes(form)), list(_elements(form))
    for name, table, row, header in attributes:
        if not is_xml_name(name):
            message = Message(
                "{name} cannot be an attribute. Begin with a letter or _ and use letters, digits, _, - and . only.",
                name=name,
            )
            issues.add_problem("invalid_attribute", message, table.sheet_name, row.number, header)
    _check_fixed_attributes(form, issues)
    for name, table, row, header in elements:
        if table.kind == SETTINGS and not is_xml_name(name):
            issues.add_problem(
                "invalid_name", invalid_name_message(name), table.sheet_name, row.number, header
            )
    _check_prefixes([named for named in (*attributes, *elements) if ":" in named[0]], form, issues)


def _check_fixed_attributes(form: ParsedForm, issues: IssueCollector) -> None:
    for question in form.questions:
        for cell in question.row.cells:
            if cell.column.key in _FIXED_COLUMNS and _is_fixed(cell, question.type):
                message = Message(
                    "The attribute {name} cannot be changed in this row. Remove the value.",
                    name=cell.column.key.partition("::")[2],
                )
                place = (form.survey.sheet_name, question.row.number, cell.column.header)
                issues.add_problem("invalid_attribute", message, *place)


def _is_fixed(cell: Cell, type_: QuestionType) -> bool:
    """Whether pyxform sets the attribute itself and fails if a column sets it, too."""
    if cell.column.key == "bind::type":
        return type_.name in _TYPED_SELECTS and cell.text not in _SELECT_TYPES
    return not type_.ends and (cell.column.key == "bind::nodeset" or type_.begins == "repeat")


def _check_prefixes(
    prefixed: Iterable[_NamedNode], form: ParsedForm, issues: IssueCollector
) -> None:
    declared = declared_prefixes(form.namespaces)
    for name, table, row, header in prefixed:
        prefix = name.partition(":")[0]
        if prefix not in declared and is_xml_name(name):
            message = undeclared_prefix_message(prefix)
            issues.add_problem("undeclared_prefix", message, table.sheet_name, row.number, header)


def undeclared_prefix_message(prefix: str) -> Message:
    return Message(
        "The prefix {prefix} is not declared. Write {example} in column namespaces of sheet settings, with the address"
        " that belongs to the prefix, or remove the prefix.",
        prefix=prefix,
        example=f'{prefix}="http://example.org/{prefix}"',
    )


def _attributes(form: ParsedForm) -> Iterator[_NamedNode]:
    """Columns such as `bind::esri:fieldType`, each with its first filled row."""
    for table, rows in _compiled_rows(form):
        for column in table.columns:
            kind, _, name = column.key.partition("::")
            row = (
                next((row for row in rows if column.key in row), None)
                if kind in PASSTHROUGH_PREFIXES and name
                else None
            )
            if row is not None:
                yield name, table, row, column.header


def _elements(form: ParsedForm) -> Iterator[_NamedNode]:
    for table, rows in _compiled_rows(form):
        header = table.header("name")
        for row in rows:
            if name := row.text("name"):
                yield name, table, row, header


def _compiled_rows(form: ParsedForm) -> Iterator[tuple[SheetTable, list[SheetRow]]]:
    """The rows that are compiled: all questions, and the first row of the settings."""
    yield form.survey, [question.row for question in form.questions]
    if settings := form.sheets.get(SETTINGS):
        yield settings, list(islice(settings.filled_rows(), 1))
