"""Content as sheets: parsing them gives the same content and XForm again."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from fieldgate.assets import workbook_sheets as written
from fieldgate.assets.workbook_downloads import write_workbook
from fieldgate.assets.workbook_sheets import content_sheets
from fieldgate.imports.xlsform import Form, FormRejected, Library, parse_workbook, question_types, vocabulary
from fieldgate.imports.xlsform.content_importer import sheets_of_content
from fieldgate.imports.xlsform.importer import parse_sheets
from fieldgate.imports.xlsform.issues import IssueCollector
from tests.imports.xlsform import test_any_form
from tests.imports.xlsform.test_corpus import FORMS
from tests.imports.xlsform.workbooks import csv_with_sections, xlsx


def plain(content: dict[str, Any]) -> dict[str, Any]:
    """The content without the random ids of rows."""
    rows = {kind: [{**row, "$kuid": ""} for row in content[kind]] for kind in ("survey", "choices")}
    return {**content, **rows}


def workbook_of(form: Form) -> bytes:
    """The workbook of a form. Content does not have its title, which is the name of the asset."""
    return write_workbook(content_sheets(form.content, form.title), datetime(2026, 1, 1, tzinfo=UTC))


def parse_content(content: dict[str, Any], name: str) -> Form | Library:
    return parse_sheets(sheets_of_content(content), name, IssueCollector())


def check_same(form: Form, again: Form | Library) -> None:
    assert isinstance(again, Form)
    for key in form.content | again.content:
        assert plain(again.content).get(key) == plain(form.content).get(key)
    columns = [sorted(each.summary.pop("columns")) for each in (form, again)]  # content does not tell their order
    assert columns[0] == columns[1]
    assert again.summary == form.summary
    form.summary["columns"] = columns[0]
    assert (again.form_id, again.version) == (form.form_id, form.version)


@settings(phases=[Phase.generate])  # shrinking takes minutes
@given(test_any_form.surveys(), st.dictionaries(test_any_form.SHEETS, test_any_form.grids(), max_size=2))
def test_any_form_is_restored(survey: list[list[str]], sheets: dict[str, list[list[str]]]) -> None:
    sheets.pop("library", None)
    try:
        form = parse_workbook(csv_with_sections({**sheets, "survey": survey}), "form")
    except FormRejected:
        return
    assert isinstance(form, Form)
    written_again = parse_workbook(workbook_of(form), "form")
    assert isinstance(written_again, Form)
    assert written_again.title == form.title
    check_same(form, written_again)


@pytest.mark.parametrize("name", FORMS)
def test_every_feature_is_restored(name: str) -> None:
    form = parse_workbook(xlsx(FORMS[name][0]), "form")
    assert isinstance(form, Form)
    check_same(form, parse_content(form.content, "form"))
    check_same(form, parse_workbook(workbook_of(form), "form"))


def test_vocabulary_is_that_of_the_importer() -> None:
    assert written.TRANSLATED_KEYS == vocabulary.TRANSLATABLE_COLUMNS
    assert written.FILE_SELECT_TYPES == question_types.FILE_SELECT_TYPES
    assert {*written.PLAIN_SHEETS} == {vocabulary.EXTERNAL_CHOICES, vocabulary.ENTITIES, vocabulary.OSM}
    assert {
        type_ for type_ in question_types.STANDARD_TYPES
        if question_types.QuestionType(type_).pyxform_type != type_
    } == written.TYPES_WITH_SPACES  # fmt: skip
    assert vocabulary.LOCKING == written.LOCKING
