"""Declarations of external files."""

import pytest

from fieldgate.imports.xlsform import Form, parse_workbook
from tests.imports.xlsform.forms import HEADER, LIST, rejection
from tests.imports.xlsform.workbooks import Rows, xlsx


@pytest.mark.parametrize(
    ("rows", "row", "column"),
    [
        ([["csv-external", "f"], ["select_one_from_file f.xml", "a", "A"]], 3, "type"),
        ([["csv-external", "x"], ["select_one x", "a", "A"]], 2, "name"),
        ([["csv-external", "f"], ["begin group", "g", "G"], ["csv-external", "f"], ["end group"]], 4, "name"),
        ([["select_one_from_file x.csv", "a", "A"], ["select_one x", "b", "B"]], 2, "type"),
    ],
)
def test_files_and_lists_have_different_names(rows: Rows, row: int, column: str) -> None:
    (problem,) = rejection(xlsx({"survey": [HEADER, *rows], "choices": [LIST, ["x", "1", "One"]]})).problems
    assert (problem.code, problem.row, problem.column) == ("duplicate_instance", row, column)


def test_one_file_in_several_questions() -> None:
    rows: Rows = [HEADER, ["csv-external", "f"], *(["select_one_from_file f.csv", name, "A"] for name in "ab")]
    assert isinstance(parse_workbook(xlsx({"survey": rows}), "form"), Form)
