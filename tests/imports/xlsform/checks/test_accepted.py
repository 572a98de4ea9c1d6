"""Forms that the checks accept, most of them without a warning."""

from collections.abc import Callable, Mapping

import pytest
from pyxform import aliases

from fieldgate.imports.xlsform import Form, Library, parse_workbook
from fieldgate.imports.xlsform.form_languages import match_language
from tests.imports.xlsform.forms import GOOD, HEADER, LIST, TREES
from tests.imports.xlsform.workbooks import Rows, csv_with_sections, ods, xls, xlsx

# Each compiles without warnings.
WITHOUT_WARNINGS: dict[str, Mapping[str, Rows]] = {
    "columns of external choices": {
        "survey": [[*HEADER, "choice_filter"], GOOD, ["select_one_external x", "a", "A", "state = ${good}"]],
        "external_choices": [[*LIST, "state"], ["x", "1", "One", "n"]],
    },
    "columns of choices in a default": {
        "survey": [
            [*HEADER, "default"],
            ["select_one x", "a", "A"],
            ["text", "b", "B", "instance('x')/*/item[foo = 1]/name"],
        ],
        "choices": [[*LIST, "foo"], ["x", "1", "One", "n"]],
    },
    "choices with pictures only": {
        "survey": [HEADER, ["select_one x", "a", "A"]],
        "choices": [["list_name", "name", "media::image"], ["x", "1", "one.png"]],
    },
    "other answers to a list without labels": {
        "survey": [HEADER, ["select_one x or_other", "a", "A"]],
        "choices": [["list_name", "name", "label", "media::image"], ["x", "1", None, "one.png"]],
    },
    "sheets of remarks": {"survey": [HEADER, GOOD], "notes": [["x"]], "readme": [["x"]], "choices_old": [["x"]]},
    "blank rows among entities": {
        "survey": [[*HEADER, "save_to"], [*GOOD, "trees#x"]],
        "entities": [TREES[0], [None, None], TREES[1], [" ", " "]],
    },
    "a formula that is switched off": {"survey": [[*HEADER, "relevant", "disabled"], GOOD, [*GOOD, "1 +* 2", "yes"]]},
    "a formula at the end of a group": {
        "survey": [[*HEADER, "relevant"], ["begin group", "g", "G"], GOOD, ["end group", None, None, "1 +* 2"]]
    },
    "remarks in columns that do not concern the row": {
        "survey": [[*HEADER, "choice_filter", "repeat_count"], [*GOOD, "see below!", "1 +* 2"]]
    },
    "a prefix in a formula": {
        "survey": [[*HEADER, "relevant"], [*GOOD, "/data/foo:x = 1"]],
        "settings": [["namespaces"], ['foo="http://x.org"']],
    },
    "a note without a name": {"survey": [HEADER, ["note", None, "Hi"], ["note", "n", "${generated_note_name_2}"]]},
    "braces without a name": {"survey": [HEADER, ["note", "n", "Write ${} around names"]]},
    "another default language": {
        "survey": [[*HEADER, "label::French (fr)"], [*GOOD, "Bon"]],
        "settings": [["default_language"], ["English (en)"]],
    },
    "the default language as tools call it": {
        "survey": [[*HEADER, "label::French (fr)"], [*GOOD, "Bon"]],
        "settings": [["default_language"], ["default"]],
    },
    "types that need no label": {
        "survey": [HEADER, GOOD, *([kind, kind.replace(" ", "_")] for kind in ("phone number", "today", "hidden"))]
    },
    "a default as calculation": {"survey": [[*HEADER, "default"], ["calculate", "a", None, "now()"]]},
    "names in every script": {
        "survey": [[*HEADER, "relevant"], ["text", "हिन्दी", "A"], ["text", "b", "B", "${हिन्दी} = 1"]]
    },
    "one file in several questions": {
        "survey": [HEADER, ["csv-external", "f"], *(["select_one_from_file f.csv", name, "A"] for name in "ab")]
    },
    "choices with spaces for single answers": {
        "survey": [HEADER, *([f"{kind} x", kind, "A"] for kind in ("select_one", "rank"))],
        "choices": [LIST, ["x", "San José", "San José"], ["x", "Lima", "Lima"]],
    },
    "osm tags without a sheet": {"survey": [HEADER, ["osm x", "a", "A"]]},
    "a select with a file": {
        "survey": [HEADER, *([f"select_one {kind}.{kind}", kind, "A"] for kind in ("csv", "xml"))]
    },
    "columns of choices that a filter uses": {
        "survey": [[*HEADER, "choice_filter"], ["select_one x", "a", "A", "lable = 1"]],
        "choices": [[*LIST, "lable"], ["x", "1", "One", "1"]],
    },
    "parameters": {
        "survey": [
            [*HEADER, "parameters"],
            ["text", "a", "A", "rows = 3"],
            ["integer", "b", "B", "anything=goes"],
            ["select_one x", "c", "C", "randomize=true, seed=3"],
            ["audio", "d", "D", "quality=external"],
            ["select_one_from_file f.csv", "e", "E", "value=Key label=Text"],
            ["audit", None, None, "location-priority=balanced location-min-interval=1 location-max-age=2"],
        ],
        "choices": [LIST, ["x", "1", "One"]],
    },
    "a declared prefix": {
        "survey": [[*HEADER, "bind::foo:bar"], [*GOOD, "x"], ["text", "foo:a", "A"]],
        "settings": [["namespaces", "attribute::foo:c"], ['foo="http://x.org"', "1"]],
    },
    "operators that touch their operands": {
        "survey": [
            [*HEADER, "constraint"],
            ["text", "n", "N", ".='x'or.='y'"],
            ["integer", "a", "A", ". >= 0 and.<=${n}"],
            ["integer", "b", "B", "5mod2 = 1"],
        ]
    },
    "words for true and false": {
        "survey": [
            [*HEADER, "required", "readonly"],
            *(["text", f"q{number}", "Q", word, word] for number, word in enumerate(aliases.yes_no)),
        ]
    },
    "blank rows before the choices": {
        "survey": [HEADER, ["select_one x", "a", "A"]],
        "choices": [[], [None, None], LIST, ["x", "1", "One"]],
    },
    "header of rows without labels": {
        "survey": [
            [*HEADER, "appearance"],
            ["begin group", "g", "G", "field-list"],
            ["select_one x", "head", None, "label"],
            ["select_one x", "a", "A", "list-nolabel"],
            ["end group"],
        ],
        "choices": [LIST, ["x", "1", "One"]],
    },
    "calculated when another answer changes": {"survey": [[*HEADER, "trigger"], GOOD, ["text", "a", None, "${good}"]]},
    "groups in the maximum depth": {
        "survey": [HEADER, *(["begin group", f"g{n}", "G"] for n in range(100)), GOOD, *([["end group"]] * 100)]
    },
    "a disabled row": {"survey": [[*HEADER, "disabled"], GOOD, ["nonsense", "good", "${nothing}", "yes"]]},
    "a namespace of the instance": {"survey": [HEADER, GOOD], "settings": [["instance_xmlns"], ["http://x.org"]]},
}


@pytest.mark.parametrize("case", WITHOUT_WARNINGS)
def test_no_warnings(case: str) -> None:
    form = parse_workbook(xlsx(WITHOUT_WARNINGS[case]), "form")
    assert isinstance(form, Form)
    assert not form.warnings


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


def test_only_the_first_row_of_settings_is_compiled() -> None:
    sheets: Mapping[str, Rows] = {"survey": [HEADER, GOOD], "settings": [["name"], ["first"], ["a:b"]]}
    form = parse_workbook(xlsx(sheets), "form")
    assert isinstance(form, Form)
    assert "<first " in form.xform


def test_names_and_labels_of_libraries_are_not_checked() -> None:
    library = parse_workbook(xlsx({"library": [["block", *HEADER], ["b", "text"], ["b", "text"]]}), "library")
    assert isinstance(library, Library)


def test_rows_far_below_the_form_are_ignored() -> None:
    rows: Rows = [HEADER, GOOD, *([] for _ in range(61)), ["end group"], ["florb"]]
    form = parse_workbook(xlsx({"survey": rows}), "form")
    assert [warning.code for warning in form.warnings] == ["ignored_rows"]


def test_prefix_of_survey123_is_declared() -> None:
    for header, namespaces in (("bind::esri:fieldType", None), ("body::esri:style", 'esri="http://esri.com/xforms"')):
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
    sheets: Mapping[str, Rows] = {
        "survey": [["type", "name", "label::French (fr)", "label::Arabic (ar)"], ["text", "a", "A", "B"]],
        "settings": [["default_language"], ["English (en)"]],
    }
    form = parse_workbook(xlsx(sheets), "form")
    assert isinstance(form, Form)
    assert form.summary["default_translation"] == "French (fr)"
    assert '<translation lang="French (fr)" default="true()">' in form.xform
    assert "English" not in form.xform


@pytest.mark.parametrize("write", [xlsx, xls, ods, csv_with_sections])
def test_blank_rows_before_the_choices(write: Callable[[Mapping[str, Rows]], bytes]) -> None:
    blank: Rows = [[None, None, None], [None, " ", None], [None, None, None]]
    sheets: Mapping[str, Rows] = {
        "survey": [HEADER, ["select_one x", "a", "A"]],
        "choices": [*blank, LIST, ["x", "1", "One"]],
    }
    form = parse_workbook(write(sheets), "form")
    assert isinstance(form, Form)
    assert not form.warnings
    assert [choice["name"] for choice in form.content["choices"]] == ["1"]
