"""Copies of the events of a real service: changes, deletions, filters, hidden events, other languages."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from fieldgate_client import AsyncClient
from fieldgate_client.connection import ConnectionOptions
from fieldgate_client.incremental import UpdateResult

from fieldgate.db.backup import back_up
from fieldgate.db.restore import restore
from fieldgate.events.model import Visibility
from fieldgate.events.store import EventStore
from tests.client.event_stand_in import by_id, read_records
from tests.conftest import BASE_URL, Service, StartService
from tests.events.event_service import EVENTS, INDIA, PUBLIC_COUNT, make_event


class DatedTransport(httpx.ASGITransport):
    """Adds the header that the HTTP server adds."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await super().handle_async_request(request)
        response.headers["Date"] = format_datetime(datetime.now(UTC), usegmt=True)
        return response


@pytest.fixture
async def events(start: StartService) -> AsyncIterator[tuple[Service, EventStore]]:
    async with start() as service:
        store = EventStore(service.database, service.data_versions)
        await store.upsert(EVENTS)
        yield service, store


def connect(service: Service, **options: Any) -> AsyncClient:
    transport = DatedTransport(service.app, client=("127.0.0.1", 50000))
    return AsyncClient(BASE_URL, page_size=30, options=ConnectionOptions(transport=transport), **options)


async def full_list(service: Service, query: str = "", **options: Any) -> dict[int, Any]:
    answer = await service.get(f"/api/v2/event/?limit=1000&{query}", **options)
    return by_id(msgspec.json.decode(answer.content)["results"])


async def change(store: EventStore) -> None:
    now = datetime.now(UTC)
    await store.upsert(
        [
            make_event(4, updated_at=now, name={"en": "Changed"}),
            make_event(5, updated_at=now, countries=(INDIA,)),
            make_event(6, updated_at=now, visibility=Visibility.SECRETARIAT),
            make_event(7, updated_at=now, parent_event=4),
            make_event(200, updated_at=now),
            make_event(201),  # dated long ago
        ]
    )
    await store.delete([8, 9])


async def test_update(events: tuple[Service, EventStore], tmp_path: Path) -> None:
    service, store = events
    path, nepal = tmp_path / "events.ndjson", tmp_path / "nepal.ndjson"
    async with connect(service) as client:
        assert (await client.events().update(path)).total == PUBLIC_COUNT
        await client.events(countries="NPL").update(nepal)
        await change(store)
        assert await client.events().update(path) == UpdateResult(total=PUBLIC_COUNT - 2, added=2, changed=2, deleted=4)
        assert by_id(read_records(path)) == await full_list(service)
        result = await client.events(countries="NPL").update(nepal)
        assert (result.added, result.changed, result.deleted) == (2, 1, 5), "event 5 has left Nepal"
        assert by_id(read_records(nepal)) == await full_list(service, "countries__in=123")


async def test_update_after_a_restore(start: StartService, tmp_path: Path) -> None:
    """Events that went back to an earlier state have an old date, and the same number of them is there."""
    path, database, backup = tmp_path / "events.ndjson", tmp_path / "fieldgate.db", tmp_path / "backup.db"
    async with start() as service:
        store = EventStore(service.database, service.data_versions)
        await store.upsert(EVENTS)
        async with connect(service) as client:
            await client.events().update(path)
            back_up(database, backup, overwrite=False)
            await store.upsert([make_event(4, updated_at=datetime.now(UTC), name={"en": "Changed"})])
            assert (await client.events().update(path)).changed == 1
    restore(backup, database, overwrite=True)
    async with start() as service, connect(service) as client:
        result = await client.events().update(path)
        assert result.is_complete_pull
        assert result.changed == 1
        assert by_id(read_records(path)) == await full_list(service)


async def test_other_rights_and_languages(events: tuple[Service, EventStore], tmp_path: Path) -> None:
    service, store = events
    path = tmp_path / "events.ndjson"
    token = await service.create_token(is_superuser=True)
    async with connect(service, language="fr") as client:
        await client.events().update(path)
    async with connect(service, language="fr", token=token) as client:
        assert (await client.events().update(path)).reason == "The last pull was made with other rights."
        await change(store)
        assert not (await client.events().update(path)).is_complete_pull
    headers = {"Authorization": f"Token {token}", "Accept-Language": "fr"}
    assert by_id(read_records(path)) == await full_list(service, headers=headers)


async def test_since_and_deleted(events: tuple[Service, EventStore]) -> None:
    service, store = events
    async with connect(service) as client:
        before = client.events()
        assert len([event async for event in before]) == PUBLIC_COUNT
        await change(store)
        changed = client.events(since=before.next_since, ordering="id")
        assert [event.id async for event in changed] == [4, 5, 200]
        assert {each.id for each in await changed.deleted()} == {6, 7, 8, 9}


async def test_other_lists_with_a_version(events: tuple[Service, EventStore], tmp_path: Path) -> None:
    service, _ = events
    async with connect(service) as client:
        result = await client.permissions().update(tmp_path / "permissions.ndjson")
        assert (result.total, result.is_complete_pull) == (10, True)
        again = await client.permissions().update(tmp_path / "permissions.ndjson")
        assert again == UpdateResult(total=10, reason="Nothing has changed.")


async def test_resumed(events: tuple[Service, EventStore], tmp_path: Path) -> None:
    service, store = events
    path = tmp_path / "events.ndjson"

    def stop(received: int, _: int | None) -> None:
        if received >= 60:
            raise KeyError("stop")

    async with connect(service) as client:
        with pytest.raises(KeyError, match="stop"):
            await client.events().to_ndjson(path, resume=True, on_progress=stop)
        await change(store)
        downloaded = client.events()
        assert await downloaded.to_ndjson(path, resume=True) == PUBLIC_COUNT - 2
        assert downloaded.report.resumed_at >= 60
    assert by_id(read_records(path)) == await full_list(service)
