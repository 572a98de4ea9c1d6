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
from pathlib import Path
from typing import Any

import msgspec
import pytest
from python_calamine import CalamineWorkbook
from sqlalchemy import make_url, text

from fieldgate.events.export import xlsx
from fieldgate.events.export.exporter import BATCH_SIZE
from fieldgate.events.export.serializers import SERIALIZERS
from fieldgate.http.operations import Operation, Routes
from fieldgate.http.response.responses import Response
from fieldgate.i18n.messages import Message
from fieldgate.identity import Scope
from fieldgate.settings import Settings
from tests.conftest import Service, StartService, run_service
from tests.data.events import delete_events, load_events
from tests.data.sql import first_value, write_sql
from tests.events.event_service import INDIA, PATH, PUBLIC_COUNT, event_service, make_event

__all__ = ["event_service"]

EXPORT = f"{PATH}export/"
EVENT_COUNT = 4 * BATCH_SIZE + 100


@pytest.fixture(scope="module")
async def many_events(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Service]:
    """A service with events for five batches."""
    settings = Settings(data=tmp_path_factory.mktemp("exports"), access_log=False)
    async with run_service(settings) as service:
        await load_events(service, [make_event(id_) for id_ in range(1, EVENT_COUNT + 1)])
        yield service


@pytest.fixture(autouse=True)
def _no_leftover_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Check that no temporary file is left behind."""
    folder = tmp_path / "exports"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield
    assert not list(folder.iterdir())


def asgi_scope(path: str, query: bytes) -> dict[str, Any]:
    return {
        "type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": query,
        "headers": [(b"host", b"localhost")], "scheme": "http", "client": None,
    }  # fmt: skip


class Download:
    """An export that a client reads chunk by chunk. The service makes the next chunk when it is asked for."""

    def __init__(self, service: Service, token: str = "", query: str = "format=ndjson") -> None:
        headers = [(b"authorization", f"Token {token}".encode())] if token else []
        scope = asgi_scope(EXPORT, query.encode())
        scope["headers"] += headers
        self._messages: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._asked = asyncio.Semaphore(0)
        self._is_gone = asyncio.Event()
        self._has_sent_request = False
        self.is_complete = False
        self._task = asyncio.create_task(service.app(scope, self._receive, self._send))

    async def status(self) -> int:
        """The status, when the response has begun."""
        message = await self._next_message()
        assert message["type"] == "http.response.start"
        return int(message["status"])

    async def chunk(self) -> bytes:
        """The next chunk; empty at the end."""
        self._asked.release()
        message = await self._next_message()
        return bytes(message.get("body", b""))

    async def rest(self) -> AsyncIterator[bytes]:
        while chunk := await self.chunk():
            yield chunk

    @property
    def unread_count(self) -> int:
        """How many chunks the service sent that were not read."""
        return self._messages.qsize()

    async def close(self) -> None:
        """Disconnect, and wait until the service has noticed."""
        self.disconnect()
        await self._task

    def disconnect(self) -> None:
        self._is_gone.set()
        self._asked.release()

    async def _next_message(self) -> dict[str, Any]:
        async with asyncio.timeout(60):
            return await self._messages.get()

    async def _receive(self) -> dict[str, Any]:
        if not self._has_sent_request:
            self._has_sent_request = True
            return {"type": "http.request", "body": b""}
        await self._is_gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: dict[str, Any]) -> None:
        self.is_complete = not message.get("more_body", message["type"] == "http.response.start")
        self._messages.put_nowait(message)
        if not self._is_gone.is_set():  # a server drops what it cannot send any more
            await self._asked.acquire()


def ids_and_names(chunk: bytes) -> list[tuple[int, str]]:
    records = [msgspec.json.decode(line) for line in chunk.splitlines()]
    return [(record["id"], record["name"]) for record in records]


async def test_export_of_several_batches(many_events: Service) -> None:
    service = many_events
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
    assert len((await service.get(f"{EXPORT}?format=geojson")).json()["features"]) == EVENT_COUNT
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


async def test_concurrent_exports_are_limited(
    many_events: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refusal has a status, in every format: nothing was sent before."""
    monkeypatch.setattr("fieldgate.overload.WAIT_SECONDS", 0)
    token = await many_events.create_token()
    first, second = [Download(many_events, token) for _ in range(2)]
    assert [await first.status(), await second.status()] == [200, 200]
    headers = {"Authorization": f"Token {token}"}
    for serializer in SERIALIZERS.values():
        refused = await many_events.get(
            f"{EXPORT}?format={serializer.format.query_value}", headers=headers
        )
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "60")
    await first.close()
    third = Download(many_events, token)
    assert await third.status() == 200, "a finished export makes room for another"
    await second.close()
    assert len([chunk async for chunk in third.rest()]) == 5
    await third.close()


async def test_two_callers_do_not_keep_others_from_exporting(
    many_events: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fieldgate.overload.WAIT_SECONDS", 0)
    tokens = [await many_events.create_token() for _ in range(8)]
    files = [Download(many_events, token) for token in (tokens[0], tokens[1], *tokens)]
    assert [await file.status() for file in files] == [200] * 10
    for file in files:
        await file.close()


async def test_callers_take_turns_whatever_number_of_exports_they_have(
    many_events: Service,
) -> None:
    tokens = [await many_events.create_token() for _ in range(2)]
    order: list[str] = []

    async def read(file: Download, token: str) -> None:
        async for _ in file.rest():
            order.append(token)
        await file.close()

    readers = [(Download(many_events, token), token) for token in (*tokens, tokens[0])]
    for file, _ in readers:  # all have begun before one goes on
        assert await file.status() == 200
    await asyncio.gather(*(read(file, token) for file, token in readers))
    batches = order[: 2 * order.count(tokens[1])]
    assert abs(batches.count(tokens[0]) - batches.count(tokens[1])) <= 2, order


class HeldWorkbook:
    """Keeps exports as workbooks from going on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._has_begun = threading.Event()
        self._may_end = threading.Event()
        self._add = xlsx.EventWorkbook.add
        monkeypatch.setattr(xlsx.EventWorkbook, "add", self._held_add)

    async def wait_until_begun(self) -> None:
        await asyncio.to_thread(self._has_begun.wait)

    def release(self) -> None:
        self._may_end.set()

    @property
    def _held_add(self) -> Any:
        def add(workbook: xlsx.EventWorkbook, rows: Sequence[bytes]) -> None:
            self._has_begun.set()
            self._may_end.wait()
            self._add(workbook, rows)

        return add


async def test_one_batch_is_made_at_a_time(
    many_events: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each thread that computes keeps the interpreter from other requests, and two are not faster than one."""
    held = HeldWorkbook(monkeypatch)
    tokens = [await many_events.create_token() for _ in range(2)]
    workbook = Download(many_events, tokens[0], "format=xlsx")
    await held.wait_until_begun()
    rows = Download(many_events, tokens[1])
    has_begun = asyncio.create_task(rows.status())
    turns = many_events.app.app_context.overload.exports._turns
    try:
        async with asyncio.timeout(30):
            while not turns._waiting:
                await asyncio.sleep(0)
        assert not has_begun.done()
    finally:
        held.release()
    assert [await workbook.status(), await has_begun] == [200, 200]
    await workbook.close()
    await rows.close()


async def test_abandoned_export_keeps_its_slot_until_its_work_has_ended(
    many_events: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fieldgate.overload.WAIT_SECONDS", 0)
    held = HeldWorkbook(monkeypatch)
    token = await many_events.create_token()
    other = Download(many_events, token)
    assert await other.status() == 200, "the caller has one slot left"
    abandoned = Download(many_events, token, "format=xlsx")
    await held.wait_until_begun()
    abandoned.disconnect()
    try:
        for _ in range(10):
            refused = Download(many_events, token)
            assert await refused.status() == 503
            await refused.close()
    finally:
        held.release()
    await abandoned.close()
    later = Download(many_events, token)
    assert await later.status() == 200
    await later.close()
    await other.close()


async def test_full_sheet_starts_another(
    event_service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(xlsx, "MAX_SHEET_ROWS", 4)
    data = (await event_service.get(f"{EXPORT}?format=xlsx&id__in=1,2,3,4,5,6,7")).content
    book = CalamineWorkbook.from_filelike(io.BytesIO(data))
    assert book.sheet_names == ["events", "events 2", "events 3"]
    tables = [book.get_sheet_by_name(name).to_python() for name in book.sheet_names]
    assert {table[0][0] for table in tables} == {"Number"}
    assert [[row[0] for row in table[1:]] for table in tables] == [[7, 6, 5], [4, 3, 2], [1]]


# Concurrent changes


async def change_events(service: Service) -> None:
    changed = [
        make_event(4, name={"en": "Renamed"}),
        make_event(900),
        make_event(3, visibility=2),
        make_event(2, countries=(INDIA,)),
    ]
    await load_events(service, changed)
    await delete_events(service, [5])


@pytest.mark.parametrize("ordering", ["", "-id"])
async def test_ids_are_fixed_at_the_start_and_records_are_read_later(
    start: StartService, database_url: str, ordering: str
) -> None:
    """Events that were deleted or hidden meanwhile are left out, new ones are not added."""
    count = BATCH_SIZE + 7
    async with start(database_url=database_url) as service:
        await load_events(service, [make_event(id_) for id_ in range(1, count + 1)])
        query = f"format=ndjson&countries__in=123&ordering={ordering}"
        file = Download(service, query=query)
        assert await file.status() == 200
        found = ids_and_names(await file.chunk())
        await change_events(service)
        found += [record async for chunk in file.rest() for record in ids_and_names(chunk)]
        await file.close()
    unchanged = [(id_, f"Flood {id_}") for id_ in range(count, 5, -1)]
    assert found == [*unchanged, (4, "Renamed"), (2, "Flood 2"), (1, "Flood 1")]


async def test_slow_reader_holds_no_transaction(start: StartService, database_url: str) -> None:
    """With a transaction open, SQLite could not move the write-ahead log into the database file."""
    count = BATCH_SIZE + 7
    async with start(database_url=database_url) as service:
        await load_events(service, [make_event(id_) for id_ in range(1, count + 1)])
        file = Download(service)
        assert await file.status() == 200
        found = ids_and_names(await file.chunk())
        url = make_url(database_url)
        if url.get_backend_name() == "sqlite":
            with write_sql(service, "events"):
                pass
            with closing(sqlite3.connect(str(url.database))) as other:
                busy, pages, moved = other.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()
            assert (busy, pages) == (0, moved)
        else:
            query = "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'"
            assert first_value(service, text(query)) == 0
        found += [record async for chunk in file.rest() for record in ids_and_names(chunk)]
        await file.close()
    assert len(found) == count


# Clients that disconnect


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
async def test_disconnect_stops_the_export(
    many_events: Service, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The service makes what it would send next, and no more."""
    workbook_batches: list[int] = []
    add = xlsx.EventWorkbook.add

    def counted_add(workbook: xlsx.EventWorkbook, rows: Sequence[bytes]) -> None:
        workbook_batches.append(len(rows))
        add(workbook, rows)

    monkeypatch.setattr(xlsx.EventWorkbook, "add", counted_add)
    file = Download(many_events, query=f"format={kind}")
    assert await file.status() == 200
    await file.close()
    assert file.unread_count + len(workbook_batches) < 5, "of five batches"
    assert not file.is_complete, "what is not complete has no end"


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
