"""`fetch` against a real server."""

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import httpx
import openpyxl
import pyarrow.parquet
import pytest

from tests.client.cli.conftest import DemoServer, RunClient
from tests.processes import TIMEOUT_SECONDS

EVENTS = "/api/v2/event/"
PUBLIC = "You are not logged in: only public events.\n"
NAMED = ("--type", "Flood", "--region", "africa", "--start-date-from", "2021-01-01")
NUMBERS = "?dtype=12&regions__in=0&disaster_start_date__gte=2021-01-01"
OTHER_REGION = "?dtype=12&disaster_start_date__gte=2021-01-01&regions__in=2"


@pytest.fixture(scope="module")
def floods(demo_server: DemoServer) -> list[Any]:
    """All floods in Africa since 2021 that everybody can see, as the server lists them."""
    parameters = {
        "dtype": "12",
        "regions__in": "0",
        "disaster_start_date__gte": "2021-01-01T00:00:00Z",
        "limit": "1000",
    }
    body = httpx.get(demo_server.url + EVENTS, params=parameters, timeout=TIMEOUT_SECONDS).json()
    assert body["next"] is None
    assert len(body["results"]) > 10
    return list(body["results"])


def read_ndjson(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize(
    ("query", "options"),
    [
        ("", NAMED),
        (NUMBERS, ()),
        (OTHER_REGION, ("--filter", "regions__in=0")),
        (OTHER_REGION, ("--regions__in", "0")),
    ],
)
def test_filters_by_name_and_number(
    run: RunClient,
    demo_server: DemoServer,
    floods: list[Any],
    tmp_path: Path,
    query: str,
    options: tuple[str, ...],
) -> None:
    file = tmp_path / "floods.ndjson"
    done = run(
        "fetch", f"{demo_server.url}{EVENTS}{query}", *options, "--out", file, "--page-size", "7"
    )
    assert (done.code, done.out) == (0, ""), done.err
    assert done.err == f"{len(floods)} records written to {file}\n{PUBLIC}"
    assert read_ndjson(file.read_text()) == floods


def test_standard_output(run: RunClient, logged_in: DemoServer, floods: list[Any]) -> None:
    done = run("fetch", "event/", *NAMED, "--out", "-", "--quiet", "--concurrency", "8")
    assert (done.code, done.err) == (0, "")
    assert {each["id"] for each in read_ndjson(done.out)} >= {each["id"] for each in floods}


def test_columns(
    run: RunClient, demo_server: DemoServer, floods: list[Any], tmp_path: Path
) -> None:
    url = f"{demo_server.url}{EVENTS}{NUMBERS}"
    chosen = ("--columns", "name, countries.name", "--columns=disaster_start_date")
    for name in ("f.csv", "f.xlsx", "f.parquet", "f.csv.gz"):
        assert run("fetch", url, *chosen, "--out", tmp_path / name).code == 0
    header = ["name", "countries.name", "disaster_start_date"]
    with (tmp_path / "f.csv").open(newline="", encoding="utf-8") as file:
        rows = [*csv.reader(file)]
    assert rows[0] == header
    assert [row[0] for row in rows[1:]] == [each["name"] for each in floods]
    assert run("fetch", url, *chosen, "--bom", "--out", tmp_path / "bom.csv").code == 0
    assert (tmp_path / "bom.csv").read_bytes() == b"\xef\xbb\xbf" + (
        tmp_path / "f.csv"
    ).read_bytes()
    wrong = run("fetch", url, "--columns", "id,nmae", "--out", tmp_path / "wrong.csv.gz")
    assert (wrong.code, wrong.out) == (2, "")
    assert "no column nmae." in wrong.err
    assert not (tmp_path / "wrong.csv.gz").exists()
    assert (
        gzip.decompress((tmp_path / "f.csv.gz").read_bytes()) == (tmp_path / "f.csv").read_bytes()
    )
    sheet = openpyxl.load_workbook(tmp_path / "f.xlsx").worksheets[0]
    assert [cell.value for cell in sheet[1]] == header
    assert all(cell.is_date for cell in sheet["C"][1:])
    assert pyarrow.parquet.read_schema(tmp_path / "f.parquet").names == header


def test_other_lists(run: RunClient, demo_server: DemoServer) -> None:
    done = run(
        "fetch",
        f"{demo_server.url}/api/v2/permissions/?limit=3&offset=2",
        "--language",
        "fr",
        "--out",
        "-",
    )
    records = read_ndjson(done.out)
    assert len(records) == 10
    assert "Peut" in records[0]["name"]
    assert done.err.splitlines() == [
        "limit=3 is not used: all records are read, in the format of the file.",
        "offset=2 is not used: all records are read, in the format of the file.",
        "10 records",
    ]


@pytest.mark.parametrize("path", ["api/v2/imports/", "assets/?q=visit"])
def test_a_list_of_ones_own_needs_a_login(
    run: RunClient, demo_server: DemoServer, path: str, tmp_path: Path
) -> None:
    """The server answers with an empty list. An empty file would look like a result, and replace the one before."""
    file = tmp_path / "list.csv"
    file.write_text("before")
    done = run("fetch", f"{demo_server.url}/{path}", "--out", file)
    assert (done.code, done.out) == (3, "")
    assert "without a login" in done.err
    assert f"login {demo_server.url}" in done.err
    assert file.read_text() == "before"


def test_an_empty_public_list_is_a_result(run: RunClient, demo_server: DemoServer) -> None:
    for path in ("api/v2/event/?search=nothinglikethis", "api/v2/region/?search=nothinglikethis"):
        done = run("fetch", f"{demo_server.url}/{path}", "--out", "-")
        assert (done.code, done.out) == (0, "")
        assert "0 records" in done.err


def test_unknown_filter_is_refused(run: RunClient, demo_server: DemoServer) -> None:
    names = ("--filter", "path=x", "--filter", "self=x")  # also names of arguments in Python
    for path in ("region/", "event/"):
        done = run("fetch", f"{demo_server.url}/api/v2/{path}", *names, "--out", "-")
        assert (done.code, done.out) == (2, "")
        assert "has no filter path or self" in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("event/", "--out", "x.doc"), "The ending of x.doc is not known."),
        (
            ("event/", "--out", "-", "--format", "xlsx"),
            "xlsx cannot be written to standard output.",
        ),
        (("event/", "--out", "x.xlsx.gz"), "Use .ndjson.gz or .csv.gz."),
        (("event/", "--out", "x.xlsx", "--bom"), "--bom is for CSV files."),
        (
            ("event/", "--out", "x.ndjson", "--columns", "id"),
            "--columns is for csv, xlsx and parquet, not for ndjson.",
        ),
        (("event/", "--out", "x.csv", "--columns", " ,"), "--columns needs names"),
        (("event/", "--out", "x.csv", "--filter", "dtype"), "write NAME=VALUE"),
        (("assets/", "--out", "x.csv", "--country", "KEN"), "are for event/."),
        (("field.example/api/v2/event/", "--out", "x.csv"), "https://field.example/api/v2/event/"),
        (("event/", "--out", "x.csv"), "No server is chosen."),
        (("/", "--out", "x.csv"), "Write the path of a list, such as event/."),
        (("ftp://field.example/", "--out", "x.csv"), "It must begin with https:// or http://."),
        (
            ("https://secret-token@field.example/", "--out", "x.csv"),
            "Do not write credentials into the URL",
        ),
    ],
)
def test_wrong_usage(
    run: RunClient,
    arguments: tuple[str, ...],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("fetch", *arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("fieldgate-client fetch: error: ")
    assert message in done.err
    assert done.err.count("\n") == 1
    assert "secret" not in done.err
    assert [*tmp_path.iterdir()] == []


def test_debug_shows_the_traceback_without_the_token(run: RunClient, logged_in: DemoServer) -> None:
    done = run("fetch", "nothing/", "--out", "-", "--debug")
    assert done.code == 1
    assert "Traceback (most recent call last)" in done.err
    assert logged_in.token not in done.err
    assert "Traceback" not in run("fetch", "nothing/", "--out", "-").err
