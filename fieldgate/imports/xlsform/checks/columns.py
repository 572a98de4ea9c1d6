"""Check for duplicate, unknown and missing columns."""

import re
from difflib import get_close_matches

from openpyxl.utils import get_column_letter

from fieldgate.i18n.messages import Message, PluralMessage
from fieldgate.imports.xlsform.issues import IssueCollector
from fieldgate.imports.xlsform.parsed_form import ParsedForm
from fieldgate.imports.xlsform.sheet_table import (
    MAX_BLANK_ROWS,
    SheetColumn,
    SheetTable,
    is_compiled,
)
from fieldgate.imports.xlsform.vocabulary import (
    CHOICE_COLUMNS,
    CHOICES,
    COLUMNS_BY_SHEET,
    EXPRESSION_COLUMNS,
    EXTERNAL_CHOICES,
    SETTING_SYNONYMS,
    SETTINGS,
    to_snake_case,
)

# The codes of issues that each row has if the column is missing.
_REQUIRED_SURVEY_COLUMNS = {
    "type": ("missing_type", "ignored_row"),
    "name": ("missing_name",),
    "label": ("missing_label",),
}
_REQUIRED_CHOICE_COLUMNS = {"list_name": ("missing_list_name",), "name": ("missing_choice_name",)}

_UNKNOWN_LIST = "unknown_choice_list"
_SIMILARITY_CUTOFF = 0.75  # 1 means equal
_WORD = re.compile(r"[^\W\d][\w.-]*")


def check_columns(form: ParsedForm, issues: IssueCollector) -> None:
    for table in (form.survey, *form.sheets.values()):
        if table.kind in COLUMNS_BY_SHEET:
            _check_duplicates(table, issues)
            _check_unknown(table, form, issues)
            _check_headers(table, issues)


def check_missing_columns(form: ParsedForm, issues: IssueCollector) -> None:
    """Report a missing column once, instead of a missing value in each row."""
    for table, required in (
        (form.survey, _REQUIRED_SURVEY_COLUMNS),
        (form.choices, _REQUIRED_CHOICE_COLUMNS),
    ):
        if table is None or not table.columns:
            continue
        if table.kind == CHOICES and not any(map(table.has_column, (*required, "label"))):
            _report_missing_header(table, issues)
            continue
        for key, codes in required.items():
            is_problem = any(problem.code in codes for problem in issues.problems) or key == "type"
            is_reported = is_problem or any(warning.code in codes for warning in issues.warnings)
            if is_reported and not table.has_column(key):
                issues.discard(codes)
                message = Message("Add a column named {column} to this sheet.", column=key)
                report = issues.add_problem if is_problem else issues.add_warning
                report("missing_column", message, table.sheet_name, table.header_row, key)


def _report_missing_header(table: SheetTable, issues: IssueCollector) -> None:
    """Report it once, instead of a missing list in each question."""
    message = Message(
        "This row must name the columns, but none of {names} is in it. Insert a row with these names above the first"
        " choice.",
        names="list_name, name, label",
    )
    is_used = any(problem.code == _UNKNOWN_LIST for problem in issues.problems)
    issues.discard([_UNKNOWN_LIST, "unknown_column"])
    report = issues.add_problem if is_used else issues.add_warning
    report("missing_header_row", message, table.sheet_name, table.header_row)


def _check_headers(table: SheetTable, issues: IssueCollector) -> None:
    if table.headerless_row is not None:
        message = Message(
            "This row has a value in a column without a header. Give the column a name."
        )
        issues.add_warning("missing_header", message, table.sheet_name, table.headerless_row)
    if table.ignored_row is not None:
        message = PluralMessage(
            "This row and those below it are ignored, because more than {count} blank row is above it. Remove the blank"
            " row, or the ignored rows.",
            "This row and those below it are ignored, because more than {count} blank rows are above it. Remove the"
            " blank rows, or the ignored rows.",
            MAX_BLANK_ROWS,
        )
        issues.add_warning("ignored_rows", message, table.sheet_name, table.ignored_row)


def _check_duplicates(table: SheetTable, issues: IssueCollector) -> None:
    first: dict[tuple[str, str | None], SheetColumn] = {}
    for column in table.columns:
        other = first.setdefault((column.key, column.language), column)
        if other is not column:
            message = duplicate_column_message(other, column)
            tolerated = (
                table.kind == SETTINGS
                and {to_snake_case(other.header), to_snake_case(column.header)} in SETTING_SYNONYMS
            )
            report = issues.add_warning if tolerated else issues.add_problem
            report("duplicate_column", message, table.sheet_name, table.header_row, column.header)


def duplicate_column_message(first: SheetColumn, second: SheetColumn) -> Message:
    """Columns with the same header are told apart by their letters."""
    if first.header != second.header:
        return Message(
            "This column is the same as {other}. Keep one of the two.", other=first.header
        )
    return Message(
        "Columns {first} and {second} are both named {name}. Keep one of the two.",
        first=get_column_letter(first.index + 1),
        second=get_column_letter(second.index + 1),
        name=first.header,
    )


def _check_unknown(table: SheetTable, form: ParsedForm, issues: IssueCollector) -> None:
    with_data = table.kind in (CHOICES, EXTERNAL_CHOICES)
    used = _expression_words(form) if with_data else frozenset()
    for column in table.columns:
        if column.known or column.header in used:
            continue
        filled = next((row for row in table.filled_rows() if column.key in row), None)
        message = (
            _data_column_message(column)
            if with_data and is_compiled(column, table.kind)
            else Message(
                "{column} is not an XLSForm column and has no effect. Correct its name, or remove it.",
                column=column.header,
            )
        )
        if filled is not None and message is not None:
            issues.add_warning(
                "unknown_column", message, table.sheet_name, filled.number, column.header
            )


def _data_column_message(column: SheetColumn) -> Message | None:
    """Choices may have columns of the author's own. Warn only if one looks like a misspelling."""
    for guess in get_close_matches(
        to_snake_case(column.header), CHOICE_COLUMNS, n=1, cutoff=_SIMILARITY_CUTOFF
    ):
        return Message(
            "{column} is kept as data of the choices. If you meant {name}, rename it.",
            column=column.header,
            name=guess,
        )
    return None


def _expression_words(form: ParsedForm) -> frozenset[str]:
    """Words in formulas, which may be columns of choices."""
    return frozenset(
        word
        for row in form.survey.filled_rows()
        for cell in row.cells
        if cell.column.key in EXPRESSION_COLUMNS | {"parameters", "default"}
        for word in _WORD.findall(cell.text)
    )
