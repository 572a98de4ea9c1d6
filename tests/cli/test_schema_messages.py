"""A schema outside of the supported range gives a message that says what to do; `migrate --to` goes back."""

import asyncio
from pathlib import Path

import pytest

from fieldgate.db import Database
from fieldgate.db.schema import REQUIRED_REVISION
from tests.conftest import PASSWORD, Service
from tests.db.test_schema_range import OWN, set_schema
from tests.processes import free_port, run_command

COMMANDS = [
    ("serve",),
    ("worker",),
    ("migrate",),
    ("events", "demo", "1"),
]
PREVIOUS = f"{OWN - 1:04}"


@pytest.fixture
async def environment(database_url: str) -> dict[str, str]:
    return {"FIELDGATE_DATABASE_URL": database_url}


async def set_revision(environment: dict[str, str], revision: str, compatible_since: int | None) -> None:
    database = Database(environment["FIELDGATE_DATABASE_URL"])
    await set_schema(database, revision, compatible_since)
    await database.close()


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
async def test_newer_schema_is_a_message(
    environment: dict[str, str], tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    newer = f"{OWN + 2:04}"
    await set_revision(environment, newer, OWN + 1)
    environment = {**environment, "FIELDGATE_PORT": str(free_port())}
    done = await asyncio.to_thread(run_command, *arguments, data=tmp_path, environment=environment)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"Error: The database has schema {newer} of a newer release. ")
    assert f"fieldgate migrate --to {REQUIRED_REVISION}" in done.stderr
    assert done.stderr.count("\n") == 1


async def test_unknown_schema_is_a_message(environment: dict[str, str], tmp_path: Path) -> None:
    await set_revision(environment, "1a2b3c", OWN)
    done = await asyncio.to_thread(run_command, "user", "list", data=tmp_path, environment=environment)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: The database has the unknown schema revision '1a2b3c'.")
    assert done.stderr.count("\n") == 1


async def test_older_schema(environment: dict[str, str], tmp_path: Path, database_kind: str) -> None:
    """On SQLite it is upgraded, on PostgreSQL the message names the command."""
    run = run_command("migrate", "--to", PREVIOUS, data=tmp_path, environment=environment)
    assert (run.returncode, run.stdout) == (0, f"schema {PREVIOUS}, was {REQUIRED_REVISION}\n")
    message = f"The database has schema {PREVIOUS}, and this release needs {REQUIRED_REVISION}. Run: fieldgate migrate"
    # A service may run it, of an older release than the one that is installed: the schema must stay.
    stored = run_command("events", "store-index", data=tmp_path, environment=environment)
    assert (stored.returncode, stored.stderr) == (1, f"Error: {message}\n")
    listed = run_command("user", "list", data=tmp_path, environment=environment)
    if database_kind == "sqlite":
        assert listed.returncode == 0
        return
    assert (listed.returncode, listed.stderr) == (1, f"Error: {message}\n")
    again = run_command("migrate", data=tmp_path, environment=environment)
    assert again.stdout == f"schema {REQUIRED_REVISION}, was {PREVIOUS}\n"


async def test_schema_of_the_next_release_can_be_used(environment: dict[str, str], tmp_path: Path) -> None:
    await set_revision(environment, f"{OWN + 1:04}", OWN)
    listed = run_command("user", "list", data=tmp_path, environment=environment)
    assert (listed.returncode, listed.stderr) == (0, "")
    done = run_command("migrate", data=tmp_path, environment=environment)
    assert "of the next release, which this release can use (nothing to do)" in done.stdout
    refused = run_command("migrate", "--to", PREVIOUS, data=tmp_path, environment=environment)
    assert "which this release cannot undo" in refused.stderr


async def test_downgrade_that_loses_data_needs_yes(environment: dict[str, str], tmp_path: Path) -> None:
    created = run_command("user", "create", "amina", "--password-stdin", data=tmp_path, stdin=PASSWORD,
                          environment=environment)  # fmt: skip
    assert created.returncode == 0, created.stderr
    refused = run_command("migrate", "--to", "base", data=tmp_path, environment=environment)
    assert refused.returncode == 1
    assert "\n  users: 1 (since schema 0001)\n" in refused.stderr
    assert refused.stderr.endswith("Make a backup. Then run the command again with --yes.\n")
    assert "amina" in run_command("user", "list", data=tmp_path, environment=environment).stdout
    done = run_command("migrate", "--to", "base", "--yes", data=tmp_path, environment=environment)
    assert done.stdout == f"schema empty, was {REQUIRED_REVISION}\n"


@pytest.mark.parametrize(
    ("revision", "message"),
    [("15", "four digits"), ("9999", "There is no schema 9999."), (REQUIRED_REVISION, "nothing to do")],
)
async def test_revision_of_migrate(service: Service, tmp_path: Path, revision: str, message: str) -> None:
    environment = {"FIELDGATE_DATABASE_URL": f"sqlite:///{service.database.url.database}"}
    done = run_command("migrate", "--to", revision, data=tmp_path, environment=environment)
    assert message in done.stderr + done.stdout


def test_bad_url_is_a_message_without_the_password(tmp_path: Path) -> None:
    url = "postgresql://u:se/cret@h/db"
    done = run_command("user", "list", data=tmp_path, environment={"FIELDGATE_DATABASE_URL": url})
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: FIELDGATE_DATABASE_URL: a port is not a number")
    assert "cret" not in done.stderr
