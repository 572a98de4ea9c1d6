"""`fieldgate db copy` as a command: kill -9 and run again, then serve the copy."""

import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import httpx
import pytest

from fieldgate.db.use_lock import shared_use
from tests.conftest import new_database
from tests.data.accounts import PASSWORD
from tests.processes import FIELDGATE_COMMAND, ServerProcess, run_command

EVENTS = 2500


def copy(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [FIELDGATE_COMMAND, "db", "copy", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


KILLED_COPY = """
import os, signal, sys
from contextlib import contextmanager
from fieldgate.cli import db_copy, main

@contextmanager
def killing_progress_bar(**options):
    yield lambda done, total: done >= int(sys.argv[1]) and os.kill(os.getpid(), signal.SIGKILL)

db_copy.progress_bar = killing_progress_bar
main(["db", "copy", *sys.argv[2:]])
"""


def kill_when_copying(rows: int, *arguments: str) -> None:
    """Run a copy that is killed as soon as it has written this number of rows."""
    done = subprocess.run(
        [sys.executable, "-c", KILLED_COPY, str(rows), *arguments], timeout=120, check=False
    )
    assert done.returncode == -signal.SIGKILL


@pytest.fixture
async def target(
    database_kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> AsyncIterator[str]:
    (tmp_path / "target").mkdir()
    async with AsyncExitStack() as stack:
        yield await stack.enter_async_context(
            new_database(database_kind, tmp_path / "target", request, is_empty=True)
        )


@pytest.mark.nightly
def test_kill_run_again_and_serve(tmp_path: Path, target: str) -> None:
    data = tmp_path / "data"
    assert run_command("events", "demo", str(EVENTS), data=data).returncode == 0
    source = str(data / "fieldgate.db")
    kill_when_copying(EVENTS, source, target)
    environment = {"FIELDGATE_DATABASE_URL": target}
    refused = run_command("user", "list", data=tmp_path / "unused", environment=environment)
    assert (refused.returncode, refused.stdout) == (1, "")
    done = copy(source, target)
    assert done.returncode == 0, done.stderr
    assert re.match(r"copied \d{4,} rows of \d+ tables in", done.stdout)
    with (
        ServerProcess(data, "--no-worker") as first,
        ServerProcess(tmp_path / "unused", "--no-worker", environment=environment) as second,
    ):
        for query in ("?limit=500&offset=1000", "?search=flood&ordering=-updated_at"):
            pages = [
                httpx.get(f"{served.base_url}/api/v2/event/{query}", timeout=60)
                for served in (first, second)
            ]
            assert pages[0].json()["results"] == pages[1].json()["results"] != []
            assert pages[0].headers["ETag"] != pages[1].headers["ETag"], (
                "changes of one are not taken for the other's"
            )
    created = run_command(
        "user",
        "create",
        "amina",
        "--password-stdin",
        data=tmp_path / "unused",
        stdin=PASSWORD,
        environment=environment,
    )
    assert created.returncode == 0, created.stderr


def test_refusals(tmp_path: Path) -> None:
    data = tmp_path / "data"
    assert run_command("events", "demo", "3", data=data).returncode == 0
    source, target = str(data / "fieldgate.db"), str(tmp_path / "new" / "fieldgate.db")
    assert "There is no database at" in copy(str(tmp_path / "mistyped.db"), target).stderr
    assert "are the same file" in copy(source, f"sqlite:///{source}").stderr
    assert f"{tmp_path} is a folder." in copy(source, str(tmp_path)).stderr
    assert not tmp_path.with_name(f"{tmp_path.name}.lock").exists()
    assert "mysql://…: " in copy(source, f"mysql://amina:{PASSWORD}@h/d").stderr
    with shared_use(data / "fieldgate.db"):
        assert (
            "is in use by a process of Fieldgate. Stop it first, or use --live."
            in copy(source, target).stderr
        )
        assert copy(source, target, "--live").returncode == 0
    assert Path(target).stat().st_mode & 0o777 == 0o600, "only the owner can read a copy"
    with shared_use(Path(target)):
        assert f"{target} is in use" in copy(source, target).stderr
    refused = copy(source, target)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert re.fullmatch(
        r"Error: The target has data in the table \w+\. Use an empty database\.\n", refused.stderr
    )
