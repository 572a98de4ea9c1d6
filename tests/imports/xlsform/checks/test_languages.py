"""The languages of a form."""

from collections.abc import Mapping

from fieldgate.imports.xlsform import Form, parse_workbook
from fieldgate.imports.xlsform.form_languages import match_language
from tests.imports.xlsform.workbooks import Rows, xlsx


def test_default_language_matches_a_column_in_another_spelling() -> None:
    sheets: Mapping[str, Rows] = {
        "survey": [["type", "name", "label::French (fr)", "label::English (en)"], ["text", "a", "A", "B"]],
        "settings": [["default_language"], ["english"]],
    }
    form = parse_workbook(xlsx(sheets), "form")
    assert isinstance(form, Form)
    assert form.summary["default_translation"] == "English (en)"
    assert form.xform.count("<translation ") == 2


def test_languages_with_different_codes_do_not_match() -> None:
    assert match_language("English (en)", ["English (fr)", "english"]) == "english"
    assert match_language("English (en)", ["English (fr)"]) is None
