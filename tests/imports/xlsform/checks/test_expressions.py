"""References and formulas."""

from xml.sax.saxutils import escape

import pytest
from pyxform import aliases

from fieldgate.imports.xlsform import Form, parse_workbook
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


@pytest.mark.parametrize("constraint", [". >= 0 and.<=${n}", "selected(., 'x') or.=9999", ".='x'or.='y'", "5mod2 = 1"])
def test_operators_may_touch_their_operands(constraint: str) -> None:
    rows: Rows = [[*HEADER, "constraint"], ["integer", "n", "N"], ["text", "a", "A", constraint]]
    form = parse_workbook(xlsx({"survey": rows}), "form")
    assert isinstance(form, Form)
    assert f'constraint="{escape(constraint.replace("${n}", " /data/n "))}"' in form.xform


def test_names_in_every_script_can_be_referred_to() -> None:
    rows: Rows = [[*HEADER, "relevant"], ["text", "हिन्दी", "A"], ["text", "b", "B", "${हिन्दी} = 1"]]
    assert parse_workbook(xlsx({"survey": rows}), "form").warnings == []
