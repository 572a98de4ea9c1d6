"""Content is checked like a workbook: what an import gives is accepted again, anything else is accepted or rejected."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from fieldgate.assets import workbook_sheets as written
from fieldgate.assets.workbook_downloads import write_workbook
from fieldgate.assets.workbook_sheets import content_sheets
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import translate
from fieldgate.imports.xlsform import (
    EncodedContent,
    Form,
    FormRejected,
    Library,
    parse_content,
    parse_workbook,
    question_types,
    vocabulary,
)
from tests.imports.xlsform import test_any_form
from tests.imports.xlsform.test_content_sample import WORKBOOK, without_ids
from tests.imports.xlsform.test_corpus import FORMS
from tests.imports.xlsform.workbooks import Rows, csv_with_sections, xlsx

ROW = {"type": "text", "name": "a", "label": ["A"]}


def check(
    content: Any, name: str = "Homes", *, is_library: bool = False, allows_empty: bool = False
) -> Form:
    return parse_content(
        EncodedContent(msgspec.json.encode(content), name, is_library, allows_empty)
    )


def rejection(content: Any) -> FormRejected:
    with pytest.raises(FormRejected) as rejected:
        check(content)
    return rejected.value


def elements(xform: str) -> list[str]:
    """Each element with its path. Their order is left out: metadata rows come first in content.

    For the same reason the names that pyxform generates for notes are left out: they have a row number.
    """

    def walk(element: ElementTree.Element, path: str) -> Iterator[str]:
        path = f"{path}/{element.tag}{sorted(element.attrib.items())}"
        yield f"{path} {element.text}"
        for child in element:
            yield from walk(child, path)

    return sorted(
        walk(ElementTree.fromstring(re.sub(r"generated_note_name_\d+", "note", xform)), "")
    )


def assert_same(form: Form, again: Form) -> None:
    assert without_ids(again.content) == without_ids(form.content)
    assert again.summary == form.summary
    assert elements(again.xform) == elements(form.xform)
    assert (again.form_id, again.version, again.row_count) == (
        form.form_id,
        form.version,
        form.row_count,
    )


def workbook_of(form: Form) -> bytes:
    """The workbook of a form. Content does not have its title, which is the name of the asset."""
    return write_workbook(
        content_sheets(form.content, form.title), datetime(2026, 1, 1, tzinfo=UTC)
    )


def check_round_trips(data: bytes) -> None:
    """The content of a form, and the workbook that is written from it, give the same form again."""
    form = parse_workbook(data, "Homes")
    assert isinstance(form, Form)
    assert_same(form, check(form.content, form.title or "Homes"))
    again = parse_workbook(workbook_of(form), "Homes")
    assert isinstance(again, Form)
    assert again.title == form.title
    for each in (form, again):
        each.summary["columns"] = sorted(
            each.summary["columns"]
        )  # content does not tell their order
    assert_same(form, again)


@settings(phases=[Phase.generate])  # shrinking takes minutes
@given(
    test_any_form.surveys(),
    st.dictionaries(test_any_form.SHEETS, test_any_form.grids(), max_size=2),
)
def test_any_form_is_restored(survey: list[list[str]], sheets: dict[str, list[list[str]]]) -> None:
    sheets.pop("library", None)
    data = csv_with_sections({**sheets, "survey": survey})
    try:
        parse_workbook(data, "Homes")
    except FormRejected:
        return
    check_round_trips(data)


@pytest.mark.parametrize(
    "sheets", [WORKBOOK, *(sheets for sheets, _ in FORMS.values())], ids=["sample", *FORMS]
)
def test_every_feature_is_restored(sheets: dict[str, Rows]) -> None:
    check_round_trips(xlsx(sheets))


def test_library_items_are_accepted_again() -> None:
    rows: Rows = [
        ["block", "type", "name", "label::English (en)", "label::French (fr)"],
        ["home", "select_one roof", None, "Roof?", "Toit ?"],
        ["home", "text", "colour", "Colour?", "Couleur ?"],
        [None, "integer", None, "How many?", None],
    ]
    choices: Rows = [["list_name", "name", "label::English (en)"], ["roof", "tin", "Tin"]]
    library = parse_workbook(xlsx({"library": rows, "choices": choices}), "Library")
    assert isinstance(library, Library)
    for item in library.blocks:
        again = check(item.content, is_library=True)
        assert without_ids(again.content) == without_ids(item.content)
        assert (again.summary, again.xform, again.title) == (item.summary, "", None)


# Shapes that are close to content, so that all parts of the check are reached.
CELLS: st.SearchStrategy[Any] = st.one_of(
    test_any_form.CELLS,
    st.sampled_from(
        [None, True, 1, 1.5, "", "\x00", "x" * 100_000, 10**20, 1e300, {}, [], [None], {"a": 1}]
    ),
    st.lists(st.sampled_from(["A", None, 5, [], {}, ""]), max_size=3),
)
KEYS = st.one_of(
    test_any_form.HEADERS,
    st.sampled_from(["$kuid", "$autoname", "$autovalue", "$given_name", "tags", "", " ", "label", "file", "_or_other",
                     "select_from_list_name", "kobo--locking-profile", "\x00", "type ", "Type"]),
)  # fmt: skip
ROWS = st.lists(
    st.one_of(
        st.dictionaries(KEYS, CELLS, max_size=5),
        st.fixed_dictionaries({"type": CELLS, "name": CELLS, "label": CELLS}),
        CELLS,
    ),
    max_size=4,
)
LOCKING = "kobo--locking-profiles"
PARTS = ("survey", "choices", "settings", "external_choices", "entities", "osm", LOCKING, "library")
CONTENTS = st.dictionaries(
    st.sampled_from([*PARTS, "translations", "translated", "schema", "metas"]),
    st.one_of(ROWS, CELLS, st.dictionaries(KEYS, CELLS, max_size=4), st.just([ROW])),
    max_size=5,
)


@given(CONTENTS, st.booleans(), st.booleans())
def test_parsed_or_rejected(content: dict[str, Any], is_library: bool, allows_empty: bool) -> None:
    try:
        form = check(content, is_library=is_library, allows_empty=allows_empty)
    except FormRejected as rejected:
        messages = [rejected.error]
        for issue in [*rejected.problems, *rejected.warnings]:
            messages.append(issue.message)
            rows = content.get(issue.sheet or "")
            is_row = (
                issue.row is not None and issue.sheet != LOCKING
            )  # a profile becomes several rows
            assert not is_row or 1 <= (issue.row or 0) <= (
                len(rows) if isinstance(rows, list) else 1
            )
        assert all(translate(message, language) for message in messages for language in Language)
    else:
        assert form.summary["row_count"] == form.row_count
        json.dumps(form.content)


@given(st.binary(max_size=30))
def test_any_bytes(data: bytes) -> None:
    with pytest.raises(FormRejected):
        parse_content(EncodedContent(data + b"x", "Homes"))


def test_rows_are_counted_in_the_content() -> None:
    rows = [ROW, {**ROW, "name": "b", "type": "florb"}, {**ROW, "name": "a"}]
    problems = rejection({"survey": rows}).problems
    assert [(each.sheet, each.row, each.column, each.code) for each in problems] == [
        ("survey", 2, "type", "unknown_type"),
        ("survey", 3, "name", "duplicate_name"),
    ]
    assert "row 1" in str(problems[1].message), "rows in messages are counted in the same way"
    [malformed] = rejection({"survey": [ROW, {**ROW, "name": {}}]}).problems
    assert (malformed.sheet, malformed.row, malformed.column) == ("survey", 2, "name")
    [column] = rejection({"survey": [{"name": "a", "label": ["A"]}]}).problems
    assert (column.row, column.code) == (None, "missing_column")


def test_problem_of_the_compiler_has_its_row() -> None:
    rows = [ROW, {"type": "select_one", "select_from_list_name": "l", "name": "b", "label": ["B"],
                  "parameters": "florb=1"}]  # fmt: skip
    rejected = rejection(
        {"survey": rows, "choices": [{"list_name": "l", "name": "x", "label": ["X"]}]}
    )
    assert [(each.sheet, each.row) for each in rejected.problems] == [("survey", 2)]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ({"library": [ROW]}, "invalid_form"),
        ({"survey": [ROW], "library": [ROW], "florb": {"a": 1}}, None),
        ({"survey": [[[[[[[[[[]]]]]]]]]]}, "malformed_content"),
        (5, "malformed_content"),
        ([], "malformed_content"),
    ],
)
def test_other_rejections(content: Any, reason: str | None) -> None:
    if reason is None:
        assert check(content).row_count == 1, "unknown parts are ignored"
    else:
        assert rejection(content).error_type == reason


def test_empty_content() -> None:
    form = check({"settings": {"style": "pages", "form_title": "T"}}, allows_empty=True)
    assert (form.content["settings"], form.title, form.xform) == ({"style": "pages"}, "T", "")
    assert [each.code for each in rejection({"settings": {"style": "pages"}}).problems] == [
        "no_questions"
    ]
    assert [each.code for each in rejection({}).problems] == ["no_questions"]


def test_vocabulary_is_that_of_the_importer() -> None:
    assert written.TRANSLATED_KEYS == vocabulary.TRANSLATABLE_COLUMNS
    assert written.FILE_SELECT_TYPES == question_types.FILE_SELECT_TYPES
    assert {*written.PLAIN_SHEETS} == {
        vocabulary.EXTERNAL_CHOICES,
        vocabulary.ENTITIES,
        vocabulary.OSM,
    }
    assert {
        type_ for type_ in question_types.STANDARD_TYPES
        if question_types.QuestionType(type_).pyxform_type != type_
    } == written.TYPES_WITH_SPACES  # fmt: skip
    assert vocabulary.LOCKING == written.LOCKING
