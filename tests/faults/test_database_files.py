"""The database is deleted, moved or replaced while the service runs: nothing that is lost was acknowledged."""

import asyncio
import os
import sqlite3
import subprocess
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest
from sqlalchemy import make_url

from fieldgate.db import Database
from fieldgate.settings import Settings
from tests.conftest import Service, StartService, run_service
from tests.databases import prepare_database
from tests.faults.trial_report import TrialReport, TrialResult
from tests.imports.workbooks import xlsx
from tests.processes import ServerProcess, run_command

EVENTS = "/api/v2/event/"
IMPORTS = "/api/v2/imports/"
TIMEOUT_SECONDS = 60
BOOK = xlsx()
EVENT: dict[str, Any] = {
    "name": {"en": "Floods"},
    "disaster_start_date": "2026-07-14",
    "countries": [123],
    "visibility": 3,
}
OUTAGE = "database outage: "
OVER = "database outage is over"


@pytest.fixture(autouse=True)
def _reopen_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is one process in most trials, so it need not wait for others."""
    monkeypatch.setattr("fieldgate.db.open_files.REOPEN_SECONDS", 0)


class FaultCaller:
    """Writes in both ways: imports share commits, events have transactions of their own."""

    def __init__(self, service: Service, token: str) -> None:
        self.service = service
        self.headers = {"Authorization": f"Token {token}"}
        self.acknowledged: list[int] = []
        self.imports: list[str] = []
        self.statuses = Counter[str]()
        self._number = 0

    async def put_event(self) -> httpx.Response:
        self._number += 1
        response = await self.service.request("PUT", f"{EVENTS}{self._number}/", json=EVENT, headers=self.headers)
        self.statuses[str(response.status_code)] += 1
        if response.is_success:
            self.acknowledged.append(self._number)
        return response

    async def post_import(self) -> httpx.Response:
        files = {"file": ("a.xlsx", BOOK)}
        response = await self.service.request("POST", IMPORTS, files=files, headers=self.headers)
        self.statuses[str(response.status_code)] += 1
        if response.is_success:
            self.imports.append(response.json()["uid"])
        return response

    async def lost(self) -> int:
        found = {record["id"] for record in await self._list(EVENTS)}
        imports = {record["uid"] for record in await self._list(IMPORTS)}
        return len(set(self.acknowledged) - found) + len(set(self.imports) - imports)

    async def _list(self, path: str) -> list[dict[str, Any]]:
        """All records. After an outage, a connection that was cut may be used once more: that is a 503."""
        until = time.monotonic() + TIMEOUT_SECONDS
        while True:
            response = await self.service.get(path, headers=self.headers, params={"limit": 1000})
            if response.status_code == 200:
                return list(response.json()["results"])
            assert response.status_code == 503
            assert time.monotonic() < until, response.text
            await asyncio.sleep(0.02)


async def wait_until(is_true: Callable[[], Awaitable[bool]]) -> float:
    """Wait for a condition; return the seconds that it took."""
    began = time.monotonic()
    while not await is_true():
        assert time.monotonic() < began + TIMEOUT_SECONDS
        await asyncio.sleep(0.02)
    return time.monotonic() - began


async def is_ready(service: Service) -> bool:
    return (await service.get("/readyz")).status_code == 200


async def readiness(service: Service) -> tuple[int, str | None]:
    response = await service.get("/readyz")
    return response.status_code, response.json().get("reason")


def outage_lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.getMessage().startswith("database outage")]


async def test_deleted_file(
    start: StartService, tmp_path: Path, caplog: pytest.LogCaptureFixture, trial_report: TrialReport
) -> None:
    file = tmp_path / "fieldgate.db"
    async with start() as service:
        caller = FaultCaller(service, await service.create_token(is_superuser=True))
        assert (await caller.put_event()).status_code == 201
        assert (await caller.post_import()).status_code == 201
        file.rename(tmp_path / "moved.db")
        for write in (caller.put_event, caller.post_import, caller.put_event):
            refused = await write()
            assert refused.status_code == 503
            assert refused.json() == {
                "detail": "The database is missing, so nothing can be read or saved. Please try again later."
            }
            assert refused.headers["Retry-After"] == "30"
        assert await readiness(service) == (503, "missing")
        assert (await service.get(EVENTS)).status_code == 503, "nothing is read from a deleted file"
        assert not file.exists(), "no empty database is created"
        lines = outage_lines(caplog)
        assert len(lines) == 1, lines
        assert "deleted or moved while in use" in lines[0]

        (tmp_path / "moved.db").rename(file)
        seconds = await wait_until(lambda: is_ready(service))
        assert (await caller.put_event()).status_code == 201
        assert (await caller.post_import()).status_code == 201
        assert await caller.lost() == 0
        assert [line.startswith(OVER) for line in outage_lines(caplog)] == [False, True]
    trial_report.add(
        TrialResult(
            trial="database file deleted and put back", database="SQLite", lost=0,
            acknowledged=len(caller.acknowledged) + len(caller.imports), statuses=dict(caller.statuses),
            recovery_seconds=seconds, remark="no write to the deleted file was acknowledged",
        )
    )  # fmt: skip


async def test_deleted_file_is_noticed_without_writes(start: StartService, tmp_path: Path) -> None:
    async with start() as service:
        assert (await service.get(EVENTS)).status_code == 200
        (tmp_path / "fieldgate.db").unlink()

        async def is_refused() -> bool:
            return (await service.get(EVENTS)).status_code == 503

        await wait_until(is_refused)
        assert await readiness(service) == (503, "missing")


async def test_another_database(
    start: StartService, tmp_path: Path, caplog: pytest.LogCaptureFixture, trial_report: TrialReport
) -> None:
    other = Database(f"sqlite:///{tmp_path / 'other' / 'fieldgate.db'}")
    await prepare_database(other)
    await other.close()
    file = tmp_path / "fieldgate.db"
    async with start() as service:
        caller = FaultCaller(service, await service.create_token(is_superuser=True))
        await service.database.close()  # the service has the only connections
        assert (await caller.put_event()).status_code == 201
        file.rename(tmp_path / "kept.db")
        (tmp_path / "fieldgate.db-wal").rename(tmp_path / "kept.db-wal")
        (tmp_path / "other" / "fieldgate.db").rename(file)
        assert (await caller.put_event()).status_code == 503
        assert (await caller.post_import()).status_code == 503
        assert await readiness(service) == (503, "missing")
        assert (await service.get(EVENTS)).status_code == 503
        assert len(outage_lines(caplog)) == 1
        file.unlink()
        (tmp_path / "kept.db").rename(file)
        (tmp_path / "kept.db-wal").rename(tmp_path / "fieldgate.db-wal")
        seconds = await wait_until(lambda: is_ready(service))
        assert (await caller.put_event()).status_code == 201
        assert await caller.lost() == 0
    trial_report.add(
        TrialResult(
            trial="database replaced by another one, and put back", database="SQLite", recovery_seconds=seconds,
            acknowledged=len(caller.acknowledged), statuses=dict(caller.statuses), remark="503 meanwhile",
        )
    )  # fmt: skip


async def test_log_of_the_former_file_is_not_applied_to_its_copy(start: StartService, tmp_path: Path) -> None:
    """A copy of the same database, but the -wal file of the former one is left: SQLite would mix the two."""
    file = tmp_path / "fieldgate.db"
    async with start() as service:
        caller = FaultCaller(service, await service.create_token(is_superuser=True))
        assert (await caller.put_event()).status_code == 201
        copy = ["cp", str(file), str(tmp_path / "copy.db")]  # reading the file in this process would release its locks
        await asyncio.to_thread(subprocess.run, copy, check=True)
        (tmp_path / "copy.db").replace(file)
        assert (await caller.put_event()).status_code == 503
        assert await readiness(service) == (503, "missing")
        assert await readiness(service) == (503, "missing"), "also when all connections are new"


async def test_deleted_log(start: StartService, tmp_path: Path, trial_report: TrialReport) -> None:
    async with start() as service:
        caller = FaultCaller(service, await service.create_token(is_superuser=True))
        await service.database.close()  # the service has the only connections
        for _ in range(3):
            assert (await caller.put_event()).status_code == 201
        (tmp_path / "fieldgate.db-wal").unlink()
        (tmp_path / "fieldgate.db-shm").unlink()
        refused = await caller.put_event()
        assert refused.status_code == 503
        assert refused.json()["detail"].startswith("The database cannot be reached.")
        seconds = await wait_until(lambda: is_ready(service))
        assert (await caller.put_event()).status_code == 201
        lost = await caller.lost()
        assert lost == 0, "closing the connections saved what was in the deleted log"
    trial_report.add(
        TrialResult(
            trial="-wal and -shm files deleted", database="SQLite", acknowledged=len(caller.acknowledged), lost=lost,
            statuses=dict(caller.statuses), recovery_seconds=seconds,
        )
    )  # fmt: skip


async def test_restored_backup_never_repeats_an_etag(start: StartService, tmp_path: Path) -> None:
    """Backup, change, restore, change otherwise: clients and caches must not be told that nothing changed."""
    file, backup = tmp_path / "fieldgate.db", tmp_path / "backup.db"
    seen: dict[str, list[int]] = {}

    async def look(service: Service) -> None:
        response = await service.get(EVENTS)
        ids = [record["id"] for record in response.json()["results"]]
        for name in ("ETag", "Fieldgate-Data-Version"):
            assert seen.setdefault(response.headers[name], ids) == ids, f"{name} was used for other data"

    async with start() as service:
        caller = FaultCaller(service, await service.create_token(is_superuser=True))
        await caller.put_event()
        with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(backup)) as target:
            source.backup(target)
        await look(service)
        for _ in range(3):
            await caller.put_event()
            await look(service)
    backup.replace(file)
    for left in ("fieldgate.db-wal", "fieldgate.db-shm"):
        (tmp_path / left).unlink(missing_ok=True)
    async with start() as service:
        await look(service)
        caller = FaultCaller(service, await service.create_token(is_superuser=True))
        caller._number = 10
        for _ in range(3):
            assert (await caller.put_event()).status_code == 201
            await look(service)
        ids = [record["id"] for record in (await service.get(EVENTS)).json()["results"]]
        assert sorted(ids) == [1, 11, 12, 13]
    assert len(seen) >= 2 * 7, "the state of the backup was the same twice"


@asynccontextmanager
async def postgres_service(address: str, name: str, tmp_path: Path) -> AsyncIterator[Service]:
    settings = Settings(
        data=tmp_path, access_log=False,
        database_url=make_url(address).set(database=name).render_as_string(hide_password=False),
    )  # fmt: skip
    async with run_service(settings) as service:
        yield service


async def test_another_postgresql_database(
    postgres: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, trial_report: TrialReport
) -> None:
    """The database is renamed, and another one of the same name is created: each has its own identity."""
    admin = await asyncpg.connect(postgres)
    await admin.execute("CREATE DATABASE swapped")

    async def rename(old: str, new: str) -> None:
        while True:  # the service connects again at once
            await admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", old)
            try:
                await admin.execute(f"ALTER DATABASE {old} RENAME TO {new}")
            except asyncpg.ObjectInUseError:
                continue
            return

    try:
        async with postgres_service(postgres, "swapped", tmp_path) as service:
            caller = FaultCaller(service, await service.create_token(is_superuser=True))
            assert (await caller.put_event()).status_code == 201
            await rename("swapped", "swapped_away")
            await wait_until(lambda: _has_reason(service, "missing"))
            await admin.execute("CREATE DATABASE swapped")
            other = Database(make_url(postgres).set(database="swapped").render_as_string(hide_password=False))
            await prepare_database(other)
            await other.close()
            await wait_until(lambda: _has_reason(service, "missing"))
            assert (await caller.put_event()).status_code == 503
            assert (await caller.post_import()).status_code == 503
            await rename("swapped", "swapped_other")
            await rename("swapped_away", "swapped")
            seconds = await wait_until(lambda: is_ready(service))
            assert (await caller.put_event()).status_code == 201
            assert await caller.lost() == 0
    finally:
        for name in ("swapped", "swapped_away", "swapped_other"):
            await admin.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        await admin.close()
    trial_report.add(
        TrialResult(
            trial="database replaced by another one, and put back", database="PostgreSQL", recovery_seconds=seconds,
            acknowledged=len(caller.acknowledged), statuses=dict(caller.statuses), remark="503 meanwhile",
        )
    )  # fmt: skip


async def _has_reason(service: Service, reason: str) -> bool:
    return await readiness(service) == (503, reason)


def test_two_processes_under_load(tmp_path: Path, trial_report: TrialReport) -> None:
    """The file is moved away and back while two processes write: every acknowledged event is there."""
    file = tmp_path / "fieldgate.db"
    run_command("user", "create", "amina", "--superuser", "--password-stdin", data=tmp_path, stdin="correct horse")
    token = run_command("token", "create", "amina", data=tmp_path).stdout.split()[-1]
    statuses = Counter[str]()
    acknowledged: list[int] = []
    is_over = threading.Event()

    def write(first: int, base_url: str) -> None:
        with httpx.Client(base_url=base_url, timeout=TIMEOUT_SECONDS) as client:
            number = first
            while not is_over.is_set():
                number += 2
                headers = {"Authorization": f"Token {token}", "Connection": "close"}
                response = client.put(f"{EVENTS}{number}/", json=EVENT, headers=headers)
                statuses[str(response.status_code)] += 1
                if response.status_code == 201:
                    acknowledged.append(number)

    def wait_for(count: int, status: str) -> None:
        until = time.monotonic() + TIMEOUT_SECONDS
        start = statuses[status]
        while statuses[status] < start + count:
            assert time.monotonic() < until, statuses
            time.sleep(0.02)

    with ServerProcess(tmp_path, "--workers", "2", "--no-worker") as server:
        writers = [threading.Thread(target=write, args=(first, server.base_url)) for first in (0, 1)]
        for writer in writers:
            writer.start()
        try:
            wait_for(10, "201")
            os.rename(file, tmp_path / "moved.db")  # noqa: PTH104
            wait_for(10, "503")
            assert not file.exists()
            os.rename(tmp_path / "moved.db", file)  # noqa: PTH104
            began = time.monotonic()
            wait_for(10, "201")
            seconds = time.monotonic() - began
        finally:
            is_over.set()
            for writer in writers:
                writer.join()
        found = {record["id"] for record in events_of(server)}
    log = server.log
    assert set(statuses) == {"201", "503"}
    assert set(acknowledged) <= found
    assert len(acknowledged) <= 1000
    # A process has one line for each reason that it saw: that the file is missing, or that its log was replaced.
    assert statuses["503"] >= 10
    assert 1 <= log.count("database outage: ") <= 4, "not for each request"
    trial_report.add(
        TrialResult(
            trial="database file moved away and back, two processes writing", database="SQLite",
            acknowledged=len(acknowledged), lost=len(set(acknowledged) - found), statuses=dict(statuses),
            recovery_seconds=seconds,
        )
    )  # fmt: skip


def events_of(server: ServerProcess) -> list[dict[str, Any]]:
    """All events, once the process that is asked has opened the file again."""
    until = time.monotonic() + TIMEOUT_SECONDS
    with server.client() as client:
        while (response := client.get(EVENTS, params={"limit": 1000})).status_code == 503:
            assert time.monotonic() < until, response.text
            time.sleep(0.05)
    return list(response.json()["results"])
