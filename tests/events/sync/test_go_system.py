"""Synchronization with a server like IFRC GO in Django REST framework.

Its events are edited, deleted and merged, also while the list is read, and both sides are killed.
"""

import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from fieldgate.events.sync import event_puller, synchronizer
from fieldgate.events.sync.remote import RemoteError, RemoteServer
from fieldgate.events.sync.synchronizer import SyncOptions, SyncReport
from fieldgate.events.tables import events as events_table
from fieldgate.events.writes import BulkWriteResult
from tests.conftest import Service, nightly_only
from tests.data.sql import all_rows
from tests.events.sync.conftest import SyncTarget, serve
from tests.events.sync.go_process import TOKEN, GoProcess

LANGUAGES = ("en", "fr", "es", "ar")
EVENTS, PAGE_SIZE, BATCH_SIZE = 48, 10, 5
LIST = "event/?limit=500"
# As the command, with small pages.
SYNC = f"""
from fieldgate.events.sync import event_puller, synchronizer

synchronizer.PAGE_SIZE = {PAGE_SIZE}
event_puller.BATCH_SIZE = {BATCH_SIZE}

from fieldgate.cli import main

main()
"""


@pytest.fixture(autouse=True)
def _small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(synchronizer, "PAGE_SIZE", PAGE_SIZE)
    monkeypatch.setattr(event_puller, "BATCH_SIZE", BATCH_SIZE)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[GoProcess]:
    with GoProcess(tmp_path, EVENTS) as process:
        yield process


class BeforeRequests(httpx.AsyncHTTPTransport):
    """Calls a function with the number and the address of each request for a list or record of events."""

    def __init__(self, before: Callable[[int, str], None]) -> None:
        super().__init__()
        self._before = before
        self._number = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        address = str(request.url).partition("/api/v2/")[2]
        if address.startswith("event/"):
            self._number += 1
            self._before(self._number, address)
        return await super().handle_async_request(request)


async def pull(
    target: SyncTarget,
    server: GoProcess,
    token: str = "",
    before: Callable[[int, str], None] = lambda number, address: None,
    **options: Any,
) -> SyncReport:
    async with RemoteServer(server.base_url, token, BeforeRequests(before)) as remote:
        return await target.run(remote, SyncOptions(**options))


OWN_NAMES = (
    "society_name", "record_type_display", "ifrc_severity_level_display",
    "status_display", "visibility_display", "atype_display",
)  # fmt: skip


def restrict(value: Any, shape: Any) -> Any:
    """A value of the copy with only those fields that the source sends, without labels, which are the copy's own.

    The stand-in leaves fields out of reports, and has neither labels in other languages nor names of societies.
    """
    if isinstance(shape, dict) and isinstance(value, dict):
        fields = {name: restrict(value.get(name), shape[name]) for name in shape}
        return fields | {name: shape[name] for name in OWN_NAMES if name in shape}
    if isinstance(shape, list) and isinstance(value, list) and len(shape) == len(value):
        return [restrict(item, example) for item, example in zip(value, shape, strict=True)]
    if isinstance(shape, str) and isinstance(value, float):
        return f"{value:.2f}"  # the size of households
    return value


async def check_copy(target: SyncTarget, server: GoProcess, token: str = "") -> None:
    """The copy shows what the server shows, in all languages and in the same order, and has nothing else."""
    async with serve(target) as copy:
        own_token = await copy.create_token(is_superuser=True)
        for language in LANGUAGES:
            headers = {"Accept-Language": language}
            if token:
                headers["Authorization"] = f"Token {own_token}"
            expected = server.get(LIST, language, token)["results"]
            copied = (await copy.get(f"/api/v2/{LIST}", headers=headers)).json()["results"]
            assert [record["id"] for record in copied] == [record["id"] for record in expected]
            assert restrict(copied, expected) == expected
            if token:
                await check_details(copy, server, headers)
    stored = {row.id for row in all_rows(target.database_url, select(events_table.c.id))}
    assert stored <= server.ids()


async def check_details(copy: Service, server: GoProcess, headers: dict[str, str]) -> None:
    language = headers["Accept-Language"]
    for id_ in sorted(server.ids())[::7]:
        expected = server.get(f"event/{id_}/", language, TOKEN)
        copied = (await copy.get(f"/api/v2/event/{id_}/", headers=headers)).json()
        if not expected["countries_for_preview"]:  # then a copy shows all countries
            copied["countries_for_preview"] = []
        assert restrict(copied, expected) == expected


@pytest.mark.parametrize("token", ["", TOKEN])
async def test_edits_deletions_and_merges(
    target: SyncTarget, server: GoProcess, token: str
) -> None:
    report = await pull(target, server, token)
    created = len(server.get(LIST, token=token)["results"])
    assert report.events == BulkWriteResult(created=created)
    assert target.failures == []
    await check_copy(target, server, token)
    again = await pull(target, server, token)
    assert again.events == BulkWriteResult(unchanged=created), "nothing changed"

    public = [record["id"] for record in server.get(LIST)["results"]]
    server.edit(public[0], num_affected=77, name_es="Otra", name_fr="")
    server.edit(public[1], disaster_start_date="2019-01-01 00:00:00")
    server.edit(public[20], parent_event_id=public[0])
    server.delete(public[2])
    server.delete(public[21])
    server.add(500, name_en="New", disaster_start_date="2025-01-01 00:00:00")
    report = await pull(target, server, token, max_missing_percent=50)
    unchanged = created - 5
    assert report.events == BulkWriteResult(created=1, changed=3, deleted=2, unchanged=unchanged)
    assert report.requested_by_id == 3
    await check_copy(target, server, token)
    [merged] = target.stored(public[20])
    assert merged is not None
    assert merged.parent_event == public[0]
    assert target.stored(public[2], public[21]) == [None, None]


@pytest.mark.parametrize("token", ["", TOKEN])
@pytest.mark.parametrize("seed", [1, *nightly_only(2, 3, 4, 5)])
async def test_list_that_moves_while_it_is_read(
    target: SyncTarget, server: GoProcess, token: str, seed: int
) -> None:
    """Before some requests an event is added, deleted, edited, merged or moved to another place of the list."""
    numbers = random.Random(seed)
    await pull(target, server, token, max_missing_percent=100)
    staying = {record["id"] for record in server.get(LIST)["results"]}
    new_ids = iter(range(1000, 2000))
    changes = iter(range(12))

    def change(number: int, _: str) -> None:
        if number < 3 or numbers.random() < 0.7 or next(changes, None) is None:
            return
        id_ = numbers.choice(sorted(staying))
        match numbers.randrange(5):
            case 0:
                server.add(next(new_ids), disaster_start_date="2025-01-01 00:00:00")
            case 1:
                server.delete(id_)
                staying.discard(id_)
            case 2:
                server.edit(id_, name_en=f"Edited {number}", name_ar=f"Arabic {number}")
            case 3:
                server.edit(id_, parent_event_id=next(iter(staying - {id_})))
                staying.discard(id_)
            case 4:
                server.edit(id_, disaster_start_date=f"20{numbers.randrange(10, 26)}-01-01")

    await pull(target, server, token, change, max_missing_percent=100)
    assert None not in target.stored(*staying), "what was in the list all the time is here"
    await pull(target, server, token, max_missing_percent=100)
    assert target.failures == []
    await check_copy(target, server, token)


@pytest.mark.parametrize("token", ["", TOKEN])
@pytest.mark.parametrize("requests", [14, *nightly_only(1, 8, 19, 30, 60)])
async def test_server_that_is_killed(
    target: SyncTarget, server: GoProcess, token: str, requests: int
) -> None:
    """The next run goes on at a page, and loses and repeats nothing."""

    def kill(number: int, _: str) -> None:
        if number == requests:
            server.kill()

    with suppress(RemoteError):  # a run that needs fewer requests is complete
        await pull(target, server, token, kill)
    state = target.state(with_token=bool(token), source=server.base_url)
    server.kill()
    server.start()
    requested_before = len(server.requests())
    report = await pull(target, server, token)
    assert report.events.failed == 0
    assert report.resumed == (state.began is not None)
    if state.position is not None:
        pages = [
            path
            for path in server.requests()[requested_before:]
            if f"event/?limit={PAGE_SIZE}&" in path
        ]
        assert f"offset={max(0, state.position.end - 5)}&" in pages[0]
    await check_copy(target, server, token)
    assert (await pull(target, server, token)).events.created == 0


def run_until_killed(command: list[str], server: GoProcess, requests: int) -> None:
    """Kill a process after it has sent so many requests."""
    before = len(server.requests())
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while len(server.requests()) - before < requests and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait(60)


def run_to_the_end(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("token", ["", TOKEN])
@pytest.mark.parametrize("requests", [30, *nightly_only(4, 20, 60, 90)])
async def test_sync_that_is_killed(
    tmp_path: Path, server: GoProcess, token: str, requests: int
) -> None:
    """At most the details of one batch are requested twice, whenever the process is killed."""
    data = tmp_path / "data"
    command = [sys.executable, "-c", SYNC, "events", "sync", server.base_url, "--data", str(data)]
    command += ["--token", token] if token else []
    for _ in range(2):
        run_until_killed(command, server, requests)
    done = run_to_the_end(command)
    assert (done.returncode, done.stderr) == (0, "")
    details = [path for path in server.requests() if path.split("/")[1].isdigit()]
    english = [path for path in details if int(path.split("/")[1]) % 5]  # in one language
    assert len(english) - len(set(english)) <= 2 * (BATCH_SIZE + 1)
    target = SyncTarget(f"sqlite:///{data / 'fieldgate.db'}")
    await check_copy(target, server, token)
    with sqlite3.connect(data / "fieldgate.db") as database:
        counts = database.execute("SELECT count(*), count(DISTINCT id) FROM events").fetchone()
    assert counts[0] == counts[1] == len(server.get(LIST, token=token)["results"])
    nothing = f"created 0, changed 0, unchanged {counts[0]}, failed 0\n"
    assert run_to_the_end(command).stdout.endswith(nothing)
