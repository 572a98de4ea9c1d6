"""References and formulas."""

from tests.imports.xlsform.forms import HEADER, rejection
from tests.imports.xlsform.workbooks import Rows, xlsx


def test_broken_reference_in_a_formula_is_reported_once() -> None:
    rows: Rows = [[*HEADER, "calculation"], ["calculate", "a", None, "${b c} + 1"]]
    assert [problem.code for problem in rejection(xlsx({"survey": rows})).problems] == ["broken_reference"]
