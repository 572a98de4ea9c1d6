"""Columns: each once, and each with a name that means something."""

import re
from difflib import get_close_matches

from fieldgate.i18n.messages import Message
from fieldgate.imports.xlsform.issues import Findings
from fieldgate.imports.xlsform.parsed_form import Draft
from fieldgate.imports.xlsform.sheet_table import Column, Table, carried
from fieldgate.imports.xlsform.vocabulary import (
    CHOICE_COLUMNS,
    CHOICES,
    COLUMNS,
    EXPRESSIONS,
    EXTERNAL_CHOICES,
    SETTINGS,
    TWO_WORDS,
    snake,
)

# What each row is said to lack when it has nothing in a column.
_NEEDED_IN_SURVEY = {
    "type": ("missing_type", "ignored_row"),
    "name": ("missing_name",),
    "label": ("missing_label",),
}
_NEEDED_IN_CHOICES = {"list_name": ("missing_list_name",), "name": ("missing_choice_name",)}

_LIKELY_SLIP = 0.75  # of 1, which means the same word
_WORD = re.compile(r"[^\W\d][\w.-]*")


def check_columns(draft: Draft, findings: Findings) -> None:
    for table in (draft.survey, *draft.sheets.values()):
        if table.kind in COLUMNS:
            _check_duplicates(table, findings)
            _check_unknown(table, draft, findings)
            _check_headers(table, findings)


def check_missing_columns(draft: Draft, findings: Findings) -> None:
    """Where a whole column is missing, each row lacks its value: that is one mistake and not hundreds."""
    for table, needed in ((draft.survey, _NEEDED_IN_SURVEY), (draft.choices, _NEEDED_IN_CHOICES)):
        if table is None or not table.columns:
            continue
        for key, codes in needed.items():
            wrong = any(problem.code in codes for problem in findings.problems) or key == "type"
            concerned = wrong or any(warning.code in codes for warning in findings.warnings)
            if concerned and not table.has(key):
                findings.forget(codes)
                message = Message("Add a column named {column} to this sheet.", column=key)
                found = findings.problem if wrong else findings.warning
                found("missing_column", message, table.sheet, table.header_row, key)


def _check_headers(table: Table, findings: Findings) -> None:
    if table.beside is not None:
        message = Message("This row has a value in a column without a header. Give the column a name.")
        findings.warning("missing_header", message, table.sheet, table.beside)


def _check_duplicates(table: Table, findings: Findings) -> None:
    first: dict[tuple[str, str | None], Column] = {}
    for column in table.columns:
        other = first.setdefault((column.key, column.language), column)
        if other is not column:
            message = Message("This column is the same as {other}. Keep one of the two.", other=other.header)
            tolerated = table.kind == SETTINGS and {snake(other.header), snake(column.header)} in TWO_WORDS
            found = findings.warning if tolerated else findings.problem
            found("duplicate_column", message, table.sheet, table.header_row, column.header)


def _check_unknown(table: Table, draft: Draft, findings: Findings) -> None:
    with_data = table.kind in (CHOICES, EXTERNAL_CHOICES)
    used = _words_of_expressions(draft) if with_data else frozenset()
    for column in table.columns:
        if column.known or column.header in used:
            continue
        filled = next((row for row in table.filled() if column.key in row), None)
        message = _about_data(column) if with_data and carried(column, table.kind) else _about_unknown(column)
        if filled is not None and message is not None:
            findings.warning("unknown_column", message, table.sheet, filled.number, column.header)


def _about_unknown(column: Column) -> Message:
    return Message(
        "{column} is not a column of XLSForm and has no effect. Correct its name, or remove it.", column=column.header
    )


def _about_data(column: Column) -> Message | None:
    """Choices may have columns of the author's own. Only one that looks like a slip is worth a word."""
    for guess in get_close_matches(snake(column.header), CHOICE_COLUMNS, n=1, cutoff=_LIKELY_SLIP):
        return Message(
            "{column} is kept as data of the choices. Rename it {name} if that is meant.",
            column=column.header,
            name=guess,
        )
    return None


def _words_of_expressions(draft: Draft) -> frozenset[str]:
    """Which columns of choices filters, lookups and the like ask for."""
    return frozenset(
        word
        for row in draft.survey.filled()
        for cell in row.cells
        if cell.column.key in EXPRESSIONS | {"parameters", "default"}
        for word in _WORD.findall(cell.text)
    )
