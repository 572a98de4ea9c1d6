"""Errors and warnings of pyxform, and what is passed to it."""

from collections.abc import Mapping

import pytest

from fieldgate.imports.xlsform import Form, parse_workbook
from tests.imports.xlsform.forms import GOOD, HEADER, rejection
from tests.imports.xlsform.workbooks import Rows, csv_with_sections, xlsx


def test_errors_of_pyxform_are_reported_with_their_row() -> None:
    survey: Rows = [[*HEADER, "parameters"], GOOD, [], ["range", "a", "A", "step=0"]]
    (in_xlsx,) = rejection(xlsx({"survey": survey})).problems
    (in_csv,) = rejection(csv_with_sections({"survey": survey})).problems
    assert str(in_xlsx.message).startswith("The form could not be compiled: On the 'survey' sheet, the 'parameters'")
    assert (in_xlsx.row, in_csv.row) == (4, 5)


@pytest.mark.parametrize(
    ("sheets", "where", "begins"),
    [
        ({"survey": [HEADER, [], ["begin repeat", "r"], GOOD, ["end repeat"]]}, ("survey", 3), "Repeat has no label"),
        ({"survey": [HEADER, ["simserial", "a"]]}, ("survey", 2), "simserial is no longer supported"),
        (
            {
                "survey": [["type", "name", "label::English (en)"], ["select_one x or_other", "a", "A"]],
                "choices": [["list_name", "name", "label::English (en)"], ["x", "b", "B"]],
            },
            (None, None),
            "This form uses or_other and translations",
        ),
    ],
)
def test_warnings_of_pyxform_are_reported(
    sheets: Mapping[str, Rows], where: tuple[str | None, int | None], begins: str
) -> None:
    (warning,) = parse_workbook(xlsx(sheets), "form").warnings
    assert (warning.code, (warning.sheet, warning.row)) == ("compiler_warning", where)
    assert str(warning.message).startswith(f"pyxform warns: {begins}")


def test_warnings_of_our_checks_are_not_reported_twice() -> None:
    sheets: Mapping[str, Rows] = {
        "survey": [
            ["type", "name", "label::English (en)", "hint::French (fr)"],
            ["select_one x", "good", "A", "B"],
            ["text", "Good", "A", "B"],
        ],
        "choices": [["list_name", "name", "label::English (en)"], ["x", "b"]],
    }
    warnings = parse_workbook(xlsx(sheets), "form").warnings
    assert {warning.code for warning in warnings} == {"similar_name", "missing_choice_label", "missing_translation"}


def test_instance_namespace_is_compiled() -> None:
    form = parse_workbook(xlsx({"survey": [HEADER, GOOD], "settings": [["instance_xmlns"], ["http://x.org"]]}), "form")
    assert isinstance(form, Form)
    assert '<data id="form" xmlns="http://x.org"' in form.xform


def test_unexpected_errors_of_pyxform_are_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*arguments: object, **named: object) -> None:
        raise KeyError("l")

    monkeypatch.setattr("fieldgate.imports.xlsform.compile.xform_compiler.workbook_to_json", broken)
    (problem,) = rejection(xlsx({"survey": [HEADER, GOOD]})).problems
    assert problem.code == "not_compiled"
    assert str(problem.message).startswith("The form could not be compiled. Undo")
    assert "KeyError" in caplog.text
