"""Downloading a form as a workbook or as an XForm, and importing it again."""

import io
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import unquote

import httpx
import pytest
from openpyxl import load_workbook

from fieldgate.imports.worker import ImportWorker
from fieldgate.settings import Settings
from tests.conftest import StartService
from tests.imports.test_worker import ImportHarness
from tests.imports.workbooks import xlsx
from tests.imports.xlsform import workbooks

XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
SURVEY: workbooks.Rows = [
    [
        "type",
        "name",
        "label::English (en)",
        "label::Français (fr)",
        "hint::English (en)",
        "relevant",
        "note to self",
    ],
    ["start", "begun"],
    ["begin group", "home", "Home", "Maison"],
    [
        "select_one roof or_other",
        "roof",
        "Roof?",
        None,
        "Look up",
        "",
        '=HYPERLINK("http://example.org")',
    ],
    ["integer", "rooms", "Rooms", "Pièces", None, "${roof} = 'tin'"],
    ["end group"],
]
CHOICES: workbooks.Rows = [
    ["list_name", "name", "label::English (en)", "label::Français (fr)", "region"],
    ["roof", "tin", "Tin", "Tôle", "north"],
    ["roof", "straw", "=1+1", "Paille", "south"],
]
SETTINGS: workbooks.Rows = [["form_title", "form_id", "version"], ["Homes", "homes", "7"]]
SHEETS = {"survey": SURVEY, "choices": CHOICES, "settings": SETTINGS}
CSV = workbooks.csv_with_sections(SHEETS)


@pytest.fixture
async def harness(start: StartService, database_url: str) -> AsyncIterator[ImportHarness]:
    async with start(database_url=database_url) as service:
        headers = {"Authorization": f"Token {await service.create_token()}"}
        yield ImportHarness(service, headers, ImportWorker(Settings(), service.database))


def stable(content: dict[str, Any]) -> dict[str, Any]:
    """The content without the random ids of rows, and without the title."""
    rows = {kind: [{**row, "$kuid": ""} for row in content[kind]] for kind in ("survey", "choices")}
    settings = {key: value for key, value in content["settings"].items() if key != "form_title"}
    return {**content, **rows, "settings": settings}


async def new_asset(
    harness: ImportHarness, data: bytes, filename: str, **fields: str
) -> dict[str, Any]:
    record = await harness.import_workbook(data, filename=filename, **fields)
    assert record["status"] == "complete", record
    return await harness.asset(record)


async def download(harness: ImportHarness, path: str, **headers: str) -> httpx.Response:
    return await harness.service.get(
        f"/api/v2/assets/{path}", headers={**harness.headers, **headers}
    )


def file_name(response: httpx.Response) -> str:
    return unquote(response.headers["Content-Disposition"].partition("filename*=UTF-8''")[2])


@pytest.mark.parametrize("suffix", [".xls", ".xlsx"])
async def test_form_from_csv_is_written_as_a_workbook(harness: ImportHarness, suffix: str) -> None:
    asset = await new_asset(harness, CSV, "homes.csv")
    response = await download(harness, asset["uid"] + suffix)
    assert (response.status_code, response.headers["Content-Type"]) == (200, XLSX)
    assert file_name(response) == "Homes.xlsx"
    book = load_workbook(io.BytesIO(response.content))
    assert book.sheetnames == ["survey", "choices", "settings"]
    assert {
        cell.data_type for sheet in book for row in sheet.iter_rows() for cell in row if cell.value
    } == {"s"}
    again = await new_asset(harness, response.content, "again.xlsx")
    assert stable(again["content"]) == stable(asset["content"])
    assert (again["name"], again["summary"]["row_count"]) == (
        "Homes",
        asset["summary"]["row_count"],
    )
    assert await xform(harness, again) == await xform(harness, asset)


async def xform(harness: ImportHarness, asset: dict[str, Any]) -> str:
    response = await download(harness, f"{asset['uid']}.xml")
    assert response.headers["Content-Type"].startswith("application/xml")
    assert (
        response.text
        == (await harness.service.get(asset["xform_link"], headers=harness.headers)).text
    )
    return response.text


@pytest.mark.parametrize(
    ("data", "filename", "suffix", "is_stored", "name"),
    [
        (workbooks.xlsx(SHEETS), "a.xlsx", ".xlsx", True, "Homes.xlsx"),
        (workbooks.xlsx(SHEETS), "a.xlsx", ".xls", True, "Homes.xlsx"),
        (workbooks.xls(SHEETS), "a.xls", ".xls", True, "Homes.xls"),
        (workbooks.xls(SHEETS), "a.xls", ".xlsx", False, "Homes.xlsx"),
        (workbooks.ods(SHEETS), "a.ods", ".xls", False, "Homes.xlsx"),
        (workbooks.xlsm(SHEETS), "a.xlsm", ".xlsx", False, "Homes.xlsx"),
    ],
)
async def test_uploaded_file_is_sent_if_it_is_that_kind_of_workbook(
    harness: ImportHarness, data: bytes, filename: str, suffix: str, is_stored: bool, name: str
) -> None:
    asset = await new_asset(harness, data, filename)
    response = await download(harness, asset["uid"] + suffix)
    assert (response.content == data) == is_stored
    assert file_name(response) == name
    assert response.headers["Content-Type"] == (
        XLSX if name.endswith(".xlsx") else "application/vnd.ms-excel"
    )
    assert "Content-Encoding" not in response.headers


async def test_file_of_an_older_version_is_not_sent(harness: ImportHarness) -> None:
    first = workbooks.xlsx(SHEETS)
    asset = await new_asset(harness, first, "a.xlsx")
    await harness.import_workbook(
        CSV.replace(b"Rooms", b"Chambers"), filename="b.csv", destination=asset["uid"]
    )
    response = await download(harness, f"{asset['uid']}.xlsx")
    assert response.content != first
    assert "Chambers" in {
        cell.value for row in load_workbook(io.BytesIO(response.content))["survey"] for cell in row
    }


@pytest.mark.parametrize("suffix", ["xls", "xlsx", "xml"])
async def test_path_with_the_uid_twice(harness: ImportHarness, suffix: str) -> None:
    asset = await new_asset(harness, CSV, "homes.csv")
    uid = asset["uid"]
    plain, twice = (
        await download(harness, f"{uid}.{suffix}"),
        await download(harness, f"{uid}/{uid}.{suffix}"),
    )
    assert (twice.status_code, twice.content) == (200, plain.content)
    assert (await download(harness, f"{uid}/another.{suffix}")).status_code == 404


async def test_conditional_requests_and_head(harness: ImportHarness) -> None:
    asset = await new_asset(harness, CSV, "homes.csv")
    path = f"{asset['uid']}.xlsx"
    first = await download(harness, path)
    etag = first.headers["ETag"]
    assert first.headers["Cache-Control"] == "private, no-cache"
    assert {"Authorization", "Cookie"} <= {*first.headers["Vary"].split(", ")}
    unchanged = await download(harness, path, **{"If-None-Match": etag})
    assert (unchanged.status_code, unchanged.content, unchanged.headers["ETag"]) == (304, b"", etag)
    head = await harness.service.request("HEAD", f"/api/v2/assets/{path}", headers=harness.headers)
    assert head.content == b""
    for name in ("ETag", "Content-Type", "Content-Length", "Content-Disposition", "Vary"):
        assert head.headers[name] == first.headers[name]
    assert (await download(harness, f"{asset['uid']}.xls")).headers["ETag"] != etag
    await harness.service.client.patch(
        f"/api/v2/assets/{asset['uid']}/", headers=harness.headers, json={"name": "Other"}
    )
    renamed = await download(harness, path, **{"If-None-Match": etag})
    assert (renamed.status_code, file_name(renamed)) == (200, "Other.xlsx")
    assert load_workbook(io.BytesIO(renamed.content))["settings"]["A2"].value == "Other"


@pytest.mark.parametrize(
    ("name", "saved_as", "plain"),
    [
        ("a b (1).v2", "a b (1).v2.xlsx", "a b (1).v2.xlsx"),
        ('x"; filename="y.exe', "x_; filename=_y.exe.xlsx", "{uid}.xlsx"),
        ("../../etc/passwd\r\nX-Evil: 1", "etc_passwd", ""),
        ("مسح الأسر", "مسح الأسر.xlsx", "{uid}.xlsx"),
        ("slx.\u202eexe", "slx.", ""),
        (" . ", "{uid}.xlsx", "{uid}.xlsx"),
        ("x" * 255, "x" * 100 + ".xlsx", "x" * 100 + ".xlsx"),
    ],
)
async def test_file_names(harness: ImportHarness, name: str, saved_as: str, plain: str) -> None:
    asset = await new_asset(harness, xlsx(), "a.xlsx")
    url = f"/api/v2/assets/{asset['uid']}/"
    changed = await harness.service.client.patch(url, headers=harness.headers, json={"name": name})
    assert changed.status_code == 200
    response = await download(harness, f"{asset['uid']}.xlsx")
    assert "x-evil" not in response.headers
    saved, header = file_name(response), response.headers["Content-Disposition"]
    assert saved.startswith(saved_as.replace("{uid}", asset["uid"]))
    assert saved.endswith(".xlsx")
    assert not {*'\u202e/\\"\r\n'} & {*saved}
    assert header.startswith('attachment; filename="' + plain.replace("{uid}", asset["uid"]))


async def test_blocks_questions_and_collections(harness: ImportHarness) -> None:
    header = ("block", "type", "name", "label", "tag::health")
    rows = (
        header,
        ("b", "text", None, "First?", "x"),
        ("b", "select_one l", "second", "Second?"),
        (None, "note", None, "N"),
    )
    choices = (("list_name", "name", "label"), ("l", "1", "One"), ("m", "2", "Two"))
    record = await harness.import_workbook(xlsx(library=rows, choices=choices), library="true")
    collection = record["messages"]["created"][0]["uid"]
    refused = await download(harness, f"{collection}.xlsx", **{"Accept-Language": "fr"})
    assert (refused.status_code, refused.json()["detail"][:14]) == (404, "Une collection")
    listed = (await harness.get("/api/v2/assets/?asset_type=block"))["results"]
    [block] = [await harness.get(each["url"]) for each in listed]
    assert (await download(harness, f"{block['uid']}.xml")).status_code == 404
    response = await download(harness, f"{block['uid']}.xls")
    book = load_workbook(io.BytesIO(response.content))
    assert [[cell.value for cell in row] for row in book["survey"]] == [
        ["type", "name", "label"],
        ["text", "First", "First?"],
        ["select_one l", "second", "Second?"],
    ]
    assert book.sheetnames == ["survey", "choices"]
    again = await new_asset(harness, response.content, "again.xlsx", library="true")
    assert again["asset_type"] == "block"
    assert again["content"]["choices"][0]["label"] == ["One"]


async def test_cell_that_excel_cannot_hold(harness: ImportHarness) -> None:
    asset = await new_asset(harness, CSV.replace(b"Look up", b"x" * 40_000), "homes.csv")
    response = await download(harness, f"{asset['uid']}.xlsx")
    assert (response.status_code, "Excel" in response.json()["detail"]) == (404, True)
