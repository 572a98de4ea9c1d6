"""What forms in the field contain, sent to a served process: constructs that were refused or changed, and locks."""

import time
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import httpx
import pytest

from tests.imports.xlsform.forms import GOOD, HEADER, LIST
from tests.imports.xlsform.workbooks import Rows, xlsx
from tests.processes import TIMEOUT_SECONDS, ServerProcess

TITLE = "{http://www.w3.org/1999/xhtml}title"
MODEL = "{http://www.w3.org/2002/xforms}"
TRANSLATION = f".//{MODEL}translation"


class Importer:
    """A client of a served process that imports forms as the demo user."""

    def __init__(self, client: httpx.Client) -> None:
        self.client = client

    def run(self, sheets: dict[str, Rows] | bytes, language: str = "en", **fields: str) -> dict[str, Any]:
        """Import a workbook and return the record of the finished import."""
        data = sheets if isinstance(sheets, bytes) else xlsx(sheets)
        sent = self.client.post("/api/v2/imports/", files={"file": ("form.xlsx", data)}, data=fields)
        assert sent.status_code == 201, sent.text
        until = time.monotonic() + TIMEOUT_SECONDS
        while (record := self.get(sent.json()["url"], language))["status"] == "processing":
            assert time.monotonic() < until, record
            time.sleep(0.02)
        return record

    def accept(self, sheets: dict[str, Rows] | bytes, **fields: str) -> dict[str, Any]:
        """Import a workbook without problems and return the asset."""
        messages = self.run(sheets, **fields)["messages"]
        assert "error" not in messages, messages
        asset = self.get(f"/api/v2/assets/{(messages.get('created') or messages['updated'])[0]['uid']}/")
        return {**asset, "warnings": messages.get("warnings", [])}

    def get(self, url: str, language: str = "en") -> dict[str, Any]:
        response = self.client.get(url, headers={"Accept-Language": language})
        assert response.status_code == 200, response.text
        found: dict[str, Any] = response.json()
        return found

    def xform(self, asset: dict[str, Any]) -> ElementTree.Element:
        response = self.client.get(asset["xform_link"])
        assert response.status_code == 200, response.text
        return ElementTree.fromstring(response.text)


@pytest.fixture(scope="module")
def importer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Importer]:
    with ServerProcess(tmp_path_factory.mktemp("served"), "--demo") as served, served.client() as client:
        client.headers["Authorization"] = f"Token {served.printed_value('token')}"
        yield Importer(client)


def codes(issues: list[dict[str, Any]]) -> list[tuple[str, int | None]]:
    return [(issue["code"], issue["row"]) for issue in issues]


LOCKED: dict[str, Rows] = {
    "survey": [[*HEADER, "kobo--locking-profile"], [*GOOD, "strict"], ["text", "free", "Free"]],
    "settings": [["kobo—lock_all"], [True]],
    "kobo–locking-profiles": [
        ["restriction", "strict", "Very strict"],
        ["choice_add", "locked", "locked"],
        ["form_replace", None, "Locked"],
    ],
}


@pytest.mark.parametrize(("asset_type", "dash"), [("survey", "--"), ("template", "--"), ("survey", "–")])
def test_locks_are_kept(importer: Importer, asset_type: str, dash: str) -> None:
    header, *rows = LOCKED["survey"]
    survey: Rows = [[str(name).replace("--", dash) for name in header], *rows]
    asset = importer.accept({**LOCKED, "survey": survey}, desired_type=asset_type)
    content = asset["content"]
    assert content["kobo--locking-profiles"] == [
        {"name": "strict", "restrictions": ["choice_add"]},
        {"name": "Very strict", "restrictions": ["choice_add", "form_replace"]},
    ]
    assert content["settings"] == {"kobo--lock_all": True}
    assert [row.get("kobo--locking-profile") for row in content["survey"]] == ["strict", None]
    assert (asset["summary"]["lock_all"], asset["summary"]["lock_any"]) == (True, True)


def test_locks_of_rows_only_and_of_no_row(importer: Importer) -> None:
    rows_only = {key: rows for key, rows in LOCKED.items() if key != "settings"}
    summary = importer.accept(rows_only)["summary"]
    assert (summary["lock_all"], summary["lock_any"]) == (False, True)
    unused = {**rows_only, "survey": [HEADER, GOOD]}
    summary = importer.accept(unused)["summary"]
    assert (summary["lock_all"], summary["lock_any"]) == (False, False)
    assert "lock_any" not in importer.accept({"survey": [HEADER, GOOD]})["summary"]


def test_locks_are_stripped_from_blocks_and_questions(importer: Importer) -> None:
    question = {**LOCKED, "survey": LOCKED["survey"][:2]}
    for sheets, asset_type in ((LOCKED, "block"), (question, "question")):
        asset = importer.accept(sheets, library="true")
        assert asset["asset_type"] == asset_type
        assert "kobo--" not in str(asset["content"])
        assert not {"lock_all", "lock_any"} & asset["summary"].keys()
        assert "kobo--locking-profile" not in asset["summary"]["columns"]


@pytest.mark.parametrize("separator", [":", "::"])
def test_tags_with_a_colon_stay_unchanged(importer: Importer, separator: str) -> None:
    library: Rows = [
        ["block", *HEADER, f"tag{separator}subject:fungus", f"Tag {separator} colour", "hint::French"],
        ["mushrooms", *GOOD, "yes", "no", "Ici"],
        ["mushrooms", "text", "other", "Other", "", "", ""],
    ]
    collection = importer.accept({"library": library}, library="true")
    found = importer.get("/api/v2/assets/?q=mushrooms")["results"]
    (block,) = [asset for asset in found if asset["parent"] == collection["url"]]
    assert block["tag_string"] == "subject:fungus"


def test_renaming_an_asset_renames_its_xform(importer: Importer) -> None:
    asset = importer.accept({"survey": [HEADER, GOOD], "settings": [["form_title", "form_id"], ["Homes", "homes"]]})
    assert asset["name"] == "Homes"
    assert asset["content"]["settings"] == {"id_string": "homes"}
    assert importer.xform(asset).findtext(f".//{TITLE}") == "Homes"
    renamed = importer.client.patch(asset["url"], json={"name": "Roofs & <walls> \\1"})
    assert renamed.status_code == 200
    assert importer.xform(asset).findtext(f".//{TITLE}") == "Roofs & <walls> \\1"


ACCEPTED: dict[str, dict[str, Rows]] = {
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
    "message of a constraint": {
        "survey": [[*HEADER, "bind:constraint", "bind:jr:constraintMsg"], ["integer", "a", "A", ". > 1", "More!"]]
    },
    "number before an operator": {
        "survey": [[*HEADER, "calculation"], ["integer", "x", "X"], ["calculate", "c", None, "${x}*100div${x}"]]
    },
    "blank rows before the choices, which nothing uses": {
        "survey": [HEADER, GOOD],
        "choices": [[], [None, None], LIST, ["x", "1", "One"], ["x", "1", "Again"], ["y", None, "No name"]],
    },
    "blank rows before the choices": {
        "survey": [HEADER, ["select_one x", "a", "A"]],
        "choices": [[], [None, None], LIST, ["x", "1", "One"]],
    },
    "leftovers far below the form": {"survey": [HEADER, GOOD, *([] for _ in range(61)), ["end group"], ["florb"]]},
    "calculated when another answer changes": {"survey": [[*HEADER, "trigger"], GOOD, ["text", "a", None, "${good}"]]},
    "column of a file with a colon": {
        "survey": [[*HEADER, "calculation"], ["calculate", "a", None, "instance('pumps')/root/item[1]/fuel:diesel"]]
    },
}


@pytest.mark.parametrize("construct", ACCEPTED)
def test_construct_is_accepted(importer: Importer, construct: str) -> None:
    importer.xform(importer.accept(ACCEPTED[construct]))
