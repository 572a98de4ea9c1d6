"""Fixtures: a database to synchronize, and a service to synchronize from."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from fieldgate_client.retries import RetryPolicy

from fieldgate.db import Database
from fieldgate.events.ingest.bulk_write import WriteFailure
from fieldgate.events.model import District, Event, EventLink, KeyFigure, Visibility
from fieldgate.events.sync import remote
from fieldgate.events.sync.remote import RemoteServer
from fieldgate.events.sync.sync_state import SyncState, load_state
from fieldgate.events.sync.synchronizer import (
    Synchronizer,
    SyncOptions,
    SyncReport,
    ignore_progress,
)
from fieldgate.settings import Settings
from tests.conftest import BASE_URL, Service, run_service
from tests.data.events import load_events, stored_event
from tests.events.event_service import EVENTS, make_event
from tests.events.sync.go_server import GoServer

DETAILED_EVENT = make_event(
    200,
    original_language="es",
    name={"es": "Inundación", "fr": "Crue"},
    summary={"es": "Mucha agua", "en": "Much water", "fr": "Much water"},
    countries=(123, 290),
    districts=(District(id=1, name="North", code="N"),),
    key_figures=(KeyFigure(id=1, number="12", deck={"en": "people", "ar": "أشخاص"}),),
    links=(
        EventLink(id=1, url="https://a.example", title={"fr": "Carte"}, original_language="fr"),
    ),
    visibility=Visibility.SECRETARIAT,
)
SOURCE_EVENTS = [*EVENTS, DETAILED_EVENT]
LISTED_EVENTS = [event for event in SOURCE_EVENTS if event.parent_event is None]


class RecordingTransport(httpx.AsyncBaseTransport):
    """Passes requests on, and keeps their URLs."""

    def __init__(self, transport: httpx.AsyncBaseTransport, requested: list[httpx.URL]) -> None:
        self._transport = transport
        self._requested = requested

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self._requested.append(request.url)
        return await self._transport.handle_async_request(request)


class SyncTarget:
    """A database that is synchronized with another server."""

    def __init__(self, database_url: str) -> None:
        self.database_url = database_url
        self.failures: list[str] = []
        self.requested: list[httpx.URL] = []

    async def sync(
        self,
        transport: httpx.AsyncBaseTransport,
        token: str = "",
        since: datetime | None = None,
        full: bool = False,
        on_page: Callable[[int, int | None], None] = ignore_progress,
    ) -> SyncReport:
        async with RemoteServer(
            BASE_URL, token, RecordingTransport(transport, self.requested)
        ) as remote:
            return await self.run(remote, SyncOptions(since, full), on_page)

    async def pull(self, server: GoServer, token: str = "", **options: Any) -> SyncReport:
        """Synchronize with a server over HTTP."""
        async with RemoteServer(server.base_url, token) as remote:
            return await self.run(remote, SyncOptions(**options))

    async def run(
        self,
        remote: RemoteServer,
        options: SyncOptions,
        on_page: Callable[[int, int | None], None] = ignore_progress,
    ) -> SyncReport:
        with closing(Database(self.database_url)) as database:
            synchronizer = Synchronizer(remote, database, self._record_failure, on_page)
            return await synchronizer.run(options)

    def stored(self, *ids: int) -> list[Event | None]:
        return [stored_event(self.database_url, id_) for id_ in ids]

    def state(self, *, with_token: bool = False, source: str = BASE_URL) -> SyncState:
        with closing(Database(self.database_url)) as database:
            return database.read(lambda transaction: load_state(transaction, source, with_token))

    def _record_failure(self, failure: WriteFailure) -> None:
        self.failures.append(str(failure))


@pytest.fixture
def target(database_url: str) -> SyncTarget:
    return SyncTarget(database_url)


@pytest.fixture
async def source(tmp_path: Path) -> AsyncIterator[Service]:
    async with run_service(Settings(data=tmp_path / "source", access_log=False)) as service:
        await load_events(service, SOURCE_EVENTS)
        yield service


@pytest.fixture(autouse=True)
def _short_retry_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "RETRIES", RetryPolicy(first_pause=0.001))


@asynccontextmanager
async def serve(target: SyncTarget) -> AsyncIterator[Service]:
    """Serve the synchronized database."""
    async with run_service(Settings(database_url=target.database_url, access_log=False)) as service:
        yield service


def transport_to(service: Service) -> httpx.ASGITransport:
    return httpx.ASGITransport(service.app, client=("127.0.0.1", 50000))
