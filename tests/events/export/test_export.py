"""`/api/v2/event/export/`: all that match, however many, while others are answered and the data changes."""

import asyncio
import csv
import io
import logging
import tempfile
import threading
import time
from array import array
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from python_calamine import CalamineWorkbook

from fieldgate.db import Database, DataVersions
from fieldgate.errors import ServiceUnavailable
from fieldgate.events.document_templates import TemplateRenderer
from fieldgate.events.export import export, serializers
from fieldgate.events.export.export import EventExporter
from fieldgate.events.export.serializers import COLUMNS
from fieldgate.events.search.event_search import EventSearch
from fieldgate.events.search.filters import EventFilters
from fieldgate.events.store import EventStore, SnapshotExpired
from fieldgate.events.tables import history
from fieldgate.events.visibility import PUBLIC_SCOPE
from fieldgate.http.negotiation.formats import Format
from fieldgate.http.operations import Operation, raw
from fieldgate.http.response import responses
from fieldgate.http.response.responses import Response
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message
from fieldgate.reference.store import ReferenceStore
from tests.conftest import Service, StartService
from tests.events.event_service import INDIA, PATH, PUBLIC_COUNT, house, make_event
from tests.processes import TIMEOUT_SECONDS, ServerProcess, run_command

__all__ = ["house"]

EXPORT = f"{PATH}export/"
MANY = 1_100  # more than two batches


class ExportHarness:
    """Events in a database, and who makes files of them."""

    def __init__(self, database: Database) -> None:
        changes = DataVersions(database)
        self.database = database
        self.store = EventStore(database, changes)
        self.events = EventSearch(self.store, ReferenceStore(database, changes), changes)

    def exports(self, **options: Any) -> EventExporter:
        return EventExporter(self.events, self.store, **options)


@pytest.fixture
async def harness(database: Database) -> AsyncIterator[ExportHarness]:
    harness = ExportHarness(database)
    await harness.store.upsert([make_event(number) for number in range(1, 8)])
    yield harness
    await harness.events.stop()


@pytest.fixture(autouse=True)
def _no_leftover_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Where files are made, nothing remains of them."""
    folder = tmp_path / "made"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield
    assert not list(folder.iterdir())


def file(
    exports: EventExporter, kind: Format = Format.NDJSON, filters: EventFilters | None = None
) -> AsyncGenerator[bytes, None]:
    return exports.stream(filters or EventFilters(), PUBLIC_SCOPE, Language.ENGLISH, kind)


def told(part: bytes) -> list[tuple[int, str]]:
    records = [msgspec.json.decode(line) for line in part.splitlines()]
    return [(record["id"], record["name"]) for record in records]


async def test_more_than_one_batch(start: StartService) -> None:
    async with start() as service:
        await EventStore(service.database, service.data_versions).upsert([make_event(n) for n in range(1, MANY + 1)])
        expected = list(range(MANY, 0, -1))
        rows = list(csv.DictReader(io.StringIO((await service.get(EXPORT)).text)))
        assert [int(row["id"]) for row in rows] == expected
        lines = (await service.get(f"{EXPORT}?format=ndjson&ordering=id")).content
        assert [number for number, _ in told(lines)] == expected[::-1]
        book = CalamineWorkbook.from_filelike(io.BytesIO((await service.get(f"{EXPORT}?format=xlsx")).content))
        table = book.get_sheet_by_name("events").to_python()
        assert [row[COLUMNS.index("id")] for row in table[1:]] == expected


async def test_nothing_matches(house: Service) -> None:
    assert (await house.get(f"{EXPORT}?id=999")).text == ",".join(COLUMNS) + "\r\n"
    assert (await house.get(f"{EXPORT}?id=999&format=ndjson")).content == b""
    book = CalamineWorkbook.from_filelike(io.BytesIO((await house.get(f"{EXPORT}?id=999&format=xlsx")).content))
    assert len(book.get_sheet_by_index(0).to_python()) == 1


async def test_formats_are_chosen_as_everywhere(house: Service) -> None:
    unknown = await house.get(f"{EXPORT}?format=pdf")
    assert unknown.status_code == 404
    assert unknown.json() == {"detail": "There is no format pdf here; try one of: csv, ndjson, xlsx."}
    lines = await house.get(EXPORT, headers={"Accept": "application/x-ndjson"})
    assert len(lines.content.splitlines()) == PUBLIC_COUNT
    assert (await house.get(EXPORT, headers={"Accept": "text/html,*/*;q=0.8"})).headers["Content-Type"] == (
        "text/csv; charset=utf-8"
    )
    assert (await house.get(EXPORT, headers={"Accept": "image/png"})).status_code == 406


async def test_a_head_without_the_work(house: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(*_: object) -> None:
        raise AssertionError("work was begun")

    whole = await house.get(EXPORT)
    monkeypatch.setattr(export.EventExporter, "_load_state", refuse)
    head = await house.request("HEAD", EXPORT)
    assert (head.status_code, head.content) == (200, b"")
    own = {"x-request-id", "content-length"}
    assert {name: head.headers[name] for name in head.headers if name not in own} == {
        name: whole.headers[name] for name in whole.headers if name not in own
    }
    assert "content-length" not in head.headers


async def test_what_goes_wrong_at_the_beginning_is_told(house: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    async def miss(*_: object) -> list[bytes]:
        raise SnapshotExpired

    monkeypatch.setattr(EventStore, "documents", miss)
    for kind in ("csv", "ndjson", "xlsx"):
        refused = await house.get(f"{EXPORT}?format={kind}")
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "5")


@pytest.mark.parametrize("kind", list(export.WRITERS))
async def test_work_is_done_in_threads(harness: ExportHarness, kind: Format, monkeypatch: pytest.MonkeyPatch) -> None:
    busy: set[threading.Thread] = set()

    def noting(work: Any) -> Any:
        def noted(*arguments: Any) -> Any:
            busy.add(threading.current_thread())
            return work(*arguments)

        return noted

    monkeypatch.setattr(TemplateRenderer, "render", noting(TemplateRenderer.render))
    monkeypatch.setattr(serializers, "_to_row", noting(serializers._to_row))
    monkeypatch.setattr(export._XlsxWriter, "close", noting(export._XlsxWriter.close))
    assert b"".join([part async for part in file(harness.exports(), kind)])
    assert busy
    assert threading.current_thread() not in busy


async def test_ids_are_taken_once(harness: ExportHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what is left of them is not copied with every batch: for a million that would take seconds."""
    copied: list[int] = []
    begin = EventExporter._load_state

    class Followed(array):  # type: ignore[type-arg]
        def __getitem__(self, which: Any) -> Any:
            some = super().__getitem__(which)
            if isinstance(which, slice):
                copied.append(len(some))
                some = Followed("q", some)
            return some

    async def followed(*arguments: Any) -> Any:
        state = await begin(*arguments)
        state.ids = Followed("q", state.ids)
        return state

    monkeypatch.setattr(EventExporter, "_load_state", followed)
    found = [each async for part in file(harness.exports(batch_size=2)) for each in told(part)]
    assert [number for number, _ in found] == [7, 6, 5, 4, 3, 2, 1]
    assert copied == [2, 2, 2, 1]


async def test_a_few_files_at_once(harness: ExportHarness) -> None:
    exports = harness.exports(max_concurrent=2, batch_size=2)
    files = [file(exports) for _ in range(3)]
    assert await anext(files[0])
    assert await anext(files[1])
    with pytest.raises(ServiceUnavailable):
        await anext(files[2])
    await files[0].aclose()
    third = file(exports)
    assert await anext(third), "one left, another may come"
    await files[1].aclose()
    assert [part async for part in third]


async def test_too_many_files_are_refused(start: StartService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fieldgate.app.EventExporter", partial(EventExporter, max_concurrent=0))
    async with start() as service:
        for language, said in (("en", "Many files are being made"), ("fr", "De nombreux fichiers")):
            refused = await service.get(EXPORT, headers={"Accept-Language": language})
            assert (refused.status_code, refused.headers["Retry-After"]) == (503, "60")
            assert refused.json()["detail"].startswith(said)


async def test_sheets_that_are_full(harness: ExportHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(export.WRITERS, Format.XLSX, lambda batches: export.as_xlsx(batches, max_rows=4))
    data = b"".join([part async for part in file(harness.exports(batch_size=2), Format.XLSX)])
    book = CalamineWorkbook.from_filelike(io.BytesIO(data))
    assert book.sheet_names == ["events", "events 2", "events 3"]
    tables = [book.get_sheet_by_name(name).to_python() for name in book.sheet_names]
    assert all(tuple(table[0]) == COLUMNS for table in tables)
    assert [[row[COLUMNS.index("id")] for row in table[1:]] for table in tables] == [[7, 6, 5], [4, 3, 2], [1]]


# While the data changes


async def change(harness: ExportHarness) -> None:
    await harness.store.upsert([make_event(4, name={"en": "Renamed"}), make_event(9), make_event(3, visibility=2)])
    await harness.store.upsert([make_event(2, countries=(INDIA,))])
    await harness.store.delete([5])


async def test_an_export_is_of_the_state_at_its_beginning(harness: ExportHarness) -> None:
    parts = file(harness.exports(batch_size=2), filters=EventFilters(countries__in=(123,)))
    found = told(await anext(parts))
    await change(harness)
    found += [each async for part in parts for each in told(part)]
    assert found == [(number, f"Flood {number}") for number in range(7, 0, -1)]


@pytest.mark.parametrize("ordering", ["", "-id"])
@pytest.mark.parametrize("is_old", [True, False])
async def test_what_is_left_of_an_old_state_is_of_the_present(
    harness: ExportHarness, is_old: bool, ordering: str
) -> None:
    """Where that state cannot be read any more: what is gone, hidden or no longer matches is not in it."""
    exports = harness.exports(batch_size=2, **({"max_snapshot_age": -1} if is_old else {}))
    parts = file(exports, filters=EventFilters(countries__in=(123,), ordering=ordering))
    found = told(await anext(parts))
    await change(harness)
    async with harness.database.transaction() as connection:
        await connection.execute(history.delete())
    found += [each async for part in parts for each in told(part)]
    assert found == [(7, "Flood 7"), (6, "Flood 6"), (4, "Renamed"), (1, "Flood 1")]


# Clients that leave


def scope(path: str, query: bytes) -> dict[str, Any]:
    return {
        "type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": query,
        "headers": [(b"host", b"localhost")], "scheme": "http", "client": None,
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
async def test_a_client_that_leaves_ends_the_work(
    start: StartService, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = asyncio.Event()
    asked: list[int] = []

    async def receive() -> dict[str, Any]:
        if not asked:
            asked.append(0)
            return {"type": "http.request", "body": b""}
        await left.wait()
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            left.set()

    read = EventStore.documents

    async def counted(store: EventStore, numbers: Any, version: int) -> list[bytes]:
        asked.append(len(numbers))
        return await read(store, numbers, version)

    monkeypatch.setattr(EventStore, "documents", counted)
    monkeypatch.setattr("fieldgate.app.EventExporter", partial(EventExporter, batch_size=10))
    async with start() as service:
        await EventStore(service.database, service.data_versions).upsert([make_event(n) for n in range(1, 201)])
        await service.app(scope(EXPORT, b"format=" + kind.encode()), receive, send)
    assert len(asked) < 10, "of twenty batches"


async def test_a_client_that_takes_nothing_is_left(start: StartService, monkeypatch: pytest.MonkeyPatch) -> None:
    async def receive() -> dict[str, Any]:
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.body":
            await asyncio.Event().wait()

    monkeypatch.setattr(responses, "STREAM_SEND_TIMEOUT_SECONDS", 0.01)
    async with start() as service:
        with pytest.raises(TimeoutError):
            await service.app(scope(EXPORT, b"format=xlsx"), receive, send)


def breaking() -> Operation:
    async def parts() -> AsyncGenerator[bytes, None]:
        yield b"one"
        yield b"two"
        raise RuntimeError("the secret inside")

    @raw("/breaking/", title=Message("Ready"), description=Message("Ready"), tag="x", media_type="text/plain")
    async def breaking_off() -> Response:
        return Response(200, [(b"content-type", b"text/plain")], stream=parts())

    return breaking_off


async def test_what_breaks_off_is_noted(
    start: StartService, caplog: pytest.LogCaptureFixture, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    async with start(breaking(), access_log=True) as service:
        with caplog.at_level(logging.ERROR), pytest.raises(RuntimeError):
            await service.get("/breaking/")
    record = next(record for record in caplog.records if record.name == "fieldgate.error")
    assert record.getMessage() == "broken off"
    assert vars(record)["request_id"].encode() in capfdbinary.readouterr().err, "and the request is told of"


def test_a_slow_client_and_clients_that_leave(tmp_path: Path) -> None:
    """Against the server as people run it: others are answered meanwhile, and nothing remains of what was left."""
    data, folder = tmp_path / "data", tmp_path / "temporary"
    folder.mkdir()
    assert run_command("events", "demo", "4000", data=data).returncode == 0
    with ServerProcess(data, environment={"TMPDIR": str(folder)}) as served, served.client() as client:
        everything = client.get(PATH, params={"limit": 1}).json()["count"]
        with client.stream("GET", f"{EXPORT}?format=ndjson") as slow:
            parts = slow.iter_bytes()
            begun = next(parts)
            assert client.get("/healthz").status_code == 200
            assert (begun + b"".join(parts)).count(b"\n") == everything
        for _ in range(export.MAX_CONCURRENT_EXPORTS):
            with client.stream("GET", f"{EXPORT}?format=xlsx") as left:
                assert left.status_code == 200
                assert client.get("/healthz").status_code == 200
        until = time.monotonic() + TIMEOUT_SECONDS
        while list(folder.glob("fieldgate-export-*")):
            assert time.monotonic() < until
            time.sleep(0.05)
        assert client.get(f"{EXPORT}?id=1").status_code == 200, "there is room for others again"
    assert "Traceback" not in served.log
