"""Clients that start exports and do not read them: others still get theirs."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from fieldgate.events.export.exporter import EXPORT_SHARES, EventExporter
from fieldgate.events.store import EventStore
from tests.conftest import Service, StartService
from tests.events.event_service import PATH, make_event
from tests.faults.trial_report import TrialReport, TrialResult

EXPORT = f"{PATH}export/"
EVENT_COUNT = 30


class Reader:
    """A client that asks for an export and reads nothing until it is told."""

    def __init__(self, service: Service, address: str, token: str = "") -> None:
        self._service = service
        self.status = 0
        self.headers: dict[bytes, bytes] = {}
        self.body = b""
        self.is_reading = asyncio.Event()
        self.is_gone = asyncio.Event()
        self.has_started = asyncio.Event()
        credentials = [(b"authorization", f"Token {token}".encode())] if token else []
        self._scope = {
            "type": "http", "method": "GET", "path": EXPORT, "raw_path": EXPORT.encode(),
            "query_string": b"format=ndjson", "headers": [(b"host", b"localhost"), *credentials],
            "scheme": "http", "client": (address, 50000),
        }  # fmt: skip
        self.task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        await self._service.app(self._scope, self._receive, self._send)

    async def _receive(self) -> dict[str, Any]:
        await self.is_gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], dict(message["headers"])
            self.has_started.set()
            return
        await asyncio.wait(
            [asyncio.ensure_future(self.is_reading.wait()), asyncio.ensure_future(self.is_gone.wait())],
            return_when=asyncio.FIRST_COMPLETED,
        )
        self.body += message["body"]

    async def start(self) -> int:
        async with asyncio.timeout(60):
            await self.has_started.wait()
        return self.status

    async def read(self) -> bytes:
        self.is_reading.set()
        async with asyncio.timeout(60):
            await self.task
        return self.body


@asynccontextmanager
async def export_service(
    start: StartService, monkeypatch: pytest.MonkeyPatch, wait_seconds: float
) -> AsyncIterator[Service]:
    shares = replace(EXPORT_SHARES, wait_seconds=wait_seconds)
    monkeypatch.setattr("fieldgate.app.EventExporter", partial(EventExporter, shares=shares, batch_size=10))
    async with start() as service:
        events = [make_event(number) for number in range(1, EVENT_COUNT + 1)]
        await EventStore(service.database, service.data_versions).upsert(events)
        yield service


async def test_slow_anonymous_readers_do_not_use_up_all_exports(
    start: StartService, monkeypatch: pytest.MonkeyPatch, trial_report: TrialReport
) -> None:
    async with export_service(start, monkeypatch, wait_seconds=0) as service:
        tokens = [await service.create_token() for _ in range(2)]
        slow = [Reader(service, "203.0.113.7") for _ in range(4)]
        statuses = Counter([await reader.start() for reader in slow])
        assert statuses == {200: 2, 429: 2}
        refused = next(reader for reader in slow if reader.status == 429)
        assert refused.headers[b"retry-after"] == b"60"
        assert b"2 exports for you or your address are running already" in await refused.read()
        # Another address, and then a user behind the same address as the slow readers.
        others = [Reader(service, "203.0.113.8"), Reader(service, "203.0.113.7", tokens[0])]
        assert [await reader.start() for reader in others] == [200, 200]
        assert [(await reader.read()).count(b"\n") for reader in others] == [EVENT_COUNT, EVENT_COUNT]
        # Three slow addresses never have the last slot.
        slow += [Reader(service, "203.0.113.9"), Reader(service, "203.0.113.10")]
        assert [await reader.start() for reader in slow[4:]] == [200, 503]
        user = Reader(service, "203.0.113.11", tokens[1])
        assert (await user.read()).count(b"\n") == EVENT_COUNT
        for reader in slow:
            reader.is_gone.set()
        await asyncio.wait([reader.task for reader in slow])
        after = Reader(service, "203.0.113.7")
        assert (await after.read()).count(b"\n") == EVENT_COUNT, "abandoned exports no longer count"
    trial_report.add(
        TrialResult(
            trial="four exports of one anonymous address that are not read",
            database="SQLite",
            statuses={str(status): count for status, count in statuses.items()},
            remark="exports of another address, and of a user behind the same one, are complete",
        )
    )


async def test_a_user_does_not_use_up_all_exports(start: StartService, monkeypatch: pytest.MonkeyPatch) -> None:
    async with export_service(start, monkeypatch, wait_seconds=0) as service:
        token = await service.create_token()
        slow = [Reader(service, f"203.0.113.{number}", token) for number in range(4)]
        assert Counter([await reader.start() for reader in slow]) == {200: 2, 429: 2}
        other = Reader(service, "203.0.113.1")
        assert (await other.read()).count(b"\n") == EVENT_COUNT
        for reader in slow:
            assert reader.status == 429 or (await reader.read()).count(b"\n") == EVENT_COUNT
            await reader.read()


async def test_an_export_waits_a_moment_for_a_slot(start: StartService, monkeypatch: pytest.MonkeyPatch) -> None:
    async with export_service(start, monkeypatch, wait_seconds=60) as service:
        slow = [Reader(service, "203.0.113.7") for _ in range(2)]
        assert [await reader.start() for reader in slow] == [200, 200]
        next_one = Reader(service, "203.0.113.7")
        assert [(await reader.read()).count(b"\n") for reader in slow] == [EVENT_COUNT, EVENT_COUNT]
        assert (await next_one.read()).count(b"\n") == EVENT_COUNT
