"""Unknown, missing and duplicate columns."""

from collections.abc import Mapping

import pytest

from fieldgate.imports.xlsform import Form, parse_workbook
from tests.imports.xlsform.forms import GOOD, HEADER, LIST, Place, place, rejection
from tests.imports.xlsform.workbooks import Rows, xlsx


@pytest.mark.parametrize("header", ["1a", "a:b", "a::b", "#", "a b"])
def test_choice_columns_that_are_not_xml_names_are_not_compiled(header: str) -> None:
    sheets: Mapping[str, Rows] = {
        "survey": [HEADER, ["select_one x", "a", "A"]],
        "choices": [[*LIST, header], ["x", "1", "One", "remark"]],
    }
    form = parse_workbook(xlsx(sheets), "form")
    assert isinstance(form, Form)
    assert [(warning.code, warning.column) for warning in form.warnings] == [("unknown_column", header)]
    assert "remark" not in form.xform


@pytest.mark.parametrize("headers", [["lable"], ["Lable", "state"]])
def test_misspelled_choice_columns(headers: list[str]) -> None:
    sheets: Mapping[str, Rows] = {
        "survey": [HEADER, ["select_one x", "a", "A"]],
        "choices": [["list_name", "name", "label", *headers], ["x", "1", "One", *headers]],
    }
    (warning,) = parse_workbook(xlsx(sheets), "form").warnings
    assert (warning.code, warning.column) == ("unknown_column", headers[0])
    assert str(warning.message).endswith("If you meant label, rename it.")


def test_standard_spelling_of_a_setting_wins() -> None:
    for header in (["form_id", "id_string", "form_title", "title"], ["id_string", "form_id", "title", "form_title"]):
        settings: Rows = [header, [f"{name}_value" for name in header]]
        form = parse_workbook(xlsx({"survey": [HEADER, GOOD], "settings": settings}), "form")
        assert isinstance(form, Form)
        assert (form.form_id, form.title) == ("form_id_value", "form_title_value")
        assert 'id="form_id_value"' in form.xform


@pytest.mark.parametrize(
    ("sheets", "sheet", "column"),
    [
        ({"survey": [["question", "answer"], ["How?", "So"], ["Why?", "Thus"]]}, "survey", "type"),
        ({"survey": [["type", "nam", "label"], ["text", "a", "A"], ["text", "b", "B"]]}, "survey", "name"),
        ({"survey": [["type", "name", "lable"], ["text", "a", "A"], ["text", "b", "B"]]}, "survey", "label"),
        (
            {"survey": [HEADER, ["select_one x", "a", "A"]], "choices": [["list", "label"], ["x", "A"], ["x", "B"]]},
            "choices",
            "name",
        ),
    ],
)
def test_missing_column_is_reported_once(sheets: Mapping[str, Rows], sheet: str, column: str) -> None:
    rejected = rejection(xlsx(sheets))
    assert [(problem.code, place(problem)) for problem in rejected.problems] == [
        ("missing_column", Place(sheet, 1, column))
    ]
    assert "ignored_row" not in {warning.code for warning in rejected.warnings}


def test_choice_columns_that_a_filter_uses_are_not_taken_for_misspellings() -> None:
    sheets: Mapping[str, Rows] = {
        "survey": [[*HEADER, "choice_filter"], ["select_one x", "a", "A", "lable = 1"]],
        "choices": [[*LIST, "lable"], ["x", "1", "One", "1"]],
    }
    assert parse_workbook(xlsx(sheets), "form").warnings == []
