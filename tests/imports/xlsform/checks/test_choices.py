"""Lists of choices and the questions that use them."""

from collections.abc import Mapping

import pytest
from pyxform.xls2xform import convert

from fieldgate.imports.xlsform import Form, FormRejected, parse_workbook
from tests.imports.xlsform.forms import HEADER, LIST, Place, place, rejection
from tests.imports.xlsform.workbooks import Rows, xlsx

TOWNS = [LIST, ["towns", "San José", "San José"], ["towns", "Lima", "Lima"]]


def workbook(*types: str) -> bytes:
    rows = [[type_, f"q{number}", "Question"] for number, type_ in enumerate(types)]
    return xlsx({"survey": [HEADER, *rows], "choices": TOWNS})


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


def test_lists_with_a_translated_other_need_labels() -> None:
    sheets: Mapping[str, Rows] = {
        "survey": [HEADER, ["select_one x or_other", "a", "A"]],
        "choices": [["list_name", "name", "label::French (fr)"], ["x", "1", "Un"], ["x", "2"]],
    }
    (problem,) = rejection(xlsx(sheets)).problems
    assert (problem.code, place(problem)) == ("missing_choice_label", Place("choices", 3, "label::French (fr)"))


def test_osm_tags_are_checked_if_there_is_an_osm_sheet() -> None:
    survey: Rows = [HEADER, ["osm x", "a", "A"]]
    assert isinstance(parse_workbook(xlsx({"survey": survey}), "form"), Form)
    (problem,) = rejection(xlsx({"survey": survey, "osm": [LIST, ["y", "1", "One"]]})).problems
    assert problem.code == "unknown_choice_list"


def test_own_columns_and_allowed_duplicates() -> None:
    sheets: Mapping[str, Rows] = {
        "survey": [
            [*HEADER, "choice_filter"],
            ["select_one town", "town", "Town"],
            ["select_one street", "street", "Street", "of_town = ${town}"],
        ],
        "choices": [
            [*LIST, "of_town", "remarks"],
            ["town", "a", "A", None, "north"],
            ["street", "main", "Main street", "a"],
            ["street", "main", "Main street", "b"],
            [None, None, None, None, "to be continued"],
        ],
        "settings": [["allow_choice_duplicates"], ["yes"]],
    }
    form = parse_workbook(xlsx(sheets), "form")
    assert isinstance(form, Form)
    assert not form.warnings
    assert "<remarks>north</remarks>" in form.xform


@pytest.mark.parametrize("file", ["cities.csv", "cities.xml", "cities.geojson"])
def test_select_one_with_a_file_needs_no_list(file: str) -> None:
    data = workbook(f"select_one {file}", "select_one towns")
    assert file.partition(".")[0] in convert(data, file_type=".xlsx").xform
    assert isinstance(parse_workbook(data, "form"), Form)
