"""Clients that start exports and do not read them: others still get theirs."""

import asyncio
import threading
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

import pytest

from fieldgate.events.export.exporter import EventExporter
from fieldgate.events.reader import EventReader
from fieldgate.overload import MAX_EXPORTS, MAX_EXPORTS_PER_CALLER
from tests.conftest import Service, StartService
from tests.data.events import load_events
from tests.events.event_service import PATH, make_event

EXPORT = f"{PATH}export/"
EVENT_COUNT = 30


class Reader:
    """A client that asks for an export and reads nothing until it is told."""

    def __init__(
        self, service: Service, address: str, token: str = "", condition: bytes = b""
    ) -> None:
        self._service = service
        self.status = 0
        self.headers: dict[bytes, bytes] = {}
        self.body = b""
        self.is_reading = asyncio.Event()
        self.is_gone = asyncio.Event()
        self.has_started = asyncio.Event()
        extra = [(b"authorization", f"Token {token}".encode())] if token else []
        if condition:
            extra.append((b"if-none-match", condition))
        self._scope = {
            "type": "http", "method": "GET", "path": EXPORT, "raw_path": EXPORT.encode(),
            "query_string": b"format=ndjson", "headers": [(b"host", b"localhost"), *extra],
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
            [
                asyncio.ensure_future(self.is_reading.wait()),
                asyncio.ensure_future(self.is_gone.wait()),
            ],
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
    start: StartService, monkeypatch: pytest.MonkeyPatch, wait_seconds: float, **settings: Any
) -> AsyncIterator[Service]:
    monkeypatch.setattr("fieldgate.overload.WAIT_SECONDS", wait_seconds)
    monkeypatch.setattr("fieldgate.app.EventExporter", partial(EventExporter, batch_size=10))
    async with start(**settings) as service:
        events = [make_event(number) for number in range(1, EVENT_COUNT + 1)]
        await load_events(service, events)
        yield service


async def test_slow_anonymous_readers_do_not_use_up_all_exports(
    start: StartService, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with export_service(start, monkeypatch, wait_seconds=0) as service:
        tokens = [await service.create_token() for _ in range(2)]
        slow = [Reader(service, "203.0.113.7") for _ in range(4)]
        statuses = Counter([await reader.start() for reader in slow])
        assert statuses == {200: 2, 503: 2}
        refused = next(reader for reader in slow if reader.status == 503)
        assert refused.headers[b"retry-after"] == b"60"
        assert b"Too many exports are running" in await refused.read()
        # Another address, and then a user behind the same address as the slow readers.
        others = [Reader(service, "203.0.113.8"), Reader(service, "203.0.113.7", tokens[0])]
        assert [await reader.start() for reader in others] == [200, 200]
        assert [(await reader.read()).count(b"\n") for reader in others] == [
            EVENT_COUNT,
            EVENT_COUNT,
        ]
        # Slow addresses never have the slots of users.
        slow += [Reader(service, f"203.0.113.{number}") for number in range(20, 20 + MAX_EXPORTS)]
        assert Counter([await reader.start() for reader in slow[4:]]) == {
            200: MAX_EXPORTS - 2,
            503: 2,
        }
        user = Reader(service, "203.0.113.11", tokens[1])
        assert (await user.read()).count(b"\n") == EVENT_COUNT
        for reader in slow:
            reader.is_gone.set()
        await asyncio.wait([reader.task for reader in slow])
        after = Reader(service, "203.0.113.7")
        assert (await after.read()).count(b"\n") == EVENT_COUNT, "abandoned exports no longer count"


async def test_a_user_does_not_use_up_all_exports(
    start: StartService, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with export_service(start, monkeypatch, wait_seconds=0) as service:
        token = await service.create_token()
        slow = [Reader(service, f"203.0.113.{number}", token) for number in range(4)]
        assert Counter([await reader.start() for reader in slow]) == {200: 2, 503: 2}
        other = Reader(service, "203.0.113.1")
        assert (await other.read()).count(b"\n") == EVENT_COUNT
        for reader in slow:
            assert reader.status == 503 or (await reader.read()).count(b"\n") == EVENT_COUNT
            await reader.read()


# Slots are given back


async def test_an_error_gives_the_slot_back(
    start: StartService, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_batch = EventReader.batch
    calls = 0

    def fail_in_second_batch(reader: EventReader, *arguments: Any) -> list[bytes]:
        nonlocal calls
        calls += 1
        if calls % 2 == 0:
            raise RuntimeError("the disk is gone")
        return read_batch(reader, *arguments)

    async with export_service(start, monkeypatch, wait_seconds=0) as service:
        with monkeypatch.context() as patch:
            patch.setattr(EventReader, "batch", fail_in_second_batch)
            for _ in range(MAX_EXPORTS_PER_CALLER + 1):
                failing = Reader(service, "203.0.113.7")
                assert await failing.start() == 200
                with pytest.raises(RuntimeError, match="the disk is gone"):
                    await failing.read()
        assert (await Reader(service, "203.0.113.7").read()).count(b"\n") == EVENT_COUNT


async def test_a_connection_that_ends_before_the_headers_gives_the_slot_back(
    start: StartService, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(_: Any) -> None:
        raise RuntimeError  # as the HTTP server does

    async with export_service(start, monkeypatch, wait_seconds=0) as service:
        for _ in range(MAX_EXPORTS_PER_CALLER + 1):
            with monkeypatch.context() as patch:
                patch.setattr(Reader, "_send", lambda _, message: refuse(message))
                gone = Reader(service, "203.0.113.7")
                with pytest.raises(RuntimeError) as error:
                    await gone.task
                held = error  # a traceback that somebody keeps must not keep the slot
        assert held.type is RuntimeError
        assert (await Reader(service, "203.0.113.7").read()).count(b"\n") == EVENT_COUNT


@pytest.mark.parametrize("moment", ["waits for a slot", "has a slot", "sends"])
async def test_a_cancelled_request_gives_the_slot_back(
    start: StartService, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    reached, may_go_on = threading.Event(), threading.Event()
    read_batch = EventReader.batch

    def wait_in_first_batch(reader: EventReader, *arguments: Any) -> list[bytes]:
        reached.set()
        assert may_go_on.wait(60)
        return read_batch(reader, *arguments)

    async with export_service(start, monkeypatch, wait_seconds=60) as service:
        running = (
            [Reader(service, "203.0.113.7") for _ in range(2)]
            if moment == "waits for a slot"
            else []
        )
        for reader in running:
            await reader.start()
        with monkeypatch.context() as patch:
            if moment == "has a slot":
                patch.setattr(EventReader, "batch", wait_in_first_batch)
            cancelled = Reader(service, "203.0.113.7")
            if moment == "sends":
                await cancelled.start()
            elif moment == "has a slot":
                assert await asyncio.to_thread(reached.wait, 60)
            else:
                while not service.app.app_context.overload.exports._address_slots._waiting:
                    await asyncio.sleep(0)
            cancelled.task.cancel()
            may_go_on.set()  # the request waits for its thread
            with suppress(asyncio.CancelledError):
                await cancelled.task
        for reader in running:
            assert (await reader.read()).count(b"\n") == EVENT_COUNT
        both = [Reader(service, "203.0.113.7") for _ in range(2)]
        assert [await reader.start() for reader in both] == [200, 200]
        assert [(await reader.read()).count(b"\n") for reader in both] == [EVENT_COUNT] * 2
