"""Forms that the checks accept, most of them without a warning."""

from collections.abc import Callable, Mapping

import pytest
from pyxform import aliases

from fieldgate.imports.xlsform import Form, Library, parse_workbook
from fieldgate.imports.xlsform.form_languages import match_language
from tests.imports.xlsform.forms import GOOD, HEADER, LIST, TREES, book
from tests.imports.xlsform.workbooks import Rows, csv_with_sections, ods, xls, xlsx

# Each compiles without warnings.
WITHOUT_WARNINGS: dict[str, Mapping[str, Rows]] = {
    "columns of external choices": book(
        GOOD,
        "select_one_external x|a|A|state = ${good}",
        columns="choice_filter",
        external_choices=["list_name|name|label|state", "x|1|One|n"],
    ),
    "columns of choices in a default": book(
        "select_one x|a|A",
        "text|b|B|instance('x')/*/item[foo = 1]/name",
        columns="default",
        choices=["list_name|name|label|foo", "x|1|One|n"],
    ),
    "choices with pictures only": book(
        "select_one x|a|A", choices=["list_name|name|media::image", "x|1|one.png"]
    ),
    "other answers to a list without labels": book(
        "select_one x or_other|a|A", choices=["list_name|name|label|media::image", "x|1||one.png"]
    ),
    "sheets of remarks": book(GOOD, notes=["x"], readme=["x"], choices_old=["x"]),
    "blank rows among entities": book(
        "text|good|Good|trees#x",
        columns="save_to",
        entities=[TREES[0], [None, None], TREES[1], [" ", " "]],
    ),
    "a formula that is switched off": book(
        GOOD, "text|good|Good|1 +* 2|yes", columns="relevant|disabled"
    ),
    "a formula at the end of a group": book(
        "begin group|g|G", GOOD, "end group|||1 +* 2", columns="relevant"
    ),
    "remarks in columns that do not concern the row": book(
        "text|good|Good|see below!|1 +* 2", columns="choice_filter|repeat_count"
    ),
    "a prefix in a formula": book(
        "text|good|Good|/data/foo:x = 1",
        columns="relevant",
        settings=["namespaces", 'foo="http://x.org"'],
    ),
    "a note without a name": book("note||Hi", "note|n|${generated_note_name_2}"),
    "braces without a name": book("note|n|Write ${} around names"),
    "another default language": book(
        "text|good|Good|Bon",
        columns="label::French (fr)",
        settings=["default_language", "English (en)"],
    ),
    "the default language as tools call it": book(
        "text|good|Good|Bon", columns="label::French (fr)", settings=["default_language", "default"]
    ),
    "types that need no label": book(
        GOOD, *([kind, kind.replace(" ", "_")] for kind in ("phone number", "today", "hidden"))
    ),
    "a default as calculation": book("calculate|a||now()", columns="default"),
    "names in every script": book("text|हिन्दी|A", "text|b|B|${हिन्दी} = 1", columns="relevant"),
    "one file in several questions": book(
        "csv-external|f", *(["select_one_from_file f.csv", name, "A"] for name in "ab")
    ),
    "choices with spaces for single answers": book(
        *([f"{kind} x", kind, "A"] for kind in ("select_one", "rank")),
        choices=[LIST, "x|San José|San José", "x|Lima|Lima"],
    ),
    "osm tags without a sheet": book("osm x|a|A"),
    "a select with a file": book(
        *([f"select_one {kind}.{kind}", kind, "A"] for kind in ("csv", "xml"))
    ),
    "columns of choices that a filter uses": book(
        "select_one x|a|A|lable = 1",
        columns="choice_filter",
        choices=["list_name|name|label|lable", "x|1|One|1"],
    ),
    "parameters": book(
        "text|a|A|rows = 3",
        "integer|b|B|anything=goes",
        "select_one x|c|C|randomize=true, seed=3",
        "audio|d|D|quality=external",
        "select_one_from_file f.csv|e|E|value=Key label=Text",
        "audit|||location-priority=balanced location-min-interval=1 location-max-age=2",
        columns="parameters",
        choices=[LIST, "x|1|One"],
    ),
    "a declared prefix": book(
        "text|good|Good|x",
        "text|foo:a|A",
        columns="bind::foo:bar",
        settings=["namespaces|attribute::foo:c", 'foo="http://x.org"|1'],
    ),
    "operators that touch their operands": book(
        "text|n|N|.='x'or.='y'",
        "integer|a|A|. >= 0 and.<=${n}",
        "integer|b|B|5mod2 = 1",
        columns="constraint",
    ),
    "words for true and false": book(
        *(["text", f"q{number}", "Q", word, word] for number, word in enumerate(aliases.yes_no)),
        columns="required|readonly",
    ),
    "blank rows before the choices": book(
        "select_one x|a|A", choices=[[], [None, None], LIST, "x|1|One"]
    ),
    "header of rows without labels": book(
        "begin group|g|G|field-list",
        "select_one x|head||label",
        "select_one x|a|A|list-nolabel",
        "end group",
        columns="appearance",
        choices=[LIST, "x|1|One"],
    ),
    "calculated when another answer changes": book(GOOD, "text|a||${good}", columns="trigger"),
    "groups in the maximum depth": book(
        *(["begin group", f"g{n}", "G"] for n in range(100)), GOOD, *[["end group"]] * 100
    ),
    "a disabled row": book(GOOD, "nonsense|good|${nothing}|yes", columns="disabled"),
    "a namespace of the instance": book(GOOD, settings=["instance_xmlns", "http://x.org"]),
}


@pytest.mark.parametrize("case", WITHOUT_WARNINGS)
def test_no_warnings(case: str) -> None:
    form = parse_workbook(xlsx(WITHOUT_WARNINGS[case]), "form")
    assert isinstance(form, Form)
    assert not form.warnings


def test_own_columns_and_allowed_duplicates() -> None:
    sheets: Mapping[str, Rows] = book(
        "select_one town|town|Town",
        "select_one street|street|Street|of_town = ${town}",
        columns="choice_filter",
        choices=[
            "list_name|name|label|of_town|remarks",
            "town|a|A||north",
            "street|main|Main street|a",
            "street|main|Main street|b",
            "||||to be continued",
        ],
        settings=["allow_choice_duplicates", "yes"],
    )
    form = parse_workbook(xlsx(sheets), "form")
    assert isinstance(form, Form)
    assert not form.warnings
    assert "<remarks>north</remarks>" in form.xform


@pytest.mark.parametrize("header", ["1a", "a:b", "a::b", "#", "a b"])
def test_choice_columns_that_are_not_xml_names_are_not_compiled(header: str) -> None:
    sheets: Mapping[str, Rows] = book(
        "select_one x|a|A", choices=[[*LIST, header], "x|1|One|remark"]
    )
    form = parse_workbook(xlsx(sheets), "form")
    assert isinstance(form, Form)
    assert [(warning.code, warning.column) for warning in form.warnings] == [
        ("unknown_column", header)
    ]
    assert "remark" not in form.xform


@pytest.mark.parametrize("headers", [["lable"], ["Lable", "state"]])
def test_misspelled_choice_columns(headers: list[str]) -> None:
    sheets: Mapping[str, Rows] = book(
        "select_one x|a|A",
        choices=[["list_name", "name", "label", *headers], ["x", "1", "One", *headers]],
    )
    (warning,) = parse_workbook(xlsx(sheets), "form").warnings
    assert (warning.code, warning.column) == ("unknown_column", headers[0])
    assert str(warning.message).endswith("If you meant label, rename it.")


def test_standard_spelling_of_a_setting_wins() -> None:
    for header in (
        ["form_id", "id_string", "form_title", "title"],
        ["id_string", "form_id", "title", "form_title"],
    ):
        settings: Rows = [header, [f"{name}_value" for name in header]]
        form = parse_workbook(xlsx(book(GOOD, settings=settings)), "form")
        assert isinstance(form, Form)
        assert (form.form_id, form.title) == ("form_id_value", "form_title_value")
        assert 'id="form_id_value"' in form.xform


def test_default_language_matches_a_column_in_another_spelling() -> None:
    sheets: Mapping[str, Rows] = book(
        "text|a|A|B",
        header="type|name|label::French (fr)|label::English (en)",
        settings=["default_language", "english"],
    )
    form = parse_workbook(xlsx(sheets), "form")
    assert isinstance(form, Form)
    assert form.summary["default_translation"] == "English (en)"
    assert form.xform.count("<translation ") == 2


def test_languages_with_different_codes_do_not_match() -> None:
    assert match_language("English (en)", ["English (fr)", "english"]) == "english"
    assert match_language("English (en)", ["English (fr)"]) is None


def test_only_the_first_row_of_settings_is_compiled() -> None:
    sheets: Mapping[str, Rows] = book(GOOD, settings=["name", "first", "a:b"])
    form = parse_workbook(xlsx(sheets), "form")
    assert isinstance(form, Form)
    assert "<first " in form.xform


def test_names_and_labels_of_libraries_are_not_checked() -> None:
    library = parse_workbook(
        xlsx({"library": [["block", *HEADER], ["b", "text"], ["b", "text"]]}), "library"
    )
    assert isinstance(library, Library)


def test_rows_far_below_the_form_are_ignored() -> None:
    rows: Rows = [HEADER, GOOD, *([] for _ in range(61)), ["end group"], ["florb"]]
    form = parse_workbook(xlsx({"survey": rows}), "form")
    assert [warning.code for warning in form.warnings] == ["ignored_rows"]


def test_prefix_of_survey123_is_declared() -> None:
    for header, namespaces in (
        ("bind::esri:fieldType", None),
        ("body::esri:style", 'esri="http://esri.com/xforms"'),
    ):
        sheets: Mapping[str, Rows] = {
            "survey": [[*HEADER, header], [*GOOD, "null"]],
            "settings": [["form_id", "namespaces"], ["f", namespaces]],
        }
        form = parse_workbook(xlsx(sheets), "form")
        assert isinstance(form, Form)
        assert not form.warnings
        assert form.xform.count('xmlns:esri="http://esri.com/xforms"') == 1
        assert f'{header.partition("::")[2]}="null"' in form.xform


def test_form_begins_in_its_first_language_if_the_default_one_has_no_column() -> None:
    sheets: Mapping[str, Rows] = book(
        "text|a|A|B",
        header="type|name|label::French (fr)|label::Arabic (ar)",
        settings=["default_language", "English (en)"],
    )
    form = parse_workbook(xlsx(sheets), "form")
    assert isinstance(form, Form)
    assert form.summary["default_translation"] == "French (fr)"
    assert '<translation lang="French (fr)" default="true()">' in form.xform
    assert "English" not in form.xform


@pytest.mark.parametrize("write", [xlsx, xls, ods, csv_with_sections])
def test_blank_rows_before_the_choices(write: Callable[[Mapping[str, Rows]], bytes]) -> None:
    blank: Rows = [[None, None, None], [None, " ", None], [None, None, None]]
    sheets: Mapping[str, Rows] = book("select_one x|a|A", choices=[*blank, LIST, "x|1|One"])
    form = parse_workbook(write(sheets), "form")
    assert isinstance(form, Form)
    assert not form.warnings
    assert [choice["name"] for choice in form.content["choices"]] == ["1"]
