"""`fieldgate backup` and `fieldgate restore` as commands, next to a running service."""

import os
import re
import shlex
import signal
import subprocess
from pathlib import Path
from urllib.parse import quote, unquote

import httpx
import pytest

from tests.data.accounts import PASSWORD
from tests.processes import FIELDGATE_COMMAND, ServerProcess, run_command

EVENTS = 30


@pytest.fixture
def data(tmp_path: Path) -> Path:
    data = tmp_path / "data"
    assert run_command("events", "demo", str(EVENTS), data=data).returncode == 0
    return data


def test_backup_of_a_running_service_and_restore(data: Path, tmp_path: Path) -> None:
    backup = tmp_path / "copy.db.zst"
    with ServerProcess(data, "--no-worker") as served:
        with served.client() as client:
            first = client.get("/api/v2/event/", params={"limit": 1})
            made = run_command("backup", str(backup), data=data)
            assert made.returncode == 0, made.stderr
            assert re.search(
                r"backed up \d+ rows of \d+ tables to .+: \d+ bytes, schema \w+, in [\d.]+ s\n",
                made.stdout,
            )
            assert run_command("events", "demo", "5", "--replace", data=data).returncode == 0
            second = client.get("/api/v2/event/", params={"limit": 1})
            assert (first.json()["count"], second.json()["count"]) != (0, EVENTS)
        refused = run_command("restore", str(backup), "--force", data=data)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert "is in use. Stop the service" in refused.stderr
    assert (
        "exists. To replace it, use --force"
        in run_command("restore", str(backup), data=data).stderr
    )
    restored = run_command("restore", str(backup), "--force", data=data)
    assert restored.returncode == 0, restored.stderr
    counted = re.compile(r"\d+ rows of \d+ tables")
    assert counted.findall(made.stdout) == counted.findall(restored.stdout)
    assert "The database that was there is now " in restored.stderr
    with ServerProcess(data, "--no-worker") as served, served.client() as client:
        for response in (first, second):
            again = client.get(
                "/api/v2/event/",
                params={"limit": 1},
                headers={"If-None-Match": response.headers["ETag"]},
            )
            assert again.status_code == httpx.codes.OK, (
                "the version that a client knows does not come again"
            )
            assert again.json() == {**first.json(), "next": again.json()["next"]}


def test_restore_refuses_while_a_worker_runs(data: Path, tmp_path: Path) -> None:
    assert run_command("backup", str(tmp_path / "copy.db"), data=data).returncode == 0
    with subprocess.Popen(
        [FIELDGATE_COMMAND, "worker", "--data", data], stdout=subprocess.PIPE, text=True
    ) as worker:
        assert worker.stdout is not None
        worker.stdout.readline()
        assert (
            "is in use"
            in run_command("restore", str(tmp_path / "copy.db"), "--force", data=data).stderr
        )
        os.kill(worker.pid, signal.SIGKILL)
    assert run_command("restore", str(tmp_path / "copy.db"), "--force", data=data).returncode == 0


def test_commands_wait_for_no_restore(data: Path) -> None:
    from fieldgate.db.use_lock import exclusive_use

    with exclusive_use(data / "fieldgate.db"):
        for arguments in (("user", "list"), ("migrate",), ("serve", "--no-worker")):
            done = run_command(*arguments, data=data)
            assert (done.returncode, done.stderr) == (
                1,
                "Error: The database is being restored. Try again when that is done.\n",
            )


@pytest.mark.parametrize("offset", [0, 100, 4096, 8192, 40960])
def test_backup_of_a_damaged_database_says_so(data: Path, tmp_path: Path, offset: int) -> None:
    database = data / "fieldgate.db"
    content = database.read_bytes()
    damage = b"\xff" * (4096 if offset != 100 else 3996)
    database.write_bytes(content[:offset] + damage + content[offset + len(damage) :])
    done = run_command("backup", str(tmp_path / "copy.db"), data=data)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(
        rf"Error: {database} is damaged[^\n]+ Restore the last backup[^\n]+\n", done.stderr
    )
    assert not (tmp_path / "copy.db").exists()


def test_restore_creates_a_folder_that_only_its_owner_can_read(data: Path, tmp_path: Path) -> None:
    assert run_command("backup", str(tmp_path / "copy.db"), data=data).returncode == 0
    elsewhere = tmp_path / "new" / "data"
    previous = os.umask(0o022)
    try:
        assert run_command("restore", str(tmp_path / "copy.db"), data=elsewhere).returncode == 0
    finally:
        os.umask(previous)
    assert elsewhere.stat().st_mode & 0o777 == 0o700
    assert (elsewhere / "fieldgate.db").stat().st_mode & 0o777 == 0o600


def test_errors_are_sentences(data: Path, tmp_path: Path) -> None:
    missing = run_command("backup", str(tmp_path / "copy.db"), data=tmp_path / "mistyped")
    assert "There is no database at" in missing.stderr
    damaged = tmp_path / "damaged.db.gz"
    damaged.write_bytes(b"no gzip")
    for arguments in (("restore", str(damaged), "--force"), ("backup", str(data))):
        done = run_command(*arguments, data=data)
        assert (done.returncode, done.stdout) == (1, "")
        assert re.fullmatch(r"Error: .+\n", done.stderr)


@pytest.mark.parametrize("command", ["backup", "restore"])
def test_postgres_has_its_own_tools(tmp_path: Path, command: str) -> None:
    url = f"postgresql://amina:{quote(PASSWORD)}@db.example.org:5433,b/field?sslmode=require&password={quote(PASSWORD)}"
    done = run_command(
        command, "copy dump", data=tmp_path, environment={"FIELDGATE_DATABASE_URL": url}
    )
    assert (done.returncode, done.stdout) == (1, "")
    words = shlex.split(done.stderr.splitlines()[-1])
    assert {"backup": "pg_dump", "restore": "pg_restore"}[command] in words
    assert any(
        word.endswith("postgresql://amina@db.example.org:5433,b/field?sslmode=require")
        for word in words
    )
    assert PASSWORD not in unquote(done.stderr)


def test_postgres_is_not_restored_through_a_pooler(tmp_path: Path) -> None:
    url = "postgresql://amina@db.example.org:6432/field"
    environment = {"FIELDGATE_DATABASE_URL": url, "FIELDGATE_DATABASE_POOLER": "true"}
    done = run_command("restore", "copy.dump", data=tmp_path, environment=environment)
    assert done.returncode == 1
    assert done.stderr.endswith(
        "\nReplace host and port by those of PostgreSQL itself, not of the pooler.\n"
    )
