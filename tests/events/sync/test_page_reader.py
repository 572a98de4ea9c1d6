"""Lists that change while they are read."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import httpx
import msgspec
import pytest

from fieldgate.events.event_writer import BulkWriteResult
from fieldgate.events.store import EventStore
from fieldgate.events.sync import page_reader
from fieldgate.events.sync.event_puller import CHANGED_DURING_READ
from fieldgate.events.sync.synchronizer import LIST_CHANGED_DURING_READ
from fieldgate.i18n.languages import Language
from tests.conftest import BASE_URL, Service
from tests.events.event_service import EVENTS, START, make_event
from tests.events.sync.conftest import LISTED_EVENTS, SyncTarget
from tests.events.sync.live_system import LiveSystem, live_record


async def test_list_that_shrinks_while_it_is_read(target: SyncTarget, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_reader, "PAGE_SIZE", 5)
    system = LiveSystem([live_record(id_) for id_ in range(1, 61)])
    system.shrinks_at = 30
    await target.sync(system.transport())
    stored = [id_ for id_ in range(1, 61) if await target.store.by_id(id_)]
    assert stored == list(range(4, 61)), "none is left out, and those that are gone are deleted"


class ChangingTransport(httpx.ASGITransport):
    """A transport to a service whose events change right after the first page is read."""

    def __init__(self, service: Service, change: Callable[[EventStore], Awaitable[Any]]) -> None:
        super().__init__(service.app, client=("127.0.0.1", 50000))
        self._change: Callable[[EventStore], Awaitable[Any]] | None = change
        self._store = EventStore(service.database, service.data_versions)
        self._response_count = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await super().handle_async_request(request)
        self._response_count += request.url.path == "/api/v2/event/" and request.url.params.get("offset") == "0"
        if self._response_count == len(Language) and self._change is not None:
            change, self._change = self._change, None
            await change(self._store)
        return response


async def move_first(store: EventStore) -> None:
    await store.upsert([msgspec.structs.replace(EVENTS[-1], disaster_start_date=START, updated_at=datetime.now(UTC))])


async def delete_some(store: EventStore) -> None:
    await store.delete([1, 2, 3, 101, 102])
    await store.upsert([make_event(id_) for id_ in range(1001, 1006)])


@pytest.mark.parametrize("change", [move_first, delete_some])
async def test_list_by_id_that_moves_while_it_is_read(
    source: Service,
    target: SyncTarget,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[EventStore], Awaitable[None]],
) -> None:
    monkeypatch.setattr(page_reader, "PAGE_SIZE", 5)
    report = await target.sync(ChangingTransport(source, change))
    kept = [event.id for event in LISTED_EVENTS if event.visibility == 3 and event.id not in (1, 2, 3, 101, 102)]
    assert [id_ for id_ in kept if not await target.store.by_id(id_)] == []
    assert report.events.unchanged == 0, "an event that is read twice is written once"


@pytest.mark.parametrize("times", [1, 3, 100])
async def test_list_in_any_order_that_moves_while_it_is_read(
    target: SyncTarget, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    monkeypatch.setattr(page_reader, "PAGE_SIZE", 15)
    monkeypatch.setattr(page_reader, "MAX_PREFETCHED_PAGES", 1)
    system = LiveSystem([live_record(id_) for id_ in range(1, 61)])
    page, moves = system.page, iter(range(times))

    def moving(request: httpx.Request, found: list[dict[str, Any]]) -> httpx.Response:
        response = page(request, found)
        is_second = request.url.path.endswith("/event/") and int(request.url.params["offset"]) >= 20
        if is_second and request.headers["Accept-Language"] == "es" and next(moves, None) is not None:
            system.records.insert(0, system.records.pop())
        return response

    system.page = moving  # type: ignore[method-assign]
    report = await target.sync(system.transport())
    state = await target.state()
    if times == 100:
        assert (target.failures, report.events.failed) == ([f"{BASE_URL}: {LIST_CHANGED_DURING_READ}"], 1)
        assert state.finished is None
    else:
        assert report.events == BulkWriteResult(created=60)
        assert (target.failures, state.finished is None) == ([], False)


async def test_event_that_changes_while_it_is_read(target: SyncTarget) -> None:
    system = LiveSystem([live_record(1)])
    responses = iter(range(100))
    localized = system.localized

    def changing(record: dict[str, Any], language: str) -> dict[str, Any]:
        if next(responses) == 1:
            record |= {"updated_at": "2026-02-01T00:00:00Z", "name": {"es": "Otra", "fr": "Autre"}}
        return localized(record, language)

    system.localized = changing  # type: ignore[method-assign]
    await target.sync(system.transport())
    stored = await target.store.by_id(1)
    assert stored is not None
    assert stored.name == {"es": "Otra", **dict.fromkeys(("en", "fr", "ar"), "Autre")}, "all languages of one version"


async def test_event_that_keeps_changing_is_reported(target: SyncTarget) -> None:
    system = LiveSystem([live_record(1)])
    await target.sync(system.transport())
    stored = await target.store.by_id(1)
    localized, counter = system.localized, iter(range(10**6))

    def changing(record: dict[str, Any], language: str) -> dict[str, Any]:
        return {**localized(record, language), "updated_at": f"2026-02-01T00:00:00.{next(counter):06}Z"}

    system.localized = changing  # type: ignore[method-assign]
    report = await target.sync(system.transport())
    assert (report.events, target.failures) == (BulkWriteResult(failed=1), [f"event 1: {CHANGED_DURING_READ}"])
    assert await target.store.by_id(1) == stored
    system.localized = localized  # type: ignore[method-assign]
    assert (await target.sync(system.transport())).events == BulkWriteResult(unchanged=1)
