"""`/api/v2/event/export/`: all formats, concurrent changes, and clients that disconnect."""

import asyncio
import csv
import io
import sqlite3
import tempfile
import threading
import xml.etree.ElementTree as ElementTree
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from python_calamine import CalamineWorkbook
from sqlalchemy import text

from fieldgate.db import AsyncDatabase, DataVersions
from fieldgate.errors import ServiceUnavailable
from fieldgate.events.export import xlsx
from fieldgate.events.export.exporter import EventExporter
from fieldgate.events.export.file_context import FileContext
from fieldgate.events.export.serializers import NDJSON, SERIALIZERS, XLSX, EventSerializer
from fieldgate.events.search.event_search import EventSearch
from fieldgate.events.search.filters import EventFilters
from fieldgate.events.store import EventStore
from fieldgate.events.visibility import PUBLIC_SCOPE
from fieldgate.http.operations import Operation, Routes
from fieldgate.http.response.responses import Response
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message
from fieldgate.identity import Scope
from fieldgate.overload import Exports
from fieldgate.reference.reference_data import ReferenceData
from fieldgate.reference.store import ReferenceStore
from tests.conftest import Service, StartService
from tests.events.event_service import INDIA, PATH, PUBLIC_COUNT, event_service, make_event
from tests.events.stored_events import delete_events

__all__ = ["event_service"]

EXPORT = f"{PATH}export/"
EVENT_COUNT = 1_100  # more than two batches


class ExportHarness:
    """Events in a database, and exporters of them."""

    def __init__(self, database: AsyncDatabase) -> None:
        data_versions = DataVersions(database)
        self.database = database
        self.exports = Exports()
        self.store = EventStore(database, data_versions)
        self.search = EventSearch(
            self.store, ReferenceStore(database, data_versions), data_versions
        )

    def exporter(self, **options: Any) -> EventExporter:
        return EventExporter(self.search, self.exports, **options)


@pytest.fixture
async def harness(database: AsyncDatabase) -> AsyncIterator[ExportHarness]:
    harness = ExportHarness(database)
    await harness.store.upsert([make_event(id_) for id_ in range(1, 8)])
    yield harness
    await harness.search.stop()


@pytest.fixture(autouse=True)
def _no_leftover_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Check that no temporary file is left behind."""
    folder = tmp_path / "exports"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield
    assert not list(folder.iterdir())


def export(
    exporter: EventExporter,
    serializer: EventSerializer = NDJSON,
    filters: EventFilters | None = None,
    caller: int = 1,
) -> AsyncGenerator[bytes, None]:
    context = FileContext(language=Language.ENGLISH, reference_data=ReferenceData([], []))
    return exporter.stream(filters or EventFilters(), PUBLIC_SCOPE, serializer, context, caller)


def ids_and_names(chunk: bytes) -> list[tuple[int, str]]:
    records = [msgspec.json.decode(line) for line in chunk.splitlines()]
    return [(record["id"], record["name"]) for record in records]


async def test_export_of_several_batches(start: StartService) -> None:
    async with start() as service:
        await EventStore(service.database, service.data_versions).upsert(
            [make_event(n) for n in range(1, EVENT_COUNT + 1)]
        )
        expected = list(range(EVENT_COUNT, 0, -1))
        rows = list(csv.DictReader(io.StringIO((await service.get(EXPORT)).text)))
        assert [int(row["id"]) for row in rows] == expected
        lines = (await service.get(f"{EXPORT}?format=ndjson&ordering=id")).content
        assert [id_ for id_, _ in ids_and_names(lines)] == expected[::-1]
        book = CalamineWorkbook.from_filelike(
            io.BytesIO((await service.get(f"{EXPORT}?format=xlsx")).content)
        )
        table = book.get_sheet_by_name("events").to_python()
        assert [row[0] for row in table[1:]] == expected
        assert (
            len((await service.get(f"{EXPORT}?format=geojson")).json()["features"]) == EVENT_COUNT
        )
        feed = ElementTree.fromstring((await service.get(f"{EXPORT}?format=atom")).content)
        assert len(feed.findall("{http://www.w3.org/2005/Atom}entry")) == EVENT_COUNT


async def test_format_negotiation(event_service: Service) -> None:
    unknown = await event_service.get(f"{EXPORT}?format=pdf")
    assert unknown.status_code == 404
    assert unknown.json() == {
        "detail": "There is no format pdf here; try one of: csv, ndjson, xlsx, geojson, atom."
    }
    lines = await event_service.get(EXPORT, headers={"Accept": "application/x-ndjson"})
    assert len(lines.content.splitlines()) == PUBLIC_COUNT
    assert (await event_service.get(EXPORT, headers={"Accept": "text/html,*/*;q=0.8"})).headers[
        "Content-Type"
    ] == ("text/csv; charset=utf-8")
    assert (await event_service.get(EXPORT, headers={"Accept": "image/png"})).status_code == 406


async def test_error_before_the_first_chunk_has_a_status(
    event_service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> list[bytes]:
        raise ServiceUnavailable

    monkeypatch.setattr(EventStore, "documents", fail)
    for serializer in SERIALIZERS.values():
        refused = await event_service.get(f"{EXPORT}?format={serializer.format.query_value}")
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "5")


async def test_concurrent_exports_are_limited(
    harness: ExportHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fieldgate.overload.WAIT_SECONDS", 0)
    exporter = harness.exporter(batch_size=2)
    files = [export(exporter) for _ in range(3)]
    assert await anext(files[0])
    assert await anext(files[1])
    with pytest.raises(ServiceUnavailable):
        await anext(files[2])
    await files[0].aclose()
    third = export(exporter)
    assert await anext(third), "a finished export makes room for another"
    await files[1].aclose()
    assert [chunk async for chunk in third]


async def test_two_callers_do_not_keep_others_from_exporting(
    harness: ExportHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fieldgate.overload.WAIT_SECONDS", 0)
    exporter = harness.exporter(batch_size=2)
    files = [export(exporter, caller=caller) for caller in (1, 1, 2, 2, 3, 4, 5, 6, 7, 8)]
    assert all([await anext(file) for file in files])
    for file in files:
        await file.aclose()


async def test_callers_take_turns_whatever_number_of_exports_they_have(
    harness: ExportHarness,
) -> None:
    exporter = harness.exporter(batch_size=1)
    order: list[int] = []

    async def read(caller: int) -> None:
        async for _ in export(exporter, caller=caller):
            order.append(caller)

    await asyncio.gather(read(1), read(1), read(2))
    batches = order[: 2 * order.count(2)]
    assert abs(batches.count(1) - batches.count(2)) <= 2, order


async def test_one_batch_is_made_at_a_time(
    harness: ExportHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each thread that computes keeps the interpreter from other requests, and two are not faster than one."""
    has_begun, may_end = threading.Event(), threading.Event()
    add = xlsx.EventWorkbook.add

    def slow_add(workbook: xlsx.EventWorkbook, rows: Sequence[bytes]) -> None:
        has_begun.set()
        may_end.wait()
        add(workbook, rows)

    monkeypatch.setattr(xlsx.EventWorkbook, "add", slow_add)
    exporter = harness.exporter()
    workbook = asyncio.create_task(anext(export(exporter, XLSX, caller=1)))
    await asyncio.to_thread(has_begun.wait)
    rows = asyncio.create_task(anext(export(exporter, caller=2)))
    try:
        await asyncio.wait([rows], timeout=0.01)
        assert 2 in harness.exports._turns._waiting
    finally:
        may_end.set()
    assert await asyncio.gather(workbook, rows)


async def test_abandoned_export_keeps_its_slot_until_its_work_has_ended(
    harness: ExportHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fieldgate.overload.WAIT_SECONDS", 0)
    has_begun, may_end = threading.Event(), threading.Event()
    add = xlsx.EventWorkbook.add

    def slow_add(workbook: xlsx.EventWorkbook, rows: Sequence[bytes]) -> None:
        has_begun.set()
        may_end.wait()
        add(workbook, rows)

    monkeypatch.setattr(xlsx.EventWorkbook, "add", slow_add)
    exporter = harness.exporter()
    other = export(exporter)
    await anext(other)  # the caller has one slot left
    abandoned = asyncio.create_task(anext(export(exporter, XLSX)))
    await asyncio.to_thread(has_begun.wait)
    abandoned.cancel()
    await asyncio.wait([abandoned], timeout=0.01)
    try:
        with pytest.raises(ServiceUnavailable):
            await anext(export(exporter))
    finally:
        may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await abandoned
    assert await anext(export(exporter))
    await other.aclose()


async def test_full_sheet_starts_another(
    harness: ExportHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(xlsx, "MAX_SHEET_ROWS", 4)
    data = b"".join([chunk async for chunk in export(harness.exporter(batch_size=2), XLSX)])
    book = CalamineWorkbook.from_filelike(io.BytesIO(data))
    assert book.sheet_names == ["events", "events 2", "events 3"]
    tables = [book.get_sheet_by_name(name).to_python() for name in book.sheet_names]
    assert {table[0][0] for table in tables} == {"Number"}
    assert [[row[0] for row in table[1:]] for table in tables] == [[7, 6, 5], [4, 3, 2], [1]]


# Concurrent changes


async def change_events(harness: ExportHarness) -> None:
    await harness.store.upsert(
        [make_event(4, name={"en": "Renamed"}), make_event(9), make_event(3, visibility=2)]
    )
    await harness.store.upsert([make_event(2, countries=(INDIA,))])
    await delete_events(harness.store, [5])


@pytest.mark.parametrize("ordering", ["", "-id"])
async def test_ids_are_fixed_at_the_start_and_records_are_read_later(
    harness: ExportHarness, ordering: str
) -> None:
    """Events that were deleted or hidden meanwhile are left out, new ones are not added."""
    chunks = export(
        harness.exporter(batch_size=2),
        filters=EventFilters(countries__in=(123,), ordering=ordering),
    )
    found = ids_and_names(await anext(chunks))
    await change_events(harness)
    found += [each async for chunk in chunks for each in ids_and_names(chunk)]
    assert found == [(7, "Flood 7"), (6, "Flood 6"), (4, "Renamed"), (2, "Flood 2"), (1, "Flood 1")]


async def test_slow_reader_holds_no_transaction(harness: ExportHarness) -> None:
    """With a transaction open, SQLite could not move the write-ahead log into the database file."""
    chunks = export(harness.exporter(batch_size=2))
    found = ids_and_names(await anext(chunks))
    if harness.database.is_sqlite:
        await harness.store.upsert([make_event(9)])
        async with harness.database.transaction() as connection:
            pass
        with closing(sqlite3.connect(str(harness.database.url.database))) as other:
            busy, pages, moved = other.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()
        assert (busy, pages) == (0, moved)
    else:
        async with harness.database.read_transaction() as connection:
            query = text(
                "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'"
            )
            assert (await connection.execute(query)).scalar_one() == 0
    found += [each async for chunk in chunks for each in ids_and_names(chunk)]
    assert len(found) == 7


# Clients that disconnect


def asgi_scope(path: str, query: bytes) -> dict[str, Any]:
    return {
        "type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": query,
        "headers": [(b"host", b"localhost")], "scheme": "http", "client": None,
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
async def test_disconnect_stops_the_export(
    start: StartService, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    disconnected = asyncio.Event()
    batches: list[int] = []
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        if not batches:
            batches.append(0)
            return {"type": "http.request", "body": b""}
        await disconnected.wait()
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)
        if message["type"] == "http.response.start":
            disconnected.set()

    documents = EventStore.documents

    async def counted(store: EventStore, ids: Any, *more: Any) -> list[bytes]:
        batches.append(len(ids))
        return await documents(store, ids, *more)

    monkeypatch.setattr(EventStore, "documents", counted)
    monkeypatch.setattr("fieldgate.app.EventExporter", partial(EventExporter, batch_size=10))
    async with start() as service:
        await EventStore(service.database, service.data_versions).upsert(
            [make_event(n) for n in range(1, 201)]
        )
        await service.app(asgi_scope(EXPORT, b"format=" + kind.encode()), receive, send)
    assert len(batches) < 10, "of twenty batches"
    assert all(message["more_body"] for message in sent[1:]), "what is not complete has no end"


def failing_operation() -> Operation:
    async def chunks() -> AsyncGenerator[bytes, None]:
        yield b"one"
        yield b"two"
        raise RuntimeError("the secret inside")

    @Routes(tag="x", scope=Scope.NONE).raw(
        "/failing/", title=Message("Ready"), description=Message("Ready"), media_type="text/plain"
    )
    async def failing_stream() -> Response:
        return Response(200, [(b"content-type", b"text/plain")], stream=chunks())

    return failing_stream


async def test_error_after_the_first_chunk_breaks_the_response_off(start: StartService) -> None:
    async with start(failing_operation()) as service:
        with pytest.raises(RuntimeError):
            await service.get("/failing/")
