"""Check the sheet with locking profiles, and the rows that name a profile."""

from collections.abc import Iterator
from difflib import get_close_matches

from fieldgate.i18n.messages import Message
from fieldgate.imports.xlsform.checks.columns import duplicate_column_message
from fieldgate.imports.xlsform.issues import IssueCollector
from fieldgate.imports.xlsform.locking import LOCKED, RESTRICTION, RESTRICTIONS, profile_columns
from fieldgate.imports.xlsform.parsed_form import ParsedForm
from fieldgate.imports.xlsform.sheet_table import SheetColumn, SheetRow, SheetTable
from fieldgate.imports.xlsform.vocabulary import LOCKING, LOCKING_PROFILE, SETTINGS

_MAX_GUESS_CHARS = 80  # comparing words is slow


def check_locking(form: ParsedForm, issues: IssueCollector) -> None:
    table = form.sheets.get(LOCKING)
    if table is not None:
        _check_columns(table, issues)
        if table.has_column(RESTRICTION):
            _check_rows(table, issues)
    profiles = {column.header for column in profile_columns(table)} if table else set()
    for place_table, row in _rows_with_profile(form):
        name = row.text(LOCKING_PROFILE) or ""
        if name not in profiles:
            message = Message(
                "There is no locking profile {name} in sheet {sheet}. Add it there, or correct its name here.",
                name=name,
                sheet=LOCKING,
            )
            issues.add_warning(
                "unknown_locking_profile", message, *place_table.place(row, LOCKING_PROFILE)
            )


def _check_columns(table: SheetTable, issues: IssueCollector) -> None:
    sheet, row = table.sheet_name, table.header_row
    if not table.has_column(RESTRICTION):
        message = Message("Add a column named {column} to this sheet.", column=RESTRICTION)
        issues.add_problem("missing_column", message, sheet, row, RESTRICTION)
    if not profile_columns(table):
        message = Message("Add a column for each locking profile, and enter {word} in the rows of its restrictions.",
                          word=LOCKED)  # fmt: skip
        issues.add_problem("missing_locking_profile", message, sheet, row)
    first: dict[str, SheetColumn] = {}
    for column in profile_columns(table):
        if column.header == LOCKED:
            message = Message(
                "The name {name} is reserved. Choose another name.", name=column.header
            )
            issues.add_problem("reserved_name", message, sheet, row, column.header)
        other = first.setdefault(column.header, column)
        if other is not column:
            message = duplicate_column_message(other, column)
            issues.add_problem("duplicate_column", message, sheet, row, column.header)


def _check_rows(table: SheetTable, issues: IssueCollector) -> None:
    for row in table.filled_rows():
        name = row.text(RESTRICTION)
        if name is None:
            message = Message("Enter a restriction in this row, or remove the row.")
            issues.add_problem("missing_restriction", message, *table.place(row, RESTRICTION))
        elif name not in RESTRICTIONS:
            message = _unknown_restriction_message(name)
            issues.add_problem("unknown_restriction", message, *table.place(row, RESTRICTION))
        for cell in row.cells:
            if cell.column.key != RESTRICTION and cell.text.lower() != LOCKED:
                message = Message(
                    "{value} has no effect. Enter {word}, or empty the cell.",
                    value=cell.text,
                    word=LOCKED,
                )
                issues.add_warning(
                    "unknown_lock", message, table.sheet_name, row.number, cell.column.header
                )


def _unknown_restriction_message(name: str) -> Message:
    for guess in get_close_matches(name[:_MAX_GUESS_CHARS].lower(), RESTRICTIONS, n=1):
        return Message("{name} is not a restriction. Did you mean {guess}?", name=name, guess=guess)
    return Message("{name} is not a restriction. Correct its name, or remove the row.", name=name)


def _rows_with_profile(form: ParsedForm) -> Iterator[tuple[SheetTable, SheetRow]]:
    for question in form.questions:
        if LOCKING_PROFILE in question.row:
            yield form.survey, question.row
    settings = form.sheets.get(SETTINGS)
    first = next(settings.filled_rows(), None) if settings else None
    if settings and first and LOCKING_PROFILE in first:
        yield settings, first
