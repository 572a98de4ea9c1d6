"""Fixtures: a database to synchronize, and a service to synchronize from."""

from collections.abc import AsyncIterator, Callable
from datetime import datetime
from pathlib import Path

import httpx
import pytest

from fieldgate.db import Database, DataVersions
from fieldgate.events.ingest.bulk_write import WriteFailure
from fieldgate.events.model import District, EventLink, KeyFigure, Visibility
from fieldgate.events.store import EventStore
from fieldgate.events.sync import remote
from fieldgate.events.sync.remote import RemoteServer
from fieldgate.events.sync.sync_state import SyncState, load_state
from fieldgate.events.sync.synchronizer import Synchronizer, SyncOptions, SyncReport
from fieldgate.reference.store import ReferenceStore
from fieldgate.settings import Settings
from tests.conftest import BASE_URL, Service, run_service
from tests.events.event_service import EVENTS, make_event

DETAILED_EVENT = make_event(
    200,
    original_language="es",
    name={"es": "Inundación", "fr": "Crue"},
    summary={"es": "Mucha agua", "en": "Much water", "fr": "Much water"},
    countries=(123, 290),
    districts=(District(id=1, name="North", code="N"),),
    key_figures=(KeyFigure(id=1, number="12", deck={"en": "people", "ar": "أشخاص"}),),
    links=(EventLink(id=1, url="https://a.example", title={"fr": "Carte"}, original_language="fr"),),
    visibility=Visibility.SECRETARIAT,
)
SOURCE_EVENTS = [*EVENTS, DETAILED_EVENT]
LISTED_EVENTS = [event for event in SOURCE_EVENTS if event.parent_event is None]


class SyncTarget:
    """A database that is synchronized with another server."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.store = EventStore(database, DataVersions(database))
        self.failures: list[str] = []
        self.requested: list[httpx.URL] = []

    async def sync(
        self,
        transport: httpx.AsyncBaseTransport,
        token: str = "",
        since: datetime | None = None,
        full: bool = False,
        on_page: Callable[[int, int], None] = lambda done, total: None,
        options: SyncOptions | None = None,
    ) -> SyncReport:
        reference = ReferenceStore(self.database, DataVersions(self.database))
        async with RemoteServer(BASE_URL, token, transport) as remote:
            remote._client.event_hooks["request"].append(self._record_request)
            synchronizer = Synchronizer(remote, self.database, self.store, reference, self._record_failure, on_page)
            return await synchronizer.run(options or SyncOptions(since, full))

    async def state(self, *, with_token: bool = False) -> SyncState:
        return await load_state(self.database, BASE_URL, with_token=with_token)

    async def _record_request(self, request: httpx.Request) -> None:
        self.requested.append(request.url)

    def _record_failure(self, failure: WriteFailure) -> None:
        self.failures.append(str(failure))


@pytest.fixture
def target(database: Database) -> SyncTarget:
    return SyncTarget(database)


@pytest.fixture
async def source(tmp_path: Path) -> AsyncIterator[Service]:
    async with run_service(Settings(data=tmp_path / "source", access_log=False)) as service:
        await EventStore(service.database, service.data_versions).upsert(SOURCE_EVENTS)
        yield service


@pytest.fixture(autouse=True)
def _short_retry_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "INITIAL_BACKOFF_SECONDS", 0.001)


def transport_to(service: Service) -> httpx.ASGITransport:
    return httpx.ASGITransport(service.app, client=("127.0.0.1", 50000))
