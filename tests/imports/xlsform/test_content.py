"""The content of a form."""

from collections.abc import Mapping

import pytest

from fieldgate.imports.xlsform import Form, parse_workbook
from tests.imports.xlsform.workbooks import Rows, xlsx

HEADER = ["type", "name", "label"]


def form_of(sheets: Mapping[str, Rows], name: str = "form") -> Form:
    form = parse_workbook(xlsx(sheets), name)
    assert isinstance(form, Form)
    return form


def plain(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    return [{key: value for key, value in row.items() if not key.startswith("$")} for row in rows]


def test_form_in_two_languages() -> None:
    form = form_of(
        {
            "survey": [
                [*HEADER[:2], "label::English (en)", "label::French (fr)", "hint::French (fr)", "required"],
                ["begin group", "home", "Home", "Maison"],
                ["select_one roof or_other", "roof", "Roof?", "Toit ?", "Regardez", "yes"],
                ["string", "note", "Notes", None, None, "${roof} = 'tin'"],
                ["end group"],
                ["start", "begun"],
            ],
            "choices": [["list name", "value", "label::English (en)"], ["roof", "tin", "Tin"]],
            "settings": [["form_title", "form_id", "version", "style"], ["Homes\nand roofs", "homes", 7, "pages"]],
        }
    )
    assert (form.title, form.form_id, form.version) == ("Homes and roofs", "homes", "7")
    assert form.content["schema"] == "1"
    assert form.content["translations"] == ["English (en)", "French (fr)"]
    assert form.content["translated"] == ["hint", "label"]
    assert form.content["settings"] == {
        "id_string": "homes",
        "version": "7",
        "style": "pages",
    }
    assert plain(form.content["survey"]) == [
        {"type": "start", "name": "begun"},
        {"type": "begin_group", "name": "home", "label": ["Home", "Maison"]},
        {
            "type": "select_one",
            "select_from_list_name": "roof",
            "_or_other": True,
            "name": "roof",
            "label": ["Roof?", "Toit ?"],
            "hint": [None, "Regardez"],
            "required": True,
        },
        {"type": "text", "name": "note", "label": ["Notes", None], "required": "${roof} = 'tin'"},
        {"type": "end_group"},
    ]
    assert plain(form.content["choices"]) == [{"list_name": "roof", "name": "tin", "label": ["Tin", None]}]
    assert [row.get("$xpath") for row in form.content["survey"]] == ["begun", "home", "home/roof", "home/note", None]
    assert 'id="homes"' in form.xform
    assert "<h:title>Homes" in form.xform


def test_row_ids_are_unique_over_all_forms() -> None:
    sheets: Mapping[str, Rows] = {
        "survey": [HEADER, *([["select_one x", f"q{number}", "Q"] for number in range(200)])],
        "choices": [["list_name", "name", "label"], *([["x", number, "C"] for number in range(200)])],
    }
    contents = [form_of(sheets).content for _ in range(2)]
    ids = [row["$kuid"] for content in contents for row in [*content["survey"], *content["choices"]]]
    assert len(set(ids)) == 800
    assert all(len(kuid) == 9 and kuid.isalnum() for kuid in ids)


def test_generated_names() -> None:
    survey = form_of(
        {"survey": [HEADER, ["note", None, "Read this!"], ["note", None, "Read this!"], ["note", None, "1st"]]}
    ).content["survey"]
    assert [row["$autoname"] for row in survey] == ["Read_this", "Read_this_2", "_1st"]


@pytest.mark.parametrize(
    ("header", "key"),
    [
        ("Relevance", "relevant"),
        ("bind::relevant", "relevant"),
        ("bind:relevant", "relevant"),
        ("Choice Filter", "choice_filter"),
        ("calculate", "calculation"),
        ("readonly", "read_only"),
        ("body::appearance", "appearance"),
    ],
)
def test_column_aliases(header: str, key: str) -> None:
    form = form_of({"survey": [[*HEADER, header], ["text", "a", "A", "1 = 1"]]})
    assert form.content["survey"][0][key] == "1 = 1"
    assert not form.warnings


def test_translated_media_and_messages() -> None:
    header = ["type", "name", "caption::French (fr)", "image::French (fr)", "Constraint Message::French (fr)"]
    (row,) = plain(form_of({"Survey": [header, ["text", "a", "A", "a.png", "Non"]]}).content["survey"])
    assert row == {
        "type": "text",
        "name": "a",
        "label": ["A"],
        "media::image": ["a.png"],
        "constraint_message": ["Non"],
    }


def test_hashtags_and_unknown_columns() -> None:
    (row,) = plain(
        form_of({"survey": [[*HEADER, "hxl", "Reviewer"], ["text", "a", "A", "#adm1 +name", "Ana"]]}).content["survey"]
    )
    assert row["tags"] == ["hxl:#adm1", "hxl:+name"]
    assert row["Reviewer"] == "Ana"


def test_select_from_file() -> None:
    (row,) = plain(form_of({"survey": [HEADER, ["select_one_from_file towns.csv", "a", "A"]]}).content["survey"])
    assert (row["type"], row["file"]) == ("select_one_from_file", "towns.csv")


def test_single_sheet_is_the_survey() -> None:
    form = form_of({"Feuille 1": [HEADER, ["text", "a", "A"]]}, "My survey")
    assert form.row_count == 1
    assert form.title is None
    assert "<h:title>My survey</h:title>" in form.xform


def test_other_sheets_are_kept() -> None:
    form = form_of(
        {
            "survey": [[*HEADER, "choice_filter"], ["select_one_external town", "a", "A", "x = 1"]],
            "External Choices": [["list_name", "name", "x"], ["town", "t", "1"]],
        }
    )
    assert form.content["external_choices"] == [{"list_name": "town", "name": "t", "x": "1"}]


def test_kobotoolbox_types_are_kept_but_not_compiled() -> None:
    form = form_of(
        {
            "survey": [
                [*HEADER, "kobo--matrix_list", "relevant"],
                ["begin_kobomatrix", "m", "M", "items"],
                ["integer", "m_count", "How many?"],
                ["end_kobomatrix"],
                ["text", "why", "Why?", None, "${m_count} > 3"],
            ],
            "choices": [["list_name", "name", "label"], ["items", "bed", "Bed"]],
            "settings": [["kobo--lock_all"], ["true"]],
        }
    )
    assert form.content["survey"][0]["kobo--matrix_list"] == "items"
    assert form.content["settings"] == {"kobo--lock_all": True}
    assert [warning.code for warning in form.warnings] == ["live_only_type"]
    assert 'ref="/data/why"' in form.xform


def test_metadata_in_groups_stays_there() -> None:
    rows: Rows = [
        HEADER,
        ["text", "a", "A"],
        ["begin group", "g", "G"],
        ["start", "begun"],
        ["end group"],
        ["end", "e"],
    ]
    survey = form_of({"survey": rows}).content["survey"]
    assert [row["type"] for row in survey] == ["end", "text", "begin_group", "start", "end_group"]
