"""Names, labels and calculations of questions."""

from collections.abc import Mapping

import pytest

from fieldgate.imports.xlsform import Form, parse_workbook
from tests.imports.xlsform.forms import GOOD, HEADER, LIST, Place, place, rejection
from tests.imports.xlsform.workbooks import Rows, xlsx


@pytest.mark.parametrize(
    ("rows", "row"),
    [
        ([["select_one x or_other", "a", "A"], ["text", "a_other", "B"]], 3),
        ([["text", "r_count", "A"], ["begin repeat", "r", "R", "1 + 1"], GOOD, ["end repeat"]], 2),
    ],
)
def test_names_that_pyxform_generates_are_taken(rows: Rows, row: int) -> None:
    sheets: Mapping[str, Rows] = {"survey": [[*HEADER, "repeat_count"], *rows], "choices": [LIST, ["x", "1", "One"]]}
    (problem,) = rejection(xlsx(sheets)).problems
    assert (problem.code, problem.row, problem.column) == ("duplicate_name", row, "name")


def test_name_of_the_root() -> None:
    (problem,) = rejection(xlsx({"survey": [HEADER, GOOD], "settings": [["name"], ["1 x"]]})).problems
    assert (problem.code, place(problem)) == ("invalid_name", Place("settings", 2, "name"))


def test_name_of_an_audit() -> None:
    (problem,) = rejection(xlsx({"survey": [HEADER, ["audit", "log"], GOOD]})).problems
    assert (problem.code, place(problem)) == ("invalid_name", Place("survey", 2, "name"))


@pytest.mark.parametrize(("default", "calculated"), [("3", False), ("now()", True)])
def test_default_as_calculation(default: str, calculated: bool) -> None:
    data = xlsx({"survey": [[*HEADER, "default"], ["calculate", "a", None, default]]})
    if calculated:
        assert isinstance(parse_workbook(data, "form"), Form)
    else:
        assert [problem.code for problem in rejection(data).problems] == ["missing_calculation"]


def test_names_in_different_groups() -> None:
    def groups(kind: str) -> Rows:
        row = [f"begin {kind}", "same", "Same"]
        inner = [row, ["text", "a", "A"], [f"end {kind}"]]
        return [HEADER, ["begin group", "g", "G"], *inner, ["end group"], *inner]

    assert isinstance(parse_workbook(xlsx({"survey": groups("group")}), "form"), Form)
    (problem,) = rejection(xlsx({"survey": groups("repeat")})).problems
    assert (problem.code, problem.row) == ("duplicate_name", 7)


@pytest.mark.parametrize("type_", ["phone number", "number of days in last year", "today", "hidden"])
def test_types_that_need_no_label(type_: str) -> None:
    assert isinstance(parse_workbook(xlsx({"survey": [HEADER, GOOD, [type_, "a"]]}), "form"), Form)
