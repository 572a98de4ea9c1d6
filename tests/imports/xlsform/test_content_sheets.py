"""Content as sheets: parsing them gives the same content and XForm again."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from xml.etree.ElementTree import Element, fromstring

import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

from fieldgate.assets import content_sheets as written
from fieldgate.assets.content_sheets import content_sheets
from fieldgate.assets.workbook_writer import write_workbook
from fieldgate.imports.xlsform import Form, FormRejected, Library, parse_workbook, question_types, vocabulary
from fieldgate.imports.xlsform.content_sheets import sheets_of_content
from fieldgate.imports.xlsform.importer import parse_sheets
from fieldgate.imports.xlsform.issues import IssueCollector
from tests.imports.xlsform.test_corpus import FORMS
from tests.imports.xlsform.workbooks import Rows, csv_with_sections, xlsx

LANGUAGES = [None, "English (en)", "Français (fr)", "العربية (ar)"]
TEXTS = ["Roof?", "Toit ?\nDeux lignes", "سقف", '=HYPERLINK("x")', "-1", "12", "a_x000D_b", "𝄞 <b>&", "See ${a}", "'q"]
TYPES = [
    *(
        "text",
        "integer",
        "note",
        "phone number",
        "image",
        "geopoint",
        "range",
        "hidden",
        "today",
        "start",
        "acknowledge",
    ),
    *(
        "select_one l",
        "select_multiple l or_other",
        "rank l",
        "select_one_from_file towns.csv",
        "select_one_external x",
    ),
    *("osm tags", "calculate", "number of days in last year", "select_one ${a}", "background-audio"),
]
CELLS = {
    "relevant": ["${a} = 1", "selected(${a}, '1')"],
    "calculation": ["1 + 1", "concat(${a}, '=1')"],
    "choice_filter": ["k = ${a}", "type = 'x'"],
    "parameters": ["start=1 end=5 step=1", "randomize=true"],
    "default": ["3", "now()"],
    "required": ["yes", "FALSE", "${a} = 1"],
    "read_only": ["true()"],
    "hxl": ["#adm1 +name", "#x+y"],
    "appearance": ["minimal", "w1 horizontal"],
    "repeat_count": ["3", "${a}"],
    "bind::foo": ["x"],
    "body::accuracyThreshold": ["10"],
    "instance::x": ["1"],
    "My note": ["=1+1", "draft"],
    "kobo--locking-profile": ["flex"],
    "disabled": ["no"],
}
TRANSLATED = ["label", "hint", "guidance_hint", "constraint_message", "media::image", "media::audio"]
SETTINGS = {
    "form_title": ["Homes\nand roofs", "=T"],
    "form_id": ["homes"],
    "version": ["7", "2026-01-02"],
    "default_language": ["English (en)", "English", "Français (fr)"],
    "style": ["pages"],
    "allow_choice_duplicates": ["yes"],
    "kobo--locking-profile": ["flex"],
    "namespaces": ['foo="http://example.org"'],
}


def plain(content: dict[str, Any]) -> dict[str, Any]:
    """The content without the random ids of rows."""
    rows = {kind: [{**row, "$kuid": ""} for row in content[kind]] for kind in ("survey", "choices")}
    return {**content, **rows}


def unordered(xform: str) -> list[str]:
    """Each element of an XForm with its path. Their order is left out: metadata rows come first in content."""

    def paths(element: Element, path: str) -> Iterator[str]:
        path = f"{path}/{element.tag.rpartition('}')[2]}{sorted(element.attrib.items())}"
        yield f"{path} {element.text}"
        for child in element:
            yield from paths(child, path)

    return sorted(paths(fromstring(xform), ""))


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


@st.composite
def surveys(draw: st.DrawFn, languages: list[str | None]) -> Rows:
    translated = [*draw(st.lists(st.sampled_from(TRANSLATED), max_size=3, unique=True)), "label"]
    texts = dict.fromkeys(
        key if language is None else f"{key}::{language}"
        for key in translated
        for language in draw(st.lists(st.sampled_from(languages), min_size=1, unique=True))
    )
    columns = [*draw(st.lists(st.sampled_from(list(CELLS)), max_size=4, unique=True)), *texts]
    columns = draw(st.permutations(columns))
    label = next(column for column in columns if column.startswith("label"))
    rows: list[list[str | None]] = [[*columns, "type", "name"]]

    def add(type_: str, name: str | None, cells: dict[str, str | None]) -> None:
        rows.append([*(cells.get(column) for column in columns), type_, name])

    add("text", "a", {label: "A"})
    groups: list[str] = []
    for number in range(draw(st.integers(1, 6))):
        kind = draw(st.sampled_from(["question", "question", "question", "open", "close"]))
        cells: dict[str, str | None] = {
            column: draw(st.sampled_from([None, *(TEXTS if column in texts else CELLS[column])])) for column in columns
        }
        if kind == "open":
            groups.append(draw(st.sampled_from(["group", "repeat"])))
            add(f"begin {groups[-1]}", f"g{number}", {label: "G"})
            add("text", f"t{number}", {label: "T"})
        elif kind == "close" and groups:
            add(f"end_{groups.pop()}", None, {})
        else:
            add(draw(st.sampled_from(TYPES)), f"q{number}", {**cells, label: cells[label] or "Label"})
    for kind in reversed(groups):
        add(f"end {kind}", None, {})
    return rows


@st.composite
def forms(draw: st.DrawFn) -> dict[str, Rows]:
    languages = draw(st.lists(st.sampled_from(LANGUAGES), min_size=1, unique=True))
    labels = ["label" if language is None else f"label::{language}" for language in languages]
    sheets: dict[str, Rows] = {"survey": draw(surveys(languages))}
    sheets["choices"] = [
        ["list name", "name", *labels, "media::image", "k", "type", "required"],
        *(["l", str(number), *(draw(st.sampled_from([None, *TEXTS[:4]])) for _ in labels), None, "1", "x", "yes"]
          for number in range(draw(st.integers(1, 3)))),
    ]  # fmt: skip
    sheets["external_choices"] = [["list_name", "name", "k"], ["x", "1", "1"]]
    sheets["osm"] = [["list_name", "name", "label"], ["tags", "building", "Building"]]
    if chosen := draw(st.lists(st.sampled_from(list(SETTINGS)), max_size=3, unique=True)):
        sheets["settings"] = [chosen, [draw(st.sampled_from(SETTINGS[name])) for name in chosen]]
    if draw(st.booleans()):
        sheets["entities"] = [["list_name", "label"], ["trees", "${a}"]]
    return sheets


@settings(max_examples=100, derandomize=True, deadline=None, phases=[Phase.generate])  # shrinking takes minutes
@given(forms())
def test_any_form_is_restored(sheets: dict[str, Rows]) -> None:
    try:
        form = parse_workbook(csv_with_sections(sheets), "form")
    except FormRejected:
        assume(False)
    assert isinstance(form, Form)
    written_again = parse_workbook(workbook_of(form), "form")
    assert isinstance(written_again, Form)
    assert written_again.title == form.title
    for again in (parse_content(form.content, form.title or "form"), written_again):
        check_same(form, again)
        assert isinstance(again, Form)
        if None not in form.content["translations"] or len(form.content["translations"]) == 1:
            # With an unnamed language beside others, the default language depends on the order of the columns.
            assert unordered(again.xform) == unordered(form.xform)


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
