"""Lists as files, over HTTP: complete and atomic, with constant memory, synchronous and asynchronous."""

import asyncio
import csv
import io
import json
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import httpx
import msgspec
import openpyxl
import pyarrow.parquet
import pytest
from fieldgate_client import AsyncClient, MissingExtra
from fieldgate_client.connection import ConnectionOptions
from fieldgate_client.errors import FieldgateError, InvalidRequest, UnexpectedResponse
from fieldgate_client.exports import arrow, csv_file
from fieldgate_client.exports.csv_file import write_csv
from fieldgate_client.exports.table import Table
from fieldgate_client.exports.xlsx import write_xlsx
from fieldgate_client.records import Event

from fieldgate.events.store import EventStore
from tests.client.record_server import EVENTS, RecordServer
from tests.conftest import BASE_URL, Service, StartService
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
            return [int(row["id"]) for row in csv.DictReader(io.StringIO(path.read_text(), newline=""))]
        case ".xlsx":
            rows = [*openpyxl.load_workbook(path).active.values]
            return [row[rows[0].index("id")] for row in rows[1:]]
        case ".parquet":
            ids: list[int] = pyarrow.parquet.read_table(path).column("id").to_pylist()
            return ids
        case _:
            return [*dict.fromkeys(each["properties"]["id"] for each in json.loads(path.read_text())["features"])]


def names_in(folder: Path) -> list[str]:
    return [each.name for each in folder.iterdir()]


@pytest.mark.parametrize("format_", FORMATS)
async def test_every_record_is_in_the_file(format_: str, tmp_path: Path) -> None:
    server = RecordServer({EVENTS: RECORDS}, max_limit=10)
    expected = [record["id"] for record in RECORDS]
    progress: list[tuple[int, int | None]] = []
    with server.client() as client:
        path = tmp_path / f"sync.{format_}"
        written = getattr(client.events(), f"to_{format_}")(path, on_progress=lambda *numbers: progress.append(numbers))
        assert written == 25
        assert getattr(client.events()[5:8], f"to_{format_}")(tmp_path / f"part.{format_}") == 3
    assert read_ids(path) == expected
    assert read_ids(tmp_path / f"part.{format_}") == expected[5:8]
    assert progress[-1] == (25, 25)
    assert len(progress) > 2
    async with server.async_client() as async_client:
        assert await getattr(async_client.events(), f"to_{format_}")(str(tmp_path / f"async.{format_}")) == 25
    assert read_ids(tmp_path / f"async.{format_}") == expected
    if format_ != "xlsx":  # has the time in it
        assert (tmp_path / f"async.{format_}").read_bytes() == path.read_bytes()


async def test_data_frames() -> None:
    server = RecordServer({EVENTS: RECORDS}, max_limit=10)
    with server.client() as client:
        frame, other = client.events().to_pandas(), client.events().to_polars()
        nested, other_nested = client.events().to_pandas(flatten=False), client.events().to_polars(flatten=False)
    async with server.async_client() as async_client:
        assert (await async_client.events().to_pandas()).equals(frame)
        assert (await async_client.events().to_polars()).equals(other)
        assert len(await async_client.events()[:3].to_pandas(flatten=False)) == 3
    expected = [record["id"] for record in RECORDS]
    assert [*frame["id"]] == [*other["id"]] == [*nested["id"]] == [*other_nested["id"]] == expected
    assert [*frame["unknown_to_the_client.kept"]] == expected
    assert nested["countries"][2] == other_nested["countries"].to_list()[2] == [CHAD, KENYA]


@pytest.mark.parametrize("format_", FORMATS)
async def test_a_failed_walk_leaves_no_file(format_: str, tmp_path: Path) -> None:
    path = tmp_path / f"events.{format_}"
    for is_async in (False, True):
        for before in (None, b"before"):
            path.unlink(missing_ok=True)
            if before is not None:
                path.write_bytes(before)
            server = RecordServer({EVENTS: RECORDS, COUNTRIES: []}, max_limit=10, fails_from=2)
            with pytest.raises(InvalidRequest):
                if is_async:
                    async with server.async_client() as async_client:
                        await getattr(async_client.events(), f"to_{format_}")(path)
                else:
                    with server.client() as client:
                        getattr(client.events(), f"to_{format_}")(path)
            assert names_in(tmp_path) == ([path.name] if before else [])
            assert before is None or path.read_bytes() == before


def test_a_target_that_cannot_be_written_costs_no_request(tmp_path: Path) -> None:
    server = RecordServer({EVENTS: RECORDS})
    with server.client() as client, pytest.raises(FileNotFoundError):
        client.events().to_csv(tmp_path / "missing" / "events.csv")
    assert server.requests == []


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
        task = asyncio.ensure_future(client.events().to_csv(tmp_path / "file.csv", on_progress=cancel))
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


def test_an_empty_list_has_the_columns_of_its_type(tmp_path: Path) -> None:
    with RecordServer({EVENTS: []}).client() as client:
        assert client.events().to_csv(tmp_path / "events.csv") == 0
        assert client.list("event/").to_csv(tmp_path / "dicts.csv") == 0
        assert client.events().to_geojson() == {"type": "FeatureCollection", "features": []}
        assert client.events().to_geojson(tmp_path / "events.geojson") == 0
        assert client.events().to_ndjson(tmp_path / "events.ndjson") == 0
    header = (tmp_path / "events.csv").read_text().strip().split(",")
    assert header[:10] == [*Event.leading_columns]
    assert header[10:13] == ["slug", "dtype.id", "dtype.summary"]
    assert "countries.iso3" in header
    assert (tmp_path / "dicts.csv").read_bytes() == (tmp_path / "events.ndjson").read_bytes() == b""
    assert json.loads((tmp_path / "events.geojson").read_text())["features"] == []


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
    assert f'pip install "./client[{extra}]"' in str(raised.value)
    assert isinstance(raised.value, FieldgateError)
    assert isinstance(raised.value, ImportError)
    assert server.requests == []
    assert names_in(tmp_path) == []


def test_points_of_countries(tmp_path: Path) -> None:
    places = [
        {"id": 1, "centroid": {"type": "Point", "coordinates": [18.5, 15]}},
        {"id": 2, "centroid": {"type": "Point", "coordinates": [500, "x"]}},
        {"id": 3, "centroid": None},
    ]
    with RecordServer({EVENTS: RECORDS[:3], COUNTRIES: places}).client() as client:
        collection = client.events().to_geojson()
        assert client.events().to_geojson(tmp_path / "events.geojson") == 3
    assert json.loads((tmp_path / "events.geojson").read_text()) == collection
    none, chad, *both = collection["features"]
    assert none["geometry"] is None
    assert none["id"] == 0
    assert chad["geometry"] == {"type": "Point", "coordinates": [18.5, 15]}
    assert chad["id"] == "1-1"
    assert [each["id"] for each in both] == ["2-1", "2-2"]
    assert [each["geometry"] is None for each in both] == [False, True]
    assert [each["properties"]["country"] for each in both] == ["Chad", "Kenya"]
    assert both[1]["properties"]["unknown_to_the_client.kept"] == 2


def test_places_of_submissions() -> None:
    path = "/api/v2/assets/abc/data/"
    submissions = [{"_id": 1, "_geolocation": [15, 18.5]}, {"_id": 2, "_geolocation": [None, None]}]
    with RecordServer({path: submissions}).client() as client:
        features = client.list(path).to_geojson()["features"]
    assert [each["id"] for each in features] == [1, 2]
    assert [each["geometry"] for each in features] == [{"type": "Point", "coordinates": [18.5, 15]}, None]


def make_table(records: int, tmp_path: Path) -> Table:
    table = Table(Event, folder=str(tmp_path))
    for start in range(0, records, 50):
        table.write([msgspec.Raw(msgspec.json.encode(event(number))) for number in range(start, start + 50)])
    return table


def peak_bytes(write: Callable[[Table, BinaryIO], None], records: int, tmp_path: Path) -> int:
    tracemalloc.start()
    try:
        with make_table(records, tmp_path) as table, (tmp_path / "file").open("wb") as file:
            write(table, file)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.nightly
@pytest.mark.parametrize("write", [write_csv, write_xlsx, arrow.write_parquet])
def test_memory_does_not_grow_with_the_list(
    write: Callable[[Table, BinaryIO], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrow, "ROWS_PER_BATCH", 100)
    monkeypatch.setattr(csv_file, "ROWS_PER_WRITE", 100)
    peak_bytes(write, 50, tmp_path)  # loads libraries
    few, many = peak_bytes(write, 200, tmp_path), peak_bytes(write, 1500, tmp_path)
    assert many < few * 1.25 + 100_000


@pytest.mark.parametrize("text", [rb"\ud800", rb"a\udc00b", rb"\ud800\ud800"])
@pytest.mark.parametrize("format_", FORMATS)
def test_half_a_character_is_an_error(text: bytes, format_: str, tmp_path: Path) -> None:
    """Lone surrogates are no text: no file can contain them."""
    server = RecordServer({EVENTS: [b'{"id":1,"name":"%s"}' % text]})
    with server.client() as client, pytest.raises(UnexpectedResponse):
        getattr(client.events(), f"to_{format_}")(tmp_path / "file")
    assert names_in(tmp_path) == []


async def test_events_of_a_fieldgate_server(start: StartService, tmp_path: Path) -> None:
    async with start() as service:
        await _load(service)
        options = ConnectionOptions(transport=httpx.ASGITransport(service.app))
        async with AsyncClient(BASE_URL, page_size=7, options=options) as client:
            for format_ in FORMATS:
                path = tmp_path / f"events.{format_}"
                assert await getattr(client.events(ordering="id"), f"to_{format_}")(path) == 30
                assert read_ids(path) == [*range(1, 31)]
            records = [json.loads(line) for line in (tmp_path / "events.ndjson").read_text().splitlines()]
            assert records == [each async for each in client.list("event/", ordering="id")]
            frame = await client.events(ordering="id").to_pandas()
        export = await service.get("/api/v2/event/export/", params={"format": "geojson"})
    own = {each["id"]: each["geometry"] for each in export.json()["features"]}
    written = json.loads((tmp_path / "events.geojson").read_text())["features"]
    assert {each["id"]: each["geometry"] for each in written} == own, "the server's own GeoJSON"
    assert None not in own.values()
    assert [*frame["countries.name"]][-1] == ", ".join(each["name"] for each in records[-1]["countries"])
    assert str(frame["disaster_start_date"].dtype) == "datetime64[us, UTC]"
    assert {*frame.columns} >= {"name", "dtype.name", "appeals.code"}


async def _load(service: Service) -> None:
    events = [make_event(number, countries=(INDIA, NEPAL) if number == 30 else (NEPAL,)) for number in range(1, 31)]
    await EventStore(service.database, service.data_versions).upsert(events)
