"""Parts of forms that tests share."""

from collections.abc import Sequence
from typing import NamedTuple

import pytest

from fieldgate.imports.xlsform import FormRejected, Issue, parse_workbook
from tests.imports.workbooks import Rows

Row = str | Sequence[object]

HEADER = ["type", "name", "label"]
GOOD = ["text", "good", "Good"]
LIST = ["list_name", "name", "label"]
LOCKING = "kobo--locking-profiles"
TREES: list[list[str]] = [["list_name", "label"], ["trees", "Tree"]]


def book(
    *rows: Row, header: Row = HEADER, columns: str = "", **sheets: Sequence[Row]
) -> dict[str, Rows]:
    """A workbook whose survey has these rows and more columns, and other sheets; a row is written `text|name|label`."""
    survey = [[*_cells(header), *_cells(columns)] if columns else header, *rows]
    return {
        name: [_cells(row) for row in lines] for name, lines in {"survey": survey, **sheets}.items()
    }


def profiles(*rows: Row) -> dict[str, Rows]:
    """A workbook with a sheet of locking profiles."""
    return {**book(GOOD), LOCKING: [_cells(row) for row in rows]}


def _cells(row: Row) -> Sequence[object]:
    return [cell or None for cell in row.split("|")] if isinstance(row, str) else row


class Place(NamedTuple):
    sheet: str | None
    row: int | None
    column: str | None


def place(problem: Issue) -> Place:
    return Place(problem.sheet, problem.row, problem.column)


def rejection(data: bytes) -> FormRejected:
    with pytest.raises(FormRejected) as rejected:
        parse_workbook(data, "form")
    return rejected.value
