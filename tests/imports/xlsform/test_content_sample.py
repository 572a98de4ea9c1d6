"""The content of an imported workbook, against a sample."""

import json
from pathlib import Path
from typing import Any

from fieldgate.imports.xlsform import Form, parse_workbook
from tests.imports.xlsform.workbooks import Rows, xlsx

SAMPLE = Path(__file__).parent / "content.json"
WORKBOOK: dict[str, Rows] = {
    "survey": [
        ["type", "name", "label::English (en)", "label::French (fr)", "required", "relevant", "hxl", "media::image"],
        ["begin group", "home", "Home", "Maison"],
        ["select_one roof or_other", "roof", "Roof?", "Toit ?", "yes", None, "#shelter +type", "roof.png"],
        ["select_multiple_from_file towns.csv", "towns", "Towns", None, "${roof} = 'tin'"],
        ["end group"],
        ["begin_kobomatrix", "items", "Items", None],
        ["integer", "count", "How many?", None, "no", "${roof} != ''"],
        ["end_kobomatrix"],
        ["note", None, "Thank you!", "Merci !"],
        ["start", "begun"],
    ],
    "choices": [["list_name", "name", "label::English (en)", "colour"], ["roof", "tin", "Tin", "grey"]],
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


def imported() -> dict[str, Any]:
    form = parse_workbook(xlsx(WORKBOOK), "Homes")
    assert isinstance(form, Form)
    return without_ids(form.content)


def test_imported_content() -> None:
    """Content is stored: clients read what was imported long ago. A change of this sample changes it for them."""
    assert imported() == without_ids(json.loads(SAMPLE.read_text(encoding="utf-8")))
