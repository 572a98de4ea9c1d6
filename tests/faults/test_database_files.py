"""The database is deleted, moved or replaced while the service runs: nothing that is lost was acknowledged."""

import asyncio
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

from fieldgate.db import AsyncDatabase
from fieldgate.settings import Settings
from tests.conftest import Service, StartService, run_service
from tests.databases import prepare_database
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


class FaultCaller:
    """Writes in both ways: imports share commits, events have transactions of their own."""

    def __init__(self, service: Service, token: str) -> None:
        self.service = service
        self.headers = {"Authorization": f"Token {token}"}
        self.acknowledged: list[int] = []
        self.imports: list[str] = []
        self._number = 0

    async def put_event(self) -> httpx.Response:
        self._number += 1
        response = await self.service.request(
            "PUT", f"{EVENTS}{self._number}/", json=EVENT, headers=self.headers
        )
        if response.is_success:
            self.acknowledged.append(self._number)
        return response

    async def post_import(self) -> httpx.Response:
        files = {"file": ("a.xlsx", BOOK)}
        response = await self.service.request("POST", IMPORTS, files=files, headers=self.headers)
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


async def wait_until(is_true: Callable[[], Awaitable[bool]]) -> None:
    """Wait for a condition."""
    began = time.monotonic()
    while not await is_true():
        assert time.monotonic() < began + TIMEOUT_SECONDS
        await asyncio.sleep(0.02)


async def is_ready(service: Service) -> bool:
    return (await service.get("/readyz")).status_code == 200


async def readiness(service: Service) -> tuple[int, str | None]:
    response = await service.get("/readyz")
    return response.status_code, response.json().get("reason")


def outage_lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [
        each.getMessage()
        for each in caplog.records
        if each.getMessage().startswith("database outage")
    ]


async def move_away(folder: Path) -> None:
    (folder / "fieldgate.db").rename(folder / "moved.db")


async def replace_by_another(folder: Path) -> None:
    other = AsyncDatabase(f"sqlite:///{folder / 'other' / 'fieldgate.db'}")
    await prepare_database(other)
    await other.close()
    await move_away(folder)
    (folder / "fieldgate.db-wal").rename(folder / "moved.db-wal")
    (folder / "other" / "fieldgate.db").rename(folder / "fieldgate.db")


async def replace_by_copy(folder: Path) -> None:
    """The -wal file of the former database is left: SQLite would apply it to the copy."""
    copy = [
        "cp",
        str(folder / "fieldgate.db"),
        str(folder / "copy.db"),
    ]  # reading it here would release its locks
    await asyncio.to_thread(subprocess.run, copy, check=True)
    await move_away(folder)
    (folder / "copy.db").rename(folder / "fieldgate.db")


async def delete_log(folder: Path) -> None:
    (folder / "fieldgate.db-wal").unlink()
    (folder / "fieldgate.db-shm").unlink()


@pytest.mark.parametrize("lose", [move_away, replace_by_another, replace_by_copy, delete_log])
@pytest.mark.parametrize("first", ["put_event", "post_import"])
async def test_lost_file_is_refused_until_a_restart(
    start: StartService,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    lose: Callable[[Path], Awaitable[None]],
    first: str,
) -> None:
    file, moved = tmp_path / "fieldgate.db", tmp_path / "moved.db"
    async with start() as service:
        caller = FaultCaller(service, await service.create_token(is_superuser=True))
        await service.database.close()  # the service has the only connections
        assert (await caller.put_event()).status_code == 201
        assert (await caller.post_import()).status_code == 201
        await lose(tmp_path)
        for write in (getattr(caller, first), caller.put_event, caller.post_import):
            refused = await write()
            assert refused.status_code == 503
            assert refused.json() == {
                "detail": "The database is missing, so nothing can be read or saved. Please try again later."
            }
            assert refused.headers["Retry-After"] == "30"
        assert await readiness(service) == (503, "missing")
        assert (await service.get(EVENTS)).status_code == 503, "nothing is read from a lost file"
        assert file.exists() == (lose is not move_away), "no empty database is created"
        assert len(outage_lines(caplog)) == 1

        if moved.exists():
            moved.rename(file)
        assert await readiness(service) == (503, "missing"), "only a restart helps"
        assert (await caller.put_event()).status_code == 503
    if (tmp_path / "moved.db-wal").exists():
        (tmp_path / "moved.db-wal").rename(tmp_path / "fieldgate.db-wal")
    async with start() as service:
        caller.service = service
        assert await caller.lost() == 0
        assert (await caller.put_event()).status_code == 201


async def test_deleted_file_is_noticed_by_the_health_check(
    start: StartService, tmp_path: Path
) -> None:
    """A write notices it, too: see above. Until then reads are answered from the file that is open."""
    async with start() as service:
        assert (await service.get(EVENTS)).status_code == 200
        (tmp_path / "fieldgate.db").unlink()
        assert await readiness(service) == (503, "missing")
        assert (await service.get(EVENTS)).status_code == 503


async def test_restored_backup_never_repeats_an_etag(start: StartService, tmp_path: Path) -> None:
    """Backup, change, restore, change otherwise: clients and caches must not be told that nothing changed."""
    file, backup = tmp_path / "fieldgate.db", tmp_path / "backup.db"
    seen: dict[str, list[int]] = {}

    async def look(service: Service) -> None:
        response = await service.get(EVENTS)
        ids = [record["id"] for record in response.json()["results"]]
        for name in ("ETag", "Fieldgate-Data-Version"):
            assert seen.setdefault(response.headers[name], ids) == ids, (
                f"{name} was used for other data"
            )

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


async def test_another_postgresql_database(postgres: str, tmp_path: Path) -> None:
    """The database is renamed, and another one of the same name is created: each has its own identity."""
    admin = await asyncpg.connect(postgres)
    await admin.execute("CREATE DATABASE swapped")

    async def rename(old: str, new: str) -> None:
        while True:  # the service connects again at once
            await admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", old
            )
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
            other = AsyncDatabase(
                make_url(postgres).set(database="swapped").render_as_string(hide_password=False)
            )
            await prepare_database(other)
            await other.close()
            await wait_until(lambda: _has_reason(service, "missing"))
            assert (await caller.put_event()).status_code == 503
            assert (await caller.post_import()).status_code == 503
            await rename("swapped", "swapped_other")
            await rename("swapped_away", "swapped")
            await wait_until(lambda: is_ready(service))
            assert (await caller.put_event()).status_code == 201
            assert await caller.lost() == 0
    finally:
        for name in ("swapped", "swapped_away", "swapped_other"):
            await admin.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        await admin.close()


async def _has_reason(service: Service, reason: str) -> bool:
    return await readiness(service) == (503, reason)


def test_two_processes_under_load(tmp_path: Path) -> None:
    """The file is moved away while two processes write: after a restart, every acknowledged event is there."""
    file = tmp_path / "fieldgate.db"
    run_command(
        "user",
        "create",
        "amina",
        "--superuser",
        "--password-stdin",
        data=tmp_path,
        stdin="correct horse",
    )
    token = run_command("token", "create", "amina", data=tmp_path).stdout.split()[-1]
    headers = {"Authorization": f"Token {token}", "Connection": "close"}
    statuses = Counter[int]()
    acknowledged: list[int] = []
    is_over = threading.Event()

    def write(first: int, base_url: str) -> None:
        with httpx.Client(base_url=base_url, timeout=TIMEOUT_SECONDS, headers=headers) as client:
            for number in range(first, 1000, 2):
                response = client.put(f"{EVENTS}{number}/", json=EVENT)
                statuses[response.status_code] += 1
                if response.status_code == 201:
                    acknowledged.append(number)
                if is_over.is_set():
                    return

    def wait_for(count: int, status: int) -> None:
        until = time.monotonic() + TIMEOUT_SECONDS
        while statuses[status] < count:
            assert time.monotonic() < until, statuses
            time.sleep(0.02)

    with ServerProcess(tmp_path, "--workers", "2", "--no-worker") as server:
        writers = [
            threading.Thread(target=write, args=(first, server.base_url)) for first in (1, 2)
        ]
        for writer in writers:
            writer.start()
        try:
            wait_for(10, 201)
            file.rename(tmp_path / "moved.db")
            wait_for(10, 503)
            assert not file.exists()
        finally:
            is_over.set()
            for writer in writers:
                writer.join()
    (tmp_path / "moved.db").rename(file)
    assert set(statuses) == {201, 503}
    assert server.log.count("database outage: ") <= 2, (
        "one line of each process, not one for each request"
    )
    with ServerProcess(tmp_path, "--no-worker") as server, server.client() as client:
        found = {
            record["id"] for record in client.get(EVENTS, params={"limit": 1000}).json()["results"]
        }
    assert set(acknowledged) <= found
