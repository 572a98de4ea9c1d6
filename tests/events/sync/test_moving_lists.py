"""Lists that change while they are read."""

import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import httpx
import msgspec
import pytest

from fieldgate.events.sync import synchronizer
from fieldgate.events.sync.event_puller import CHANGED_DURING_READ
from fieldgate.events.sync.remote import RemoteError, valid_id
from fieldgate.events.writes import BulkWriteResult
from fieldgate.i18n.languages import Language
from tests.conftest import BASE_URL, Service
from tests.data.events import delete_events, load_events, stored_event
from tests.events.event_service import EVENTS, START, make_event
from tests.events.sync.conftest import LISTED_EVENTS, SyncTarget, transport_to
from tests.events.sync.live_system import LiveSystem, live_record


async def test_list_that_shrinks_while_it_is_read(
    target: SyncTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(synchronizer, "PAGE_SIZE", 5)
    system = LiveSystem([live_record(id_) for id_ in range(1, 61)])
    system.shrinks_at = 30
    await target.sync(system.transport())
    stored = [id_ for id_ in range(1, 61) if stored_event(target.database_url, id_)]
    assert stored == list(range(4, 61)), "none is left out, and those that are gone are deleted"


class ChangingTransport(httpx.ASGITransport):
    """A transport to a service whose events change right after the first page is read."""

    def __init__(self, service: Service, change: Callable[[Service], Awaitable[None]]) -> None:
        super().__init__(service.app, client=("127.0.0.1", 50000))
        self._change: Callable[[Service], Awaitable[None]] | None = change
        self._service = service
        self._response_count = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await super().handle_async_request(request)
        self._response_count += (
            request.url.path == "/api/v2/event/" and request.url.params.get("offset") == "0"
        )
        if self._response_count == len(Language) and self._change is not None:
            change, self._change = self._change, None
            await change(self._service)
        return response


async def move_first(service: Service) -> None:
    moved = msgspec.structs.replace(
        EVENTS[-1], disaster_start_date=START, updated_at=datetime.now(UTC)
    )
    await load_events(service, [moved])


async def delete_some(service: Service) -> None:
    await delete_events(service, [1, 2, 3, 101, 102])
    await load_events(service, [make_event(id_) for id_ in range(1001, 1006)])


@pytest.mark.parametrize("change", [move_first, delete_some])
async def test_list_by_id_that_moves_while_it_is_read(
    source: Service,
    target: SyncTarget,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Service], Awaitable[None]],
) -> None:
    monkeypatch.setattr(synchronizer, "PAGE_SIZE", 5)
    report = await target.sync(ChangingTransport(source, change))
    kept = [
        event.id
        for event in LISTED_EVENTS
        if event.visibility == 3 and event.id not in (1, 2, 3, 101, 102)
    ]
    assert [id_ for id_ in kept if not stored_event(target.database_url, id_)] == []
    assert report.events.unchanged == 0, "an event that is read twice is written once"


def move_between_pages(system: LiveSystem, move: Callable[[], None], times: int) -> None:
    """Change the list so many times: whenever the last language of a page after the first was sent."""
    page, moves = system.page, iter(range(times))

    def moving(request: httpx.Request, found: list[dict[str, Any]]) -> httpx.Response:
        response = page(request, found)
        is_later = request.url.path.endswith("/event/") and int(request.url.params["offset"]) >= 20
        if (
            is_later
            and request.headers["Accept-Language"] == "es"
            and next(moves, None) is not None
        ):
            move()
        return response

    system.page = moving  # type: ignore[method-assign]


@pytest.mark.parametrize("times", [1, 3, 100])
async def test_list_in_any_order_that_moves_while_it_is_read(
    target: SyncTarget, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    monkeypatch.setattr(synchronizer, "PAGE_SIZE", 15)
    system = LiveSystem([live_record(id_) for id_ in range(1, 61)])
    move_between_pages(system, lambda: system.records.insert(0, system.records.pop()), times)
    report = await target.sync(system.transport())
    assert report.events == BulkWriteResult(created=60)
    assert (target.failures, target.state().finished is None) == ([], False)


async def test_list_that_never_stands_still_is_reported(
    target: SyncTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(synchronizer, "PAGE_SIZE", 15)
    system = LiveSystem([live_record(id_) for id_ in range(1, 61)])
    new_ids = iter(range(61, 1000))
    move_between_pages(
        system, lambda: system.records.insert(0, live_record(next(new_ids))), times=900
    )
    report = await target.sync(system.transport())
    assert (report.events.failed, report.missing_unchecked) == (1, True)
    [failure] = target.failures
    assert failure.startswith(f"{BASE_URL}: The list changed while it was read, or the server ")
    assert failure.endswith(". Run the command again.")
    assert target.state().finished is None
    assert None not in target.stored(*range(1, 61))


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
    stored = stored_event(target.database_url, 1)
    assert stored is not None
    assert stored.name == {"es": "Otra", **dict.fromkeys(("en", "fr", "ar"), "Autre")}, (
        "all languages of one version"
    )


async def test_event_that_keeps_changing_is_reported(target: SyncTarget) -> None:
    system = LiveSystem([live_record(1)])
    await target.sync(system.transport())
    stored = stored_event(target.database_url, 1)
    localized, counter = system.localized, iter(range(10**6))

    def changing(record: dict[str, Any], language: str) -> dict[str, Any]:
        return {
            **localized(record, language),
            "updated_at": f"2026-02-01T00:00:00.{next(counter):06}Z",
        }

    system.localized = changing  # type: ignore[method-assign]
    report = await target.sync(system.transport())
    assert (report.events, target.failures) == (
        BulkWriteResult(failed=1),
        [f"event 1: {CHANGED_DURING_READ}"],
    )
    assert stored_event(target.database_url, 1) == stored
    system.localized = localized  # type: ignore[method-assign]
    assert (await target.sync(system.transport())).events == BulkWriteResult(unchanged=1)


# Servers that answer in unexpected ways


async def test_offsets_are_never_negative(
    target: SyncTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list moves, and from then on pages have two records."""
    monkeypatch.setattr(synchronizer, "PAGE_SIZE", 15)
    system = LiveSystem([live_record(id_) for id_ in range(1, 61)])
    page = system.page

    def shrinking(request: httpx.Request, found: list[dict[str, Any]]) -> httpx.Response:
        if (
            request.url.path.endswith("/event/")
            and int(request.url.params.get("offset", 0)) >= 20
            and system.max_page_size > 2
        ):
            system.max_page_size = 2
            system.records.insert(0, system.records.pop())
        return page(request, found)

    system.page = shrinking  # type: ignore[method-assign]
    assert (await target.sync(system.transport())).events == BulkWriteResult(created=60)
    assert min(int(url.params.get("offset", 0)) for url in target.requested) == 0


class SamePageTransport(httpx.AsyncBaseTransport):
    """Passes requests for events on without their offset."""

    def __init__(self, transport: httpx.AsyncBaseTransport, has_links: bool) -> None:
        self._transport = transport
        self._has_links = has_links

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if not request.url.path.endswith("/event/"):
            return await self._transport.handle_async_request(request)
        request.url = request.url.copy_remove_param("offset").copy_remove_param("start")
        response = await self._transport.handle_async_request(request)
        page = json.loads(await response.aread())
        links = {} if self._has_links else {"next": None, "previous": None}
        version = response.headers.get("fieldgate-data-version")
        headers = {"fieldgate-data-version": version} if version else {}
        return httpx.Response(response.status_code, json={**page, **links}, headers=headers)


@pytest.mark.parametrize("is_fieldgate", [True, False])
async def test_server_that_sends_the_same_page_for_every_offset(
    source: Service, target: SyncTarget, monkeypatch: pytest.MonkeyPatch, is_fieldgate: bool
) -> None:
    monkeypatch.setattr(synchronizer, "PAGE_SIZE", 20)
    live = LiveSystem([live_record(id_) for id_ in range(1, 61)])
    inner = transport_to(source) if is_fieldgate else live.transport()
    report = await target.sync(SamePageTransport(inner, has_links=False))
    assert report.missing_unchecked
    [failure] = target.failures
    assert "received 20 different records, the server says" in failure
    assert len(target.requested) < 500


async def test_server_that_sends_links_of_another_page(
    target: SyncTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(synchronizer, "PAGE_SIZE", 20)
    live = LiveSystem([live_record(id_) for id_ in range(1, 61)])
    with pytest.raises(RemoteError, match="begins at 20, so this is not the page at 15"):
        await target.sync(SamePageTransport(live.transport(), has_links=True))


@pytest.mark.parametrize(
    ("id_", "expected"), [(7, 7), (True, None), ("7", None), (-1, None), (None, None)]
)
def test_ids_are_numbers(id_: object, expected: int | None) -> None:
    """`true` would be stored as a word, and the next run could not read it."""
    assert valid_id({"id": id_}) == expected
