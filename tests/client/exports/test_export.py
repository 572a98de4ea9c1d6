"""Lists as files, over HTTP: complete and atomic, with constant memory, synchronous and asynchronous."""

import asyncio
import csv
import io
import json
import os
import stat
import sys
from pathlib import Path
from typing import Any

import httpx
import openpyxl
import pyarrow.parquet
import pytest
from fieldgate_client import AsyncClient, MissingExtra
from fieldgate_client.connection import ConnectionOptions
from fieldgate_client.errors import FieldgateError, InvalidRequest
from fieldgate_client.exports.output_file import OutputFile

from tests.client.record_server import EVENTS, RecordServer
from tests.conftest import BASE_URL, Service, StartService
from tests.data.events import load_events
from tests.events.event_service import INDIA, NEPAL, make_event

FORMATS = ["ndjson", "csv", "xlsx", "parquet", "geojson"]
COUNTRIES = "/api/v2/country/"
CHAD = {"id": 1, "name": "Chad", "iso3": "TCD"}
KENYA = {"id": 2, "name": "Kenya", "iso3": "KEN"}


def event(number: int) -> dict[str, Any]:
    return {
        "id": number,
        "name": f"Flood {number}",
        "dtype": {"id": 12, "name": "Flood"} if number % 3 else None,
        "countries": [CHAD, KENYA][: number % 3],
        "disaster_start_date": "2021-03-04T10:20:30Z",
        "num_affected": number if number % 2 else None,
        "unknown_to_the_client": {"kept": number},
    }


RECORDS = [event(number) for number in range(25)]


def read_ids(path: Path) -> list[int]:
    """The ids in a file, in their order."""
    match path.suffix:
        case ".ndjson":
            return [json.loads(line)["id"] for line in path.read_text().splitlines()]
        case ".csv":
            return [
                int(row["id"]) for row in csv.DictReader(io.StringIO(path.read_text(), newline=""))
            ]
        case ".xlsx":
            rows = [*openpyxl.load_workbook(path).active.values]
            return [row[rows[0].index("id")] for row in rows[1:]]
        case ".parquet":
            ids: list[int] = pyarrow.parquet.read_table(path).column("id").to_pylist()
            return ids
        case _:
            return [
                *dict.fromkeys(
                    each["properties"]["id"] for each in json.loads(path.read_text())["features"]
                )
            ]


def names_in(folder: Path) -> list[str]:
    return [each.name for each in folder.iterdir()]


@pytest.mark.parametrize("format_", FORMATS)
async def test_every_record_is_in_the_file(format_: str, tmp_path: Path) -> None:
    server = RecordServer({EVENTS: RECORDS}, max_limit=10)
    expected = [record["id"] for record in RECORDS]
    progress: list[tuple[int, int | None]] = []
    with server.client() as client:
        path = tmp_path / f"sync.{format_}"
        written = getattr(client.events(), f"to_{format_}")(
            path, on_progress=lambda *numbers: progress.append(numbers)
        )
        assert written == 25
        assert getattr(client.events()[5:8], f"to_{format_}")(tmp_path / f"part.{format_}") == 3
    assert read_ids(path) == expected
    assert read_ids(tmp_path / f"part.{format_}") == expected[5:8]
    assert progress[-1] == (25, 25)
    assert len(progress) > 2
    async with server.async_client() as async_client:
        assert (
            await getattr(async_client.events(), f"to_{format_}")(
                str(tmp_path / f"async.{format_}")
            )
            == 25
        )
    assert read_ids(tmp_path / f"async.{format_}") == expected
    if format_ != "xlsx":  # has the time in it
        assert (tmp_path / f"async.{format_}").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("format_", FORMATS)
def test_a_failed_walk_leaves_no_file(format_: str, tmp_path: Path) -> None:
    path = tmp_path / f"events.{format_}"
    for before in (None, b"before"):
        if before is not None:
            path.write_bytes(before)
        server = RecordServer({EVENTS: RECORDS, COUNTRIES: []}, max_limit=10, fails_from=2)
        with server.client() as client, pytest.raises(InvalidRequest):
            getattr(client.events(), f"to_{format_}")(path)
        assert names_in(tmp_path) == ([path.name] if before else [])
        assert before is None or path.read_bytes() == before


def test_an_interrupted_export_leaves_no_file(tmp_path: Path) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with RecordServer({EVENTS: RECORDS}).client() as client:
        with pytest.raises(KeyboardInterrupt):
            client.events().to_csv(tmp_path / "events.csv", on_progress=interrupt)
        assert names_in(tmp_path) == []
        assert len(client.events()) == 25, "the client can be used again"


async def test_a_cancelled_export_leaves_no_file(tmp_path: Path) -> None:
    task: asyncio.Task[Any]
    progress = []

    def cancel(received: int, _: int | None) -> None:
        progress.append(received)
        task.cancel()

    async with RecordServer({EVENTS: RECORDS}, max_limit=10).async_client() as client:
        task = asyncio.ensure_future(
            client.events().to_csv(tmp_path / "file.csv", on_progress=cancel)
        )
        with pytest.raises(asyncio.CancelledError):
            await task
    assert progress == [10]
    assert names_in(tmp_path) == []


def test_file_objects() -> None:
    with RecordServer({EVENTS: RECORDS}, max_limit=10).client() as client:
        ndjson, table = io.BytesIO(), io.BytesIO()
        assert client.events().to_ndjson(ndjson) == client.events().to_csv(table, bom=True) == 25
    assert [json.loads(line) for line in ndjson.getvalue().splitlines()] == RECORDS
    assert table.getvalue().startswith(b"\xef\xbb\xbfid,name,dtype.name,countries.name,")
    assert len(table.getvalue().splitlines()) == 26


@pytest.mark.parametrize(
    ("method", "library", "extra"),
    [
        ("to_pandas", "pandas", "pandas"),
        ("to_polars", "polars", "polars"),
        ("to_parquet", "pyarrow", "parquet"),
        ("to_xlsx", "xlsxwriter", "xlsx"),
    ],
)
def test_a_missing_library(
    method: str, library: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    server = RecordServer({EVENTS: RECORDS})
    arguments = [tmp_path / "file"] if extra in ("parquet", "xlsx") else []
    with server.client() as client, pytest.raises(MissingExtra) as raised:
        getattr(client.events(), method)(*arguments)
    assert f"pip install 'fieldgate-client[{extra}]'" in str(raised.value)
    assert isinstance(raised.value, FieldgateError)
    assert isinstance(raised.value, ImportError)
    assert server.requests == []
    assert names_in(tmp_path) == []


def test_places_of_submissions() -> None:
    path = "/api/v2/assets/abc/data/"
    submissions = [{"_id": 1, "_geolocation": [15, 18.5]}, {"_id": 2, "_geolocation": [None, None]}]
    with RecordServer({path: submissions}).client() as client:
        features = client.list(path).to_geojson()["features"]
    assert [each["id"] for each in features] == [1, 2]
    assert [each["geometry"] for each in features] == [
        {"type": "Point", "coordinates": [18.5, 15]},
        None,
    ]


async def test_events_of_a_fieldgate_server(start: StartService, tmp_path: Path) -> None:
    async with start() as service:
        await _load(service)
        options = ConnectionOptions(transport=httpx.ASGITransport(service.app))
        async with AsyncClient(BASE_URL, page_size=7, options=options) as client:
            for format_ in FORMATS:
                path = tmp_path / f"events.{format_}"
                assert await getattr(client.events(ordering="id"), f"to_{format_}")(path) == 30
                assert read_ids(path) == [*range(1, 31)]
            records = [
                json.loads(line) for line in (tmp_path / "events.ndjson").read_text().splitlines()
            ]
            assert records == [each async for each in client.list("event/", ordering="id")]
            frame = await client.events(ordering="id").to_pandas()
        export = await service.get("/api/v2/event/export/", params={"format": "geojson"})
    own = {each["id"]: each["geometry"] for each in export.json()["features"]}
    written = json.loads((tmp_path / "events.geojson").read_text())["features"]
    assert {each["id"]: each["geometry"] for each in written} == own, "the server's own GeoJSON"
    assert None not in own.values()
    assert [*frame["countries.name"]][-1] == ", ".join(
        each["name"] for each in records[-1]["countries"]
    )
    assert str(frame["disaster_start_date"].dtype) == "datetime64[us, UTC]"
    assert {*frame.columns} >= {"name", "dtype.name", "appeals.code"}


async def _load(service: Service) -> None:
    events = [
        make_event(number, countries=(INDIA, NEPAL) if number == 30 else (NEPAL,))
        for number in range(1, 31)
    ]
    await load_events(service, events)


def test_a_file_appears_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    path.write_text("before")
    path.chmod(0o600)
    output = OutputFile(str(path))
    output.file.write(b"after")
    assert path.read_text() == "before"
    modes = {stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()}
    assert modes == {0o600}, "nobody else can read it meanwhile"
    output.commit()
    output.discard()
    assert path.read_text() == "after"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600, "as the file that it replaced"
    assert [*tmp_path.iterdir()] == [path]


def test_links_stay_links(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder" / "file")
    output = OutputFile(tmp_path / "link")
    output.file.write(b"text")
    output.commit()
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "folder" / "file").read_text() == "text"


def test_devices_and_pipes_are_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    output = OutputFile(pipe)
    output.file.write(b"text")
    output.commit()
    assert os.read(reader, 10) == b"text"
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    os.close(reader)


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="There is no such folder") as failed:
        OutputFile(tmp_path / "no" / "file.csv")
    assert failed.value.filename == str(tmp_path / "no")
