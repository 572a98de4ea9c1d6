"""A process that serves from SQLite loads no library that only others need: each would take its megabytes all along.

If this fails, see which module imports the library at its top, and import it where it is used instead.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import run_command

# What each is for, and who loads it: PostgreSQL's driver and dialect, the client for files from elsewhere and tables on
# the terminal; ICU, for orders of names that are not stored; migrations, once;
# translations and HTML, when they are shown; YAML, for the OpenAPI document; spreadsheets, out and in, the latter in
# processes of the worker.
OTHERS = (
    "asyncpg",
    "psycopg",
    "sqlalchemy.dialects.postgresql",
    "httpx",
    "rich",
    "icu",
    "alembic",
    "babel.messages",
    "nh3",
    "yaml",
    "xlsxwriter",
    "python_calamine",
    "pyxform",
)

# As `fieldgate serve` does it: the process that answers is forked from the one that read the command line.
SERVING = """
import asyncio, os, sys
import fieldgate.cli
from fieldgate.app import build_app
from fieldgate.settings import Settings

async def answered(application, path):
    statuses, parts = [], []
    bodies = [{"type": "http.request", "body": b"", "more_body": False}]
    async def receive():
        return bodies.pop() if bodies else await asyncio.Event().wait()  # the client stays
    async def send(message):
        statuses.append(message.get("status"))
        parts.append(message.get("body", b""))
    path, _, query = path.partition("?")
    await application({
        "type": "http", "method": "GET", "scheme": "http", "path": path, "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(b"host", b"127.0.0.1"), (b"accept", b"application/json")], "client": ("127.0.0.1", 50000),
    }, receive, send)
    assert statuses[0] == 200, parts
    return b"".join(parts)

async def main():
    application = build_app(Settings.from_environment(os.environ))
    said, told = asyncio.Queue(), asyncio.Queue()
    living = asyncio.create_task(application({"type": "lifespan"}, said.get, told.put))
    await said.put({"type": "lifespan.startup"})
    assert (await told.get())["type"] == "lifespan.startup.complete"
    narrowed = "/api/v2/event/?ordering=-disaster_start_date&countries__in=1,2&created_at__gte=2020-01-01"
    for path in ("/api/v2/event/", narrowed, "/api/v2/event/export/?format=csv", "/api/v2/permissions/", "/readyz"):
        assert await answered(application, path)
    await said.put({"type": "lifespan.shutdown"})
    await living

asyncio.run(main())
print(*sys.modules)
"""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The libraries of a process that has answered."""
    data = tmp_path_factory.mktemp("libraries")
    assert run_command("events", "demo", "60", data=data).returncode == 0
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")
    }
    finished = subprocess.run(
        [sys.executable, "-c", SERVING],
        env={**environment, "FIELDGATE_DATA": str(data), "FIELDGATE_DATABASE_URL": ""},
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return set(finished.stdout.splitlines()[-1].split())


@pytest.mark.parametrize("library", OTHERS)
def test_a_serving_process_does_without(loaded: set[str], library: str) -> None:
    assert library not in loaded


def test_what_it_does_load_is_seen(loaded: set[str]) -> None:
    assert {"sqlalchemy", "msgspec"} <= loaded
