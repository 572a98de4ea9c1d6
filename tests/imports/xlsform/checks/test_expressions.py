"""References and formulas."""

import pytest
from pyxform import aliases

from fieldgate.imports.xlsform import parse_workbook
from tests.imports.xlsform.forms import HEADER, rejection
from tests.imports.xlsform.workbooks import Rows, xlsx


def test_broken_reference_in_a_formula_is_reported_once() -> None:
    rows: Rows = [[*HEADER, "calculation"], ["calculate", "a", None, "${b c} + 1"]]
    assert [problem.code for problem in rejection(xlsx({"survey": rows})).problems] == ["broken_reference"]


@pytest.mark.parametrize("word", aliases.yes_no)
def test_words_for_true_and_false_are_formulas(word: str) -> None:
    rows: Rows = [[*HEADER, "required", "readonly"], ["text", "a", "A", word, word]]
    assert parse_workbook(xlsx({"survey": rows}), "form").warnings == []


def test_instance_name_is_checked() -> None:
    sheets = {"survey": [HEADER, ["text", "a", "A"]], "settings": [["instance_name"], ["concat(${a}"]]}
    (problem,) = rejection(xlsx(sheets)).problems
    assert (problem.code, problem.sheet, problem.row) == ("broken_expression", "settings", 2)
