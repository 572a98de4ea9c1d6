"""Which rows and cells of a workbook are shown with its problems."""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from fieldgate.i18n.messages import Message
from fieldgate.imports.file_text import truncate
from fieldgate.imports.sheet_excerpts import IssueMark, SheetExcerpt
from fieldgate.imports.xlsform import FormRejected, Issue, parse_workbook
from fieldgate.imports.xlsform.excerpt_builder import (
    MAX_CELL_CHARS,
    MAX_COLUMNS,
    MAX_ISSUES,
    MAX_TOTAL_CHARS,
    build_excerpts,
)
from fieldgate.imports.xlsform.workbook_reader import Sheet, read_workbook
from tests.imports.xlsform.test_any_form import SHEETS, grids, surveys
from tests.imports.xlsform.workbooks import Rows, csv_with_sections

HOUSEHOLD: dict[str, Rows] = {
    "survey": [
        ("type", "name", "label", "relevant"),
        ("note", "intro", "Welcome"),
        ("text", "head", "Name of the head of household"),
        ("integr", "age", "Age"),
        ("select_one yesno", "displaced", "Was the household displaced?"),
        ("begin group", "shelter", "Shelter"),
        ("text", "damage", "What is damaged?"),
        ("integer", "rooms", "Rooms that can be used", "${agee} > 17"),
        ("end group",),
    ],
    "choices": [("list_name", "name", "label"), ("yes_no", "yes", "Yes"), ("yes_no", "yes", "Yes")],
}


def sheet(name: str, *rows: tuple[str, ...], first: int = 1) -> Sheet:
    return Sheet(name, [(number, list(row)) for number, row in enumerate(rows, first)])


def issue(row: int | None, column: str | None = None, name: str | None = "survey") -> Issue:
    return Issue("code", Message("Correct it."), name, row, column)


def rejection_of(data: bytes) -> FormRejected:
    try:
        parse_workbook(data, "household")
    except FormRejected as rejection:
        return rejection
    raise AssertionError("the form was accepted")


def rows_of(excerpt: SheetExcerpt) -> list[int]:
    return [row.row for row in excerpt.rows]


def test_issues_without_a_cell_or_a_row() -> None:
    survey = sheet("survey", ("type", "name"), ("text", "a"), ("text", "b"))
    issues = [
        issue(2),
        issue(3, "label"),
        issue(None),
        issue(1, "name"),
        issue(99, "name"),
        issue(2, None, "gone"),
    ]
    [excerpt] = build_excerpts([survey], issues, [])
    assert excerpt.header.marks == [IssueMark("problem", 3, 1)]
    assert [row.marks for row in excerpt.rows] == [
        [IssueMark("problem", 0, None)],
        [IssueMark("problem", 1, None)],
    ]


def test_columns_with_issues_are_shown_before_others() -> None:
    names = tuple(f"column {number}" for number in range(40))
    survey = sheet("survey", names, names)
    [excerpt] = build_excerpts([survey], [issue(2, "column 30")], [])
    assert excerpt.columns == ["A", "B", "C", "D", "E", "AE"]
    [excerpt] = build_excerpts([survey], [issue(2, name) for name in names], [])
    assert len(excerpt.columns) == MAX_COLUMNS
    assert [mark.cell for mark in excerpt.rows[0].marks] == [
        *range(MAX_COLUMNS),
        *[None] * (40 - MAX_COLUMNS),
    ]


def test_excerpts_of_huge_sheets_are_small() -> None:
    long_text = "x" * 60_000
    rows = [tuple(long_text for _ in range(50)) for _ in range(300)]
    sheets = [sheet(f"sheet {number}", *rows) for number in range(3)]
    issues = [issue(row, None, each.name) for each in sheets for row in range(2, 301)]
    excerpts = build_excerpts(sheets, issues, issues)
    assert MAX_TOTAL_CHARS / 2 < len(msgspec.json.encode(excerpts)) < 3 * MAX_TOTAL_CHARS
    assert max(mark.index for row in excerpts[0].rows for mark in row.marks) < MAX_ISSUES


@given(st.dictionaries(SHEETS, grids(), max_size=4), surveys())
def test_marked_cells_are_those_of_the_file(
    sheets: dict[str, list[list[str]]], survey: list[list[str]]
) -> None:
    data = csv_with_sections(
        {"survey": survey, **{name: rows for name, rows in sheets.items() if name != "library"}}
    )
    issues: dict[str, Any]
    try:
        parsed = parse_workbook(data, "any")
        issues, excerpts = {"warning": parsed.warnings}, parsed.excerpts
    except FormRejected as rejection:
        issues = {"problem": rejection.problems, "warning": rejection.warnings}
        excerpts = rejection.excerpts
    texts = {found.name: dict(found.rows) for found in reversed(read_workbook(data))}
    marked = set()
    for excerpt in excerpts:
        file_rows = texts[excerpt.sheet]
        for row in (excerpt.header, *excerpt.rows):
            in_file = [file_rows[row.row][i : i + 1] for i in map(_column_number, excerpt.columns)]
            assert row.cells == [
                truncate(found[0], MAX_CELL_CHARS) if found else "" for found in in_file
            ]
            for mark in row.marks:
                marked.add((mark.kind, mark.index))
                about = issues[mark.kind][mark.index]
                assert (about.sheet, about.row) == (excerpt.sheet, row.row)
                if mark.cell is not None:
                    assert " ".join(excerpt.header.cells[mark.cell].split()) == about.column
    located = {
        (kind, index)
        for kind, found in issues.items()
        for index, each in enumerate(found)
        if each.sheet in texts and any(texts[each.sheet].get(each.row, ()))
    }
    assert marked == located


def _column_number(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number - 1
