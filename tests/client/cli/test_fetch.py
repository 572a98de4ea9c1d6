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
from fieldgate_client.cli.exit_codes import UsageError
from fieldgate_client.cli.fetch import split_address, split_names

from tests.client.cli.conftest import DemoServer, RunClient
from tests.processes import free_port

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
    body = httpx.get(demo_server.url + EVENTS, params=parameters).json()
    assert body["next"] is None
    assert len(body["results"]) > 10
    return list(body["results"])


def read_ndjson(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize(
    ("query", "options"), [("", NAMED), (NUMBERS, ()), (OTHER_REGION, ("--filter", "regions__in=0"))]
)
def test_filters_by_name_and_number(
    run: RunClient, demo_server: DemoServer, floods: list[Any], tmp_path: Path, query: str, options: tuple[str, ...]
) -> None:
    file = tmp_path / "floods.ndjson"
    done = run("fetch", f"{demo_server.url}{EVENTS}{query}", *options, "--out", file, "--page-size", "7")
    assert (done.code, done.out) == (0, ""), done.err
    assert done.err == f"{len(floods)} records written to {file}\n{PUBLIC}"
    assert read_ndjson(file.read_text()) == floods


def test_standard_output(run: RunClient, logged_in: DemoServer, floods: list[Any]) -> None:
    done = run("fetch", "event/", *NAMED, "--out", "-", "--quiet", "--concurrency", "8")
    assert (done.code, done.err) == (0, "")
    assert {each["id"] for each in read_ndjson(done.out)} >= {each["id"] for each in floods}


def test_formats(run: RunClient, demo_server: DemoServer, floods: list[Any], tmp_path: Path) -> None:
    ids = [each["id"] for each in floods]
    for name in ("f.ndjson.gz", "f.jsonl", "f.csv", "f.xlsx", "f.parquet", "f.geojson", "f.dat"):
        more = ("--format", "ndjson") if name == "f.dat" else ()
        assert run("fetch", f"{demo_server.url}{EVENTS}{NUMBERS}", "--out", tmp_path / name, *more).code == 0
    assert read_ndjson(gzip.decompress((tmp_path / "f.ndjson.gz").read_bytes()).decode()) == floods
    with (tmp_path / "f.csv").open(newline="", encoding="utf-8") as file:
        assert [int(row["id"]) for row in csv.DictReader(file)] == ids
    header, *rows = openpyxl.load_workbook(tmp_path / "f.xlsx").worksheets[0].iter_rows(values_only=True)
    column = header.index("id")
    assert [row[column] for row in rows] == ids
    assert json.loads((tmp_path / "f.geojson").read_text())["type"] == "FeatureCollection"
    assert (tmp_path / "f.parquet").read_bytes().startswith(b"PAR1")
    assert [each["id"] for each in read_ndjson((tmp_path / "f.dat").read_text())] == ids
    assert [each.name for each in tmp_path.iterdir() if each.name.endswith("part")] == []


def test_byte_order_mark(run: RunClient, demo_server: DemoServer, tmp_path: Path) -> None:
    run("fetch", f"{demo_server.url}{EVENTS}?id=1", "--out", tmp_path / "x.csv", "--bom")
    assert (tmp_path / "x.csv").read_bytes().startswith(b"\xef\xbb\xbf")


def test_columns(run: RunClient, demo_server: DemoServer, floods: list[Any], tmp_path: Path) -> None:
    url = f"{demo_server.url}{EVENTS}{NUMBERS}"
    chosen = ("--columns", "name, countries.name", "--columns=disaster_start_date")
    for name in ("f.csv", "f.xlsx", "f.parquet", "f.csv.gz"):
        assert run("fetch", url, *chosen, "--out", tmp_path / name).code == 0
    header = ["name", "countries.name", "disaster_start_date"]
    with (tmp_path / "f.csv").open(newline="", encoding="utf-8") as file:
        rows = [*csv.reader(file)]
    assert rows[0] == header
    assert [row[0] for row in rows[1:]] == [each["name"] for each in floods]
    assert gzip.decompress((tmp_path / "f.csv.gz").read_bytes()) == (tmp_path / "f.csv").read_bytes()
    sheet = openpyxl.load_workbook(tmp_path / "f.xlsx").worksheets[0]
    assert [cell.value for cell in sheet[1]] == header
    assert all(cell.is_date for cell in sheet["C"][1:])
    assert pyarrow.parquet.read_schema(tmp_path / "f.parquet").names == header


@pytest.mark.parametrize("name", ["x.csv", "x.csv.gz", "x.xlsx", "x.parquet"])
def test_unknown_columns(run: RunClient, demo_server: DemoServer, tmp_path: Path, name: str) -> None:
    url = f"{demo_server.url}{EVENTS}?id=1"
    done = run("fetch", url, "--columns", "id,nmae,start_date", "--out", tmp_path / name)
    assert (done.code, done.out) == (2, "")
    assert "no column 'nmae'. Did you mean name" in done.err
    assert "no column 'start_date'. Did you mean " in done.err
    assert "disaster_start_date" in done.err
    assert [*tmp_path.iterdir()] == []


def test_other_lists(run: RunClient, demo_server: DemoServer) -> None:
    done = run("fetch", f"{demo_server.url}/api/v2/permissions/?limit=3&offset=2", "--language", "fr", "--out", "-")
    records = read_ndjson(done.out)
    assert len(records) == 10
    assert "Peut" in records[0]["name"]
    assert done.err.splitlines() == [
        "limit=3 is not used: all records are read, in the format of the file.",
        "offset=2 is not used: all records are read, in the format of the file.",
        "10 records",
    ]


def test_unknown_filter_is_refused(run: RunClient, demo_server: DemoServer) -> None:
    names = ("--filter", "path=x", "--filter", "self=x")  # also names of arguments in Python
    for path in ("region/", "event/"):
        done = run("fetch", f"{demo_server.url}/api/v2/{path}", *names, "--out", "-")
        assert (done.code, done.out) == (2, "")
        assert "has no filter path or self" in done.err


def test_since(run: RunClient, demo_server: DemoServer) -> None:
    url = f"{demo_server.url}{EVENTS}?id__in=1,2,3"
    assert len(run("fetch", url, "--since", "1999-01-31", "--out", "-").out.splitlines()) == 3
    assert run("fetch", url, "--since", "2999-01-31T00:00:00Z", "--out", "-").err == f"0 records\n{PUBLIC}"
    wrong = run("fetch", url, "--since", "yesterday", "--out", "-")
    assert wrong.code == 2
    assert "'yesterday' is not a time." in wrong.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("event/", "--out", "x.doc"), "The ending of x.doc is not known."),
        (("event/", "--out", "-", "--format", "xlsx"), "xlsx cannot be written to standard output."),
        (("event/", "--out", "x.xlsx.gz"), "Use .ndjson.gz or .csv.gz."),
        (("event/", "--out", "x.xlsx", "--bom"), "--bom is for CSV files."),
        (("event/", "--out", "x.ndjson", "--columns", "id"), "--columns is for csv, xlsx and parquet, not for ndjson."),
        (("event/", "--out", "-", "--columns", "id"), "not for ndjson."),
        (("event/", "--out", "x.geojson", "--columns", "id"), "not for geojson."),
        (("event/", "--out", "x.csv", "--columns", " ,"), "--columns needs names"),
        (("event/", "--out", "x.csv", "--filter", "dtype"), "write NAME=VALUE"),
        (("assets/", "--out", "x.csv", "--country", "KEN"), "are for event/."),
        (("field.example/api/v2/event/", "--out", "x.csv"), "https://field.example/api/v2/event/"),
        (("event/", "--out", "x.csv"), "No server is chosen."),
        (("event/", "--out", "x.csv", "--server", "nope"), "There is no server named 'nope'."),
        (("ftp://field.example/", "--out", "x.csv"), "It must begin with https:// or http://."),
        (("https://secret-token@field.example/", "--out", "x.csv"), "Do not write credentials into the URL"),
    ],
)
def test_wrong_usage(
    run: RunClient, arguments: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("fetch", *arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("fieldgate-client fetch: error: ")
    assert message in done.err
    assert done.err.count("\n") == 1
    assert "secret" not in done.err
    assert [*tmp_path.iterdir()] == []


def test_unknown_name(run: RunClient, demo_server: DemoServer, tmp_path: Path) -> None:
    done = run("fetch", demo_server.url + EVENTS, "--country", "Kenia", "--out", tmp_path / "x.csv")
    assert done.code == 2
    assert "'Kenia'" in done.err
    assert "kenya" in done.err.lower()
    assert [*tmp_path.iterdir()] == []


def test_refused_filter(run: RunClient, demo_server: DemoServer, tmp_path: Path) -> None:
    done = run("fetch", f"{demo_server.url}{EVENTS}?dtype=florb", "--out", tmp_path / "x.csv")
    assert done.code == 1
    assert "dtype: " in done.err
    assert "(status 400, request " in done.err
    assert [*tmp_path.iterdir()] == []


def test_wrong_token(run: RunClient, demo_server: DemoServer, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("fgt_wrong-secret")
    done = run("fetch", demo_server.url + EVENTS, "--token-file", tmp_path / "token", "--out", "-")
    assert (done.code, done.out) == (3, "")
    assert "status 401" in done.err
    assert f"Log in with: fieldgate-client login {demo_server.url}\n" in done.err
    assert "wrong-secret" not in done.err


def test_unreachable(run: RunClient, tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{free_port()}/api/v2/event/"
    done = run("fetch", url, "--retries", "1", "--out", tmp_path / "x.csv")
    assert done.code == 4
    retry, error = done.err.splitlines()
    assert "Trying again in " in retry
    assert error.endswith("Check the address and your connection, then try again.")


def test_file_that_cannot_be_written(run: RunClient, demo_server: DemoServer, tmp_path: Path) -> None:
    done = run("fetch", demo_server.url + EVENTS, "--out", tmp_path / "none" / "x.csv")
    assert done.code == 1
    assert done.err.startswith("fieldgate-client fetch: error: ")
    assert done.err.endswith("none: There is no such folder\n")


def test_existing_file_stays_if_it_fails(run: RunClient, demo_server: DemoServer, tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_text("before")
    assert run("fetch", f"{demo_server.url}/api/v2/nothing/", "--out", file).code == 1
    assert file.read_text() == "before"
    assert run("fetch", f"{demo_server.url}/api/v2/nothing/", "--out", tmp_path / "x.csv.gz").code == 1
    assert [*tmp_path.iterdir()] == [file]


def test_debug_shows_the_traceback_without_the_token(run: RunClient, logged_in: DemoServer) -> None:
    done = run("fetch", "nothing/", "--out", "-", "--debug")
    assert done.code == 1
    assert "Traceback (most recent call last)" in done.err
    assert logged_in.token not in done.err
    assert "Traceback" not in run("fetch", "nothing/", "--out", "-").err


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("event/?dtype=12&search=a%20b", ("", "event/", [("dtype", "12"), ("search", "a b")])),
        ("/api/v2/event/", ("", "/api/v2/event/", [])),
        ("https://x.example/k/api/v2/a/?b=", ("https://x.example/k/api/v2/a/?b=", "/api/v2/a/", [("b", "")])),
    ],
)
def test_address(text: str, expected: tuple[str, str, list[tuple[str, str]]]) -> None:
    assert split_address(text) == expected


@pytest.mark.parametrize("text", ["", "/", "localhost:8000/api/v2/event/", "x.example"])
def test_no_address(text: str) -> None:
    with pytest.raises(UsageError):
        split_address(text)


def test_names_with_commas() -> None:
    assert split_names("KEN,Chad") == ["KEN", "Chad"]
    assert split_names("Korea, Republic of,KEN,") == ["Korea, Republic of", "KEN"]
