"""Select the rows of a workbook that its problems and warnings are about.

excerpts = build_excerpts(sheets, problems, warnings)
excerpts[0].rows[0].cells

The result is small for any workbook: it is stored with the import.
"""

from collections.abc import Iterable, Iterator, Sequence

import msgspec
from openpyxl.utils import get_column_letter

from fieldgate.imports.file_text import truncate
from fieldgate.imports.sheet_excerpts import ExcerptRow, IssueKind, IssueMark, SheetExcerpt
from fieldgate.imports.xlsform.issues import Issue
from fieldgate.imports.xlsform.workbook_reader import Sheet

MAX_ISSUES = 100  # problems, and as many warnings
CONTEXT_ROWS = 1  # before and after a row with an issue
USUAL_COLUMNS = 6  # shown if so many are filled
MAX_COLUMNS = 12  # with those that have issues
MAX_CELL_CHARS = 200
MAX_NAME_CHARS = 300  # of a sheet, as in stored messages
MAX_TOTAL_CHARS = 60_000  # later rows are left out


class PlacedIssue(msgspec.Struct, frozen=True):
    """An issue with its place in the sheet. `column` is the position of its cell, None if it is about the row."""

    kind: IssueKind
    index: int
    row: int
    column: int | None


def build_excerpts(
    sheets: Sequence[Sheet], problems: Sequence[Issue], warnings: Sequence[Issue]
) -> list[SheetExcerpt]:
    """An excerpt of each sheet with issues that are about a row; sheets with problems first."""
    by_sheet: dict[str, list[tuple[IssueKind, int, Issue]]] = {}
    for kind, index, issue in _located_issues(problems, warnings):
        by_sheet.setdefault(str(issue.sheet), []).append((kind, index, issue))
    sheets_by_name = {
        sheet.name: sheet for sheet in reversed(sheets)
    }  # the first of several counts
    excerpts: list[SheetExcerpt] = []
    chars_left = MAX_TOTAL_CHARS
    for name, issues in by_sheet.items():
        if name in sheets_by_name and chars_left > 0:
            excerpt = _excerpt(sheets_by_name[name], issues, chars_left)
            chars_left -= _size(excerpt.header.cells) + sum(
                _size(row.cells) for row in excerpt.rows
            )
            if excerpt.columns and any(row.marks for row in (excerpt.header, *excerpt.rows)):
                excerpts.append(excerpt)
    return excerpts


def _located_issues(
    problems: Sequence[Issue], warnings: Sequence[Issue]
) -> Iterator[tuple[IssueKind, int, Issue]]:
    kinds: tuple[tuple[IssueKind, Sequence[Issue]], ...] = (
        ("problem", problems),
        ("warning", warnings),
    )
    for kind, issues in kinds:
        for index, issue in enumerate(issues[:MAX_ISSUES]):
            if issue.sheet is not None and issue.row is not None:
                yield kind, index, issue


def _excerpt(
    sheet: Sheet, issues: Iterable[tuple[IssueKind, int, Issue]], max_chars: int
) -> SheetExcerpt:
    texts_by_row = dict(sheet.rows)
    header_row, headers = header_of(sheet)
    placed = [
        PlacedIssue(kind, index, row, find_column(headers, texts_by_row.get(row), issue.column))
        for kind, index, issue in issues
        if (row := issue.row) is not None
    ]
    numbers = _shown_rows(sheet, header_row, {issue.row for issue in placed})
    columns = _shown_columns(headers, [texts_by_row[number] for number in numbers], placed)

    def build_row(number: int, texts: Sequence[str]) -> ExcerptRow:
        cells = [truncate(text_at(texts, column), MAX_CELL_CHARS) for column in columns]
        marks = [
            IssueMark(
                issue.kind,
                issue.index,
                columns.index(issue.column) if issue.column in columns else None,
            )
            for issue in placed
            if issue.row == number
        ]
        return ExcerptRow(number, cells, marks)

    header = build_row(header_row, headers)
    rows: list[ExcerptRow] = []
    size = _size(header.cells)
    for number in numbers:
        built = build_row(number, texts_by_row[number])
        size += _size(built.cells)
        if size > max_chars:
            break
        rows.append(built)
    letters = [get_column_letter(column + 1) for column in columns]
    return SheetExcerpt(truncate(sheet.name, MAX_NAME_CHARS), letters, header, rows)


def header_of(sheet: Sheet) -> tuple[int, list[str]]:
    """The number and the texts of the first filled row."""
    return next(((number, texts) for number, texts in sheet.rows if any(texts)), (1, []))


def find_column(
    headers: Sequence[str], texts: Sequence[str] | None, name: str | None
) -> int | None:
    """The position of the cell that an issue is about: in the first column of this name, if possible a filled one."""
    if name is None:
        return None
    matching = [
        column
        for column, header in enumerate(headers)
        if header and " ".join(header.split()) == name
    ]
    filled = [column for column in matching if texts is not None and text_at(texts, column)]
    return next(iter(filled or matching), None)


def text_at(texts: Sequence[str], column: int) -> str:
    return texts[column] if column < len(texts) else ""


def _shown_rows(sheet: Sheet, header_row: int, rows_with_issues: set[int]) -> list[int]:
    """The numbers of rows with issues, and of filled rows next to them. The header is not among them."""
    positions = {number: position for position, (number, _) in enumerate(sheet.rows)}
    shown: set[int] = set()
    for row in rows_with_issues & positions.keys():
        if row == header_row:
            continue
        shown.add(row)
        first = max(0, positions[row] - CONTEXT_ROWS)
        near = sheet.rows[first : positions[row] + CONTEXT_ROWS + 1]
        shown.update(number for number, texts in near if any(texts) and number > header_row)
    return sorted(shown)


def _shown_columns(
    headers: Sequence[str], rows: Sequence[Sequence[str]], issues: Iterable[PlacedIssue]
) -> list[int]:
    """The columns with issues, and the first of the other filled columns."""
    with_issues = list(dict.fromkeys(issue.column for issue in issues if issue.column is not None))[
        :MAX_COLUMNS
    ]
    width = max([len(headers), *map(len, rows)])
    shown = set(with_issues)
    for column in range(width):
        if len(shown) >= USUAL_COLUMNS:
            break
        if any(text_at(texts, column) for texts in (rows or [headers])):
            shown.add(column)
    return sorted(shown)


def _size(cells: Iterable[str]) -> int:
    return sum(len(cell) + 1 for cell in cells)
