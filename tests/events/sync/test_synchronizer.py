"""`fieldgate events sync`: from another instance, from a server like the live one, killed, resumed, and once more."""

import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from fieldgate.db import Database, DataVersions
from fieldgate.db.schema import upgrade
from fieldgate.events.ingest.bulk_write import BulkWriteResult, WriteFailure
from fieldgate.events.model import District, Event, EventLink, KeyFigure, Visibility
from fieldgate.events.store import EventStore
from fieldgate.events.sync import remote as far_module
from fieldgate.events.sync import sync_state
from fieldgate.events.sync import synchronizer as sync_module
from fieldgate.events.sync.remote import RemoteError, RemoteServer
from fieldgate.events.sync.synchronizer import Sync, SyncReport
from fieldgate.i18n.languages import Language
from fieldgate.reference.store import ReferenceStore
from fieldgate.settings import Settings
from tests.conftest import BASE_URL, Service, run_service
from tests.events.event_service import EVENTS, START, make_event
from tests.processes import FIELDGATE_COMMAND, ServerProcess, run_command

MANY = 4000
RICH = make_event(
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
SOURCE = [*EVENTS, RICH]
LISTED = [each for each in SOURCE if each.parent_event is None]


class Target:
    """A database that is synced into."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.store = EventStore(database, DataVersions(database))
        self.told: list[str] = []
        self.asked: list[httpx.URL] = []

    async def sync(
        self,
        transport: httpx.AsyncBaseTransport,
        token: str = "",
        since: datetime | None = None,
        full: bool = False,
        on_page: Callable[[int, int], None] = lambda done, total: None,
    ) -> SyncReport:
        reference = ReferenceStore(self.database, DataVersions(self.database))
        async with RemoteServer(BASE_URL, token, transport) as far:
            far._client.event_hooks["request"].append(self._note)
            tell: Callable[[WriteFailure], None] = lambda failure: self.told.append(str(failure))  # noqa: E731
            return await Sync(far, self.database, self.store, reference, tell, on_page).run(since, full=full)

    async def _note(self, request: httpx.Request) -> None:
        self.asked.append(request.url)


@pytest.fixture
def target(database: Database) -> Target:
    return Target(database)


@pytest.fixture
async def source(tmp_path: Path) -> AsyncIterator[Service]:
    async with run_service(Settings(data=tmp_path / "source", access_log=False)) as service:
        await EventStore(service.database, service.data_versions).upsert(SOURCE)
        yield service


def transport_to(service: Service) -> httpx.ASGITransport:
    return httpx.ASGITransport(service.app, client=("127.0.0.1", 50000))


@asynccontextmanager
async def served(database: Database) -> AsyncIterator[Service]:
    address = database.url.set(drivername=database.url.get_backend_name()).render_as_string(hide_password=False)
    async with run_service(Settings(database_url=address, access_log=False)) as service:
        yield service


async def everything(service: Service, numbers: list[int]) -> list[Any]:
    """All that a superuser sees, in every language."""
    headers = {"Authorization": f"Token {await service.create_token(is_superuser=True)}"}
    found = []
    for language in Language:
        spoken = {**headers, "Accept-Language": language.value}
        found += (await service.get("/api/v2/event/?limit=1000", headers=spoken)).json()["results"]
        for number in numbers:
            found.append((await service.get(f"/api/v2/event/{number}/", headers=spoken)).json())
        found += (await service.get("/api/v2/country/?limit=1000", headers=spoken)).json()["results"]
    return found


async def test_one_instance_from_another(source: Service, target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sync_module, "PAGE_SIZE", 20)
    token = await source.create_token(is_superuser=True)
    report = await target.sync(transport_to(source), token)
    assert report.events == BulkWriteResult(created=len(LISTED))
    assert (report.since, report.resumed, target.told) == (None, False, [])
    numbers = [each.id for each in LISTED[-8:]]
    async with served(target.database) as copy:
        assert await everything(copy, numbers) == await everything(source, numbers)

    # Once more: nothing, and then what changed and nothing else.
    again = await target.sync(transport_to(source), token)
    assert again.events == BulkWriteResult(), "nothing changed since, so nothing is asked for"
    assert again.since is not None
    headers = {"Authorization": f"Token {token}"}
    record = (await source.get("/api/v2/event/200/", headers=headers)).json()
    await source.request("PUT", "/api/v2/event/200/", json={**record, "num_affected": 9}, headers=headers)
    body = {"name": "New", "disaster_start_date": "2026-02-02"}
    await source.request("PUT", "/api/v2/event/300/", json=body, headers=headers)
    await source.request("DELETE", "/api/v2/event/1/", headers=headers)
    third = await target.sync(transport_to(source), token)
    assert third.events == BulkWriteResult(created=1, changed=1, deleted=1)
    async with served(target.database) as copy:
        assert await everything(copy, [200, 300]) == await everything(source, [200, 300])
        assert (await copy.get("/api/v2/event/1/")).status_code == 404

    full = await target.sync(transport_to(source), token, full=True)
    assert (full.since, full.events) == (None, BulkWriteResult(unchanged=len(LISTED)))


async def test_the_public_sees_public_events(source: Service, target: Target) -> None:
    report = await target.sync(transport_to(source))
    assert report.events.created == len([each for each in LISTED if each.visibility == 3])
    held = await target.store.by_id(1)
    assert held is not None
    assert held.visibility == 1, "where it is not told"
    assert held.name == {"en": "Flood 1", "fr": "Inondation 1"}
    with_token = await target.sync(transport_to(source), await source.create_token(is_superuser=True))
    assert with_token.since is None, "who sees more begins anew"
    held = await target.store.by_id(1)
    assert held is not None
    assert held.visibility == 3
    await target.sync(transport_to(source), full=True)
    assert await target.store.by_id(1) == held, "and loses nothing of it again"


async def test_what_is_merged_or_hidden_leaves_the_copies(source: Service, target: Target) -> None:
    token = await source.create_token(is_superuser=True)
    headers = {"Authorization": f"Token {token}"}
    await target.sync(transport_to(source))
    for number, change in ((1, {"parent_event": 2}), (3, {"visibility": Visibility.SECRETARIAT})):
        record = (await source.get(f"/api/v2/event/{number}/", headers=headers)).json()
        await source.request("PUT", f"/api/v2/event/{number}/", json={**record, **change}, headers=headers)
    assert (await target.sync(transport_to(source))).events == BulkWriteResult(deleted=2)
    assert (await target.store.by_id(1), await target.store.by_id(3)) == (None, None)

    await target.sync(transport_to(source), token)
    assert (await target.store.by_id(3)) is not None
    await target.sync(transport_to(source), full=True)
    assert (await target.store.by_id(3)) is not None, (
        "seen with a token, it is not gone because the public cannot see it"
    )


async def test_since_a_moment(source: Service, target: Target) -> None:
    report = await target.sync(transport_to(source), since=START + timedelta(days=95))
    public = [each for each in LISTED if each.visibility == 3]
    late = len([each for each in public if each.id >= 95])
    assert report.events.created == late
    rest = await target.sync(transport_to(source))
    assert (rest.since, rest.events) == (None, BulkWriteResult(created=len(public) - late, unchanged=late)), (
        "the others come too"
    )
    await target.sync(transport_to(source), since=START + timedelta(days=95))
    again = await target.sync(transport_to(source))
    assert (again.since is None, again.events) == (False, BulkWriteResult()), "what is whole stays so"


async def test_a_run_that_was_stopped_is_gone_on_with(
    source: Service, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sync_module, "PAGE_SIZE", 20)

    class Stopped(Exception):
        pass

    def stop(done: int, total: int) -> None:
        if done >= 60:
            raise Stopped

    with pytest.raises(Stopped):
        await target.sync(transport_to(source), on_page=stop)
    state = await sync_state.load_state(target.database, BASE_URL, with_token=False)
    assert (state.reached, state.finished) == (77, None), "each page begins with the last record of the one before"
    target.asked.clear()
    report = await target.sync(transport_to(source))
    assert report.resumed
    offsets = {
        int(url.params["offset"]) for url in target.asked if url.path.endswith("/event/") and "offset" in url.params
    }
    assert min(offsets) == 57
    assert len([number for number in range(1, 101) if await target.store.by_id(number)]) == 100


# A server like the live one


class LiveSystem:
    """A server that falls back to English first, knows no changes and no deletions, and is sometimes busy."""

    def __init__(self, records: list[dict[str, Any]], most: int = 1000) -> None:
        self.records = records
        self.most = most
        self.failures: list[httpx.Response | None] = [
            httpx.Response(503, headers={"Retry-After": "0"}),
            httpx.Response(429),
            None,
        ]
        self.shrinks_at: int | None = None
        self.knows_changes = False

    def transport(self) -> httpx.MockTransport:
        return httpx.MockTransport(self.answer)

    def answer(self, request: httpx.Request) -> httpx.Response:
        if self.failures:
            failure = self.failures.pop()
            if failure is None:
                raise httpx.ConnectError("out of reach")
            return failure
        language = request.headers["Accept-Language"]
        path = request.url.path.removeprefix("/api/v2/")
        if path == "country/":
            country = {"id": 123, "iso": "NP", "iso3": "NPL", "region": 2, "average_household_size": "4.60",
                       "name": {"fr": "Népal"}.get(language, "Nepal"), "record_type": 1}  # fmt: skip
            return self.listed(request, [country])
        if path == "disaster_type/":
            return self.listed(request, [{"id": 12, "name": "Flood", "summary": ""}])
        if path == "event/":
            if self.shrinks_at is not None and int(request.url.params["offset"]) >= self.shrinks_at:
                self.records, self.shrinks_at = self.records[3:], None
            wanted = [each for each in self.records if request.url.params.get("id") in (None, str(each["id"]))]
            if self.knows_changes:
                since = request.url.params.get("updated_at__gte", "")
                wanted = [each for each in wanted if each["updated_at"] >= since]
            return self.listed(request, [self.said(each, language) for each in wanted])
        return httpx.Response(404, json={"error_code": 404})

    def said(self, record: dict[str, Any], language: str) -> dict[str, Any]:
        def say(value: Any) -> Any:
            return next(value[code] for code in (language, "en", "fr", "es", "ar") if code in value)

        return {name: say(value) if name in ("name", "summary") else value for name, value in record.items()}

    def listed(self, request: httpx.Request, found: list[dict[str, Any]]) -> httpx.Response:
        limit, offset = int(request.url.params.get("limit", 50)), int(request.url.params.get("offset", 0))
        some = found[offset : offset + min(limit, self.most)]
        return httpx.Response(200, json={"count": len(found), "next": None, "previous": None, "results": some})


def live(number: int, **more: Any) -> dict[str, Any]:
    return {
        "id": number,
        "name": {"es": "Inundación", "en": "Flood"},
        "summary": {"es": "Mucho"},
        "translation_module_original_language": "es",
        "disaster_start_date": "2026-01-01T00:00:00Z",
        "created_at": "2026-01-01T00:00:00.123456Z",
        "updated_at": "2026-01-01T00:00:00Z",
        "countries": [{"id": 123, "name": "Nepal"}],
        "dtype": {"id": 12, "name": "Flood"},
        **more,
    }


@pytest.fixture(autouse=True)
def _short_retry_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(far_module, "INITIAL_BACKOFF_SECONDS", 0.001)


async def test_a_server_like_the_live_one(target: Target) -> None:
    old = {"id": 9001, "iso": None, "iso3": None, "name": "Old country", "is_deprecated": True, "record_type": 1}
    system = LiveSystem(
        [
            live(1, countries=[{"id": 123}, old], dtype={"id": 99, "name": "Meteorite", "summary": ""}),
            live(2, glide="x" * 30),
            {**live(3), "id": "three"},
            *(live(number) for number in range(10, 40)),
        ],
        most=7,
    )
    report = await target.sync(system.transport())
    assert report.events == BulkWriteResult(created=31, failed=2)
    assert sorted(target.told) == [
        f"event 2: glide: “{'x' * 30}” cannot be taken. Enter text of at most 18 characters.",
        "record 'three': id: A whole number is needed.",
    ]
    held = await target.store.by_id(1)
    assert held is not None
    assert (held.name, held.summary) == ({"es": "Inundación", "en": "Flood"}, {"es": "Mucho"}), "French is a fallback"
    assert (held.countries, held.dtype) == ((123, 9001), 99)
    directory = await ReferenceStore(target.database, DataVersions(target.database)).current()
    assert directory.countries[9001].is_deprecated
    assert directory.countries[123].average_household_size == 4.6
    assert directory.countries[123].names["ar"], "a name we have and they have not stays"
    again = await target.sync(system.transport())
    assert (again.since, again.events) == (None, BulkWriteResult(unchanged=31, failed=2)), "it cannot tell what changed"


async def test_what_failed_is_asked_for_again(source: Service, target: Target) -> None:
    await target.store.upsert([make_event(999, slug="south-sudan")])
    first = await target.sync(transport_to(source))
    taken = "event 102: slug: Another event has this name in addresses already: south-sudan."
    assert (first.events.failed, target.told) == (1, [taken])
    state = await sync_state.load_state(target.database, BASE_URL, with_token=False)
    assert (state.failing, state.finished is None) == ((102,), False)

    second = await target.sync(transport_to(source))
    assert (second.since is None, second.events) == (False, BulkWriteResult(failed=1)), "alone, and told each time"
    assert target.told == [taken, taken]
    await target.store.delete([999])
    third = await target.sync(transport_to(source))
    assert (third.since is None, third.events) == (False, BulkWriteResult(created=1))
    assert (await sync_state.load_state(target.database, BASE_URL, with_token=False)).failing == ()
    assert (await target.sync(transport_to(source))).events == BulkWriteResult()


async def test_what_failed_and_is_gone_is_not_asked_for_again(source: Service, target: Target) -> None:
    await target.store.upsert([make_event(999, slug="south-sudan")])
    await target.sync(transport_to(source))
    await EventStore(source.database, source.data_versions).delete([102])
    assert (await target.sync(transport_to(source))).events == BulkWriteResult()
    assert (await sync_state.load_state(target.database, BASE_URL, with_token=False)).failing == ()


async def test_what_failed_at_a_server_that_only_knows_one_id_at_a_time(target: Target) -> None:
    system = LiveSystem([live(1), live(2, glide="x" * 30), live(3, glide="x" * 30)])
    system.knows_changes = True
    await target.sync(system.transport(), since=datetime(2020, 1, 1, tzinfo=UTC), full=True)
    assert (await sync_state.load_state(target.database, BASE_URL, with_token=False)).failing == (2, 3)
    state = await sync_state.load_state(target.database, BASE_URL, with_token=False)
    async with target.database.transaction() as connection:
        await sync_state.save_state(
            connection, msgspec.structs.replace(state, finished=datetime(2026, 6, 1, tzinfo=UTC))
        )
    system.records[1]["glide"] = ""
    report = await target.sync(system.transport())
    assert (report.since is None, report.events) == (False, BulkWriteResult(created=1, failed=1))
    assert (await sync_state.load_state(target.database, BASE_URL, with_token=False)).failing == (3,)


async def test_a_list_that_shrinks_while_it_is_read_is_read_whole(
    target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sync_module, "PAGE_SIZE", 5)
    system = LiveSystem([live(number) for number in range(1, 61)])
    system.shrinks_at = 30
    await target.sync(system.transport())
    held = [number for number in range(1, 61) if await target.store.by_id(number)]
    assert held == list(range(1, 61))


class Meddling(httpx.ASGITransport):
    """The way to a service whose events are changed as soon as the first page of them is read."""

    def __init__(self, service: Service, meddle: Callable[[EventStore], Awaitable[Any]]) -> None:
        super().__init__(service.app, client=("127.0.0.1", 50000))
        self._meddle: Callable[[EventStore], Awaitable[Any]] | None = meddle
        self._store = EventStore(service.database, service.data_versions)
        self._answers = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        answer = await super().handle_async_request(request)
        self._answers += request.url.path == "/api/v2/event/" and request.url.params.get("offset") == "0"
        if self._answers == len(Language) and self._meddle is not None:
            meddle, self._meddle = self._meddle, None
            await meddle(self._store)
        return answer


async def move_the_first(store: EventStore) -> None:
    await store.upsert([msgspec.structs.replace(EVENTS[-1], disaster_start_date=START, updated_at=datetime.now(UTC))])


async def delete_some(store: EventStore) -> None:
    await store.delete([1, 2, 3, 101, 102])
    await store.upsert([make_event(number) for number in range(1001, 1006)])


@pytest.mark.parametrize("meddle", [move_the_first, delete_some])
async def test_what_moves_while_our_list_is_read_hides_nothing(
    source: Service, target: Target, monkeypatch: pytest.MonkeyPatch, meddle: Callable[[EventStore], Awaitable[None]]
) -> None:
    monkeypatch.setattr(sync_module, "PAGE_SIZE", 5)
    report = await target.sync(Meddling(source, meddle))
    kept = [each.id for each in LISTED if each.visibility == 3 and each.id not in (1, 2, 3, 101, 102)]
    assert [number for number in kept if not await target.store.by_id(number)] == []
    assert report.events.unchanged == 0, "what is read twice is written once"


@pytest.mark.parametrize("times", [1, 3, 100])
async def test_what_moves_while_another_list_is_read_hides_nothing(
    target: Target, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    monkeypatch.setattr(sync_module, "PAGE_SIZE", 15)
    monkeypatch.setattr(sync_module, "MAX_PREFETCHED_PAGES", 1)
    system = LiveSystem([live(number) for number in range(1, 61)])
    listed, moves = system.listed, iter(range(times))

    def moving(request: httpx.Request, found: list[dict[str, Any]]) -> httpx.Response:
        answer = listed(request, found)
        is_second = request.url.path.endswith("/event/") and int(request.url.params["offset"]) >= 20
        if is_second and request.headers["Accept-Language"] == "es" and next(moves, None) is not None:
            system.records.insert(0, system.records.pop())
        return answer

    system.listed = moving  # type: ignore[method-assign]
    report = await target.sync(system.transport())
    state = await sync_state.load_state(target.database, BASE_URL, with_token=False)
    if times == 100:
        assert (target.told, report.events.failed) == ([f"{BASE_URL}: {sync_module.LIST_CHANGED_DURING_READ}"], 1)
        assert state.finished is None
    else:
        assert report.events == BulkWriteResult(created=60)
        assert (target.told, state.finished is None) == ([], False)


async def test_countries_come_in_all_languages_though_pages_are_short(target: Target) -> None:
    system = LiveSystem([live(1)], most=2)
    listed = system.listed
    names = {9001: {"fr": "Zoulou"}, 9002: {}, 9003: {"fr": "Alpha"}, 9004: {}}

    def by_name(request: httpx.Request, found: list[dict[str, Any]]) -> httpx.Response:
        if request.url.path.endswith("/country/"):
            said = request.headers["Accept-Language"]
            found = [{**found[0], "id": number, "iso": None, "iso3": None, "name": name.get(said, f"Land {number}")}
                     for number, name in names.items()]  # fmt: skip
            found.sort(key=lambda country: str(country["name"]))
        return listed(request, found)

    system.listed = by_name  # type: ignore[method-assign]
    system.records[0]["countries"] = [{"id": 9001}]
    await target.sync(system.transport())
    directory = await ReferenceStore(target.database, DataVersions(target.database)).current()
    assert directory.countries[9001].names == {"en": "Land 9001", "fr": "Zoulou"}
    assert directory.countries[9003].names == {"en": "Land 9003", "fr": "Alpha"}


async def test_a_record_that_changes_while_it_is_read(target: Target) -> None:
    system = LiveSystem([live(1)])
    answers = iter(range(100))
    said = system.said

    def changing(record: dict[str, Any], language: str) -> dict[str, Any]:
        if next(answers) == 1:
            record |= {"updated_at": "2026-02-01T00:00:00Z", "name": {"es": "Otra", "fr": "Autre"}}
        return said(record, language)

    system.said = changing  # type: ignore[method-assign]
    await target.sync(system.transport())
    held = await target.store.by_id(1)
    assert held is not None
    assert held.name in ({"es": "Otra", "fr": "Autre"}, {"es": "Otra", "en": "Autre"}), "all of one state"


async def test_a_record_that_never_stands_still_keeps_what_is_held(target: Target) -> None:
    system = LiveSystem([live(1)])
    await target.sync(system.transport())
    held = await target.store.by_id(1)
    said, moments = system.said, iter(range(10**6))

    def changing(record: dict[str, Any], language: str) -> dict[str, Any]:
        return {**said(record, language), "updated_at": f"2026-02-01T00:00:00.{next(moments):06}Z"}

    system.said = changing  # type: ignore[method-assign]
    report = await target.sync(system.transport())
    assert (report.events, target.told) == (BulkWriteResult(failed=1), [f"event 1: {sync_module.CHANGED_DURING_READ}"])
    assert await target.store.by_id(1) == held
    system.said = said  # type: ignore[method-assign]
    assert (await target.sync(system.transport())).events == BulkWriteResult(unchanged=1)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (httpx.Response(401, json={"detail": "Invalid token."}), "answered 401"),
        (httpx.Response(404), "answered 404"),
        (httpx.Response(200, text="<html>"), "does not answer with JSON of this interface"),
        (httpx.Response(200, json={"hello": 1}), "is no list of this interface"),
        (httpx.Response(503), "answered 503, 8 times. Run the command again later"),
        (httpx.ConnectError("refused"), "cannot be reached: refused, 8 times"),
    ],
    ids=str,
)
async def test_servers_that_cannot_be_used(target: Target, answer: Any, message: str) -> None:
    def give(request: httpx.Request) -> httpx.Response:
        if isinstance(answer, Exception):
            raise answer
        return httpx.Response(answer.status_code, content=answer.content)

    with pytest.raises(RemoteError, match=message):
        await target.sync(httpx.MockTransport(give))


def test_how_long_is_waited() -> None:
    assert far_module._retry_delay(3, None) <= far_module.MAX_BACKOFF_SECONDS
    assert far_module._retry_delay(0, 5.0) == 5
    assert far_module._retry_delay(0, 1e9) == far_module.MAX_RETRY_AFTER_SECONDS
    assert far_module._parse_retry_after("12") == 12
    assert far_module._parse_retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0
    assert far_module._parse_retry_after("soon") is None


# Processes


def killed_after(count: int, command: list[Any], path: Path) -> None:
    """Run a sync until so many events are written, then kill it."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while reached(path) < count and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait(60) == -signal.SIGKILL, "it was under way"


async def filled(folder: Path, events: list[Event], **how: bool) -> None:
    database = Database(f"sqlite:///{folder / 'fieldgate.db'}")
    await upgrade(database)
    await EventStore(database, DataVersions(database)).upsert(events, **how)
    await database.close()


def many() -> list[Event]:
    moment = datetime(2020, 1, 1, tzinfo=UTC)
    return [
        make_event(number, updated_at=moment, name={"en": f"Flood {number}", "ar": f"فيضان {number}"})
        for number in range(1, MANY + 1)
    ]


def walk(served: ServerProcess, language: str) -> list[Any]:
    with served.client() as client:
        found, address = [], f"{served.base_url}/api/v2/event/?limit=1000"
        while address:
            page = client.get(address, headers={"Accept-Language": language}).json()
            found += page["results"]
            address = page["next"]
    return found


def reached(path: Path) -> int:
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
            return int(connection.execute("SELECT max(reached) FROM event_syncs").fetchone()[0] or 0)
    except sqlite3.OperationalError:
        return 0


async def test_killed_in_the_middle_and_gone_on_with(tmp_path: Path) -> None:
    source, copy = tmp_path / "source", tmp_path / "copy"
    await filled(source, many())
    with ServerProcess(source, "--no-worker") as served:
        command: list[Any] = [FIELDGATE_COMMAND, "events", "sync", served.base_url, "--data", copy]
        killed_after(1000, command, copy / "fieldgate.db")
        assert 1000 <= reached(copy / "fieldgate.db") < MANY

        done = run_command("events", "sync", served.base_url, data=copy)
        assert (done.returncode, done.stderr) == (0, "")
        assert "continued a run that had been stopped\n" in done.stdout
        second = run_command("events", "sync", served.base_url, data=copy)
        assert second.stdout.endswith("created 0, changed 0, unchanged 0, failed 0\n")

        # Visibility is not told to the public, and 1 where unknown: the copy shows them to members.
        run_command("user", "create", "amina", "--password-stdin", "--superuser", data=copy, stdin="correct horse")
        token = run_command("token", "create", "amina", data=copy).stdout.strip()
        with ServerProcess(copy, "--no-worker") as copied, copied.client() as client:
            for language in ("en", "fr", "ar", "es"):
                headers = {"Accept-Language": language, "Authorization": f"Token {token}"}
                found: list[Any] = []
                while len(found) < MANY:
                    query = f"/api/v2/event/?limit=1000&offset={len(found)}"
                    found += client.get(query, headers=headers).json()["results"]
                assert found == walk(served, language)


async def test_mistakes_have_a_message(tmp_path: Path) -> None:
    assert "no address" in run_command("events", "sync", "nowhere", data=tmp_path).stderr
    bad = run_command("events", "sync", "http://127.0.0.1:9", "--since", "soon", data=tmp_path)
    assert "enter a date or time such as 2026-11-15 or 2026-11-15T08:30:00Z, not 'soon'." in bad.stderr
    both = run_command("events", "sync", "http://127.0.0.1:9", "--since", "2026-01-01", "--full", data=tmp_path)
    assert "--since and --full cannot be used together." in both.stderr
    await filled(tmp_path, [make_event(1)], is_demo=True)
    demo = run_command("events", "sync", "http://127.0.0.1:9", data=tmp_path)
    assert demo.stderr == "Error: This database has demo events. Delete them with --replace-demo.\n"
