"""Parts of forms that tests share."""

from typing import NamedTuple

import pytest

from fieldgate.imports.xlsform import FormRejected, Issue, parse_workbook

HEADER = ["type", "name", "label"]
GOOD = ["text", "good", "Good"]
LIST = ["list_name", "name", "label"]
TREES: list[list[str]] = [["list_name", "label"], ["trees", "Tree"]]


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
