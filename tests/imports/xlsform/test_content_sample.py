"""The content of an imported workbook, against a sample, and the ids and names of its rows."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fieldgate.imports.xlsform import Form, parse_workbook
from tests.imports.xlsform.forms import HEADER, LIST
from tests.imports.xlsform.workbooks import Rows, xlsx

SAMPLE = Path(__file__).parent / "content.json"
WORKBOOK: dict[str, Rows] = {
    "survey": [
        [
            "type",
            "name",
            "label::English (en)",
            "label::French (fr)",
            "required",
            "relevant",
            "hxl",
            "media::image",
        ],
        ["begin group", "home", "Home", "Maison"],
        [
            "select_one roof or_other",
            "roof",
            "Roof?",
            "Toit ?",
            "yes",
            None,
            "#shelter +type",
            "roof.png",
        ],
        ["select_multiple_from_file towns.csv", "towns", "Towns", None, "${roof} = 'tin'"],
        ["end group"],
        ["begin_kobomatrix", "items", "Items", None],
        ["integer", "count", "How many?", None, "no", "${roof} != ''"],
        ["end_kobomatrix"],
        ["note", None, "Thank you!", "Merci !"],
        ["start", "begun"],
    ],
    "choices": [
        ["list_name", "name", "label::English (en)", "colour"],
        ["roof", "tin", "Tin", "grey"],
    ],
    "settings": [["form_title", "form_id", "version", "style"], ["Homes", "homes", "7", "pages"]],
    "external_choices": [["list_name", "name", "x"], ["town", "t", "1"]],
    "entities": [["list_name", "label"], ["homes", "${roof}"]],
    "osm": [["list_name", "name", "label"], ["building", "house", "House"]],
}


def without_ids(content: dict[str, Any]) -> dict[str, Any]:
    """Ids of rows are random."""
    rows = {key: [row | {"$kuid": "id"} for row in content[key]] for key in ("survey", "choices")}
    assert all("$kuid" in row for key in rows for row in content[key])
    return content | rows


def content_of(sheets: Mapping[str, Rows]) -> dict[str, Any]:
    form = parse_workbook(xlsx(sheets), "Homes")
    assert isinstance(form, Form)
    return form.content


def test_imported_content() -> None:
    """Content is stored: clients read what was imported long ago. A change of this sample changes it for them."""
    assert without_ids(content_of(WORKBOOK)) == without_ids(
        json.loads(SAMPLE.read_text(encoding="utf-8"))
    )


def test_row_ids_are_unique_over_all_forms() -> None:
    sheets: Mapping[str, Rows] = {
        "survey": [HEADER, *([["select_one x", f"q{number}", "Q"] for number in range(200)])],
        "choices": [LIST, *([["x", number, "C"] for number in range(200)])],
    }
    contents = [content_of(sheets) for _ in range(2)]
    ids = [
        row["$kuid"] for content in contents for row in [*content["survey"], *content["choices"]]
    ]
    assert len(set(ids)) == 800
    assert all(len(kuid) == 9 and kuid.isalnum() for kuid in ids)


def test_generated_names() -> None:
    rows: Rows = [
        HEADER,
        ["note", None, "Read this!"],
        ["note", None, "Read this!"],
        ["note", None, "1st"],
    ]
    survey = content_of({"survey": rows})["survey"]
    assert [row["$autoname"] for row in survey] == ["Read_this", "Read_this_2", "_1st"]


def test_metadata_in_groups_stays_there() -> None:
    group: Rows = [["begin group", "g", "G"], ["start", "begun"], ["end group"]]
    survey = content_of({"survey": [HEADER, ["text", "a", "A"], *group, ["end", "e"]]})["survey"]
    assert [row["type"] for row in survey] == ["end", "text", "begin_group", "start", "end_group"]
