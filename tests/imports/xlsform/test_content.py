"""The content of a form."""

from collections.abc import Mapping

from fieldgate.imports.xlsform import Form, parse_workbook
from tests.imports.xlsform.workbooks import Rows, xlsx

HEADER = ["type", "name", "label"]


def form_of(sheets: Mapping[str, Rows], name: str = "form") -> Form:
    form = parse_workbook(xlsx(sheets), name)
    assert isinstance(form, Form)
    return form


def plain(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    return [{key: value for key, value in row.items() if not key.startswith("$")} for row in rows]


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
