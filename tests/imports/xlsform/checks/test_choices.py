"""Names of choices: spaces are a problem only where several answers are stored in one text."""

import pytest
from pyxform.xls2xform import convert

from fieldgate.imports.xlsform import Form, FormRejected, parse_workbook
from tests.imports.xlsform.workbooks import xlsx

LIST = [["list_name", "name", "label"], ["towns", "San José", "San José"], ["towns", "Lima", "Lima"]]


def workbook(*types: str) -> bytes:
    rows = [[type_, f"q{number}", "Question"] for number, type_ in enumerate(types)]
    return xlsx({"survey": [["type", "name", "label"], *rows], "choices": LIST})


@pytest.mark.parametrize("type_", ["select_one towns", "rank towns", "select_one towns or_other"])
def test_spaces_are_allowed_in_choices_of_single_answers(type_: str) -> None:
    data = workbook(type_)
    form = parse_workbook(data, "form")
    assert isinstance(form, Form)
    assert [choice["name"] for choice in form.content["choices"]] == ["San José", "Lima"]
    assert form.warnings == []
    assert "San José" in convert(data, file_type=".xlsx").xform


@pytest.mark.parametrize("types", [["select_multiple towns"], ["select_one towns", "select_multiple  towns"]])
def test_spaces_are_refused_in_choices_of_several_answers(types: list[str]) -> None:
    with pytest.raises(FormRejected) as rejection:
        parse_workbook(workbook(*types), "form")
    issues = [(issue.code, issue.sheet, issue.row, issue.column) for issue in rejection.value.problems]
    assert issues == [("choice_name_with_space", "choices", 2, "name")]


def test_spaces_are_allowed_in_a_list_that_no_question_uses() -> None:
    form = parse_workbook(workbook("text"), "form")
    assert [warning.code for warning in form.warnings] == ["unused_choice_list"]
