"""Backups during writes: what was acknowledged before the backup began is in it, whole."""

import sqlite3
import subprocess
import threading
import time
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from tests.processes import FIELDGATE_COMMAND, ServerProcess, run_command

WRITES_PER_SECOND = 50
PASSWORD_OF_WRITER = "correct horse battery"


class EventWriter:
    """Creates assets at a steady rate, and notes when each was acknowledged."""

    def __init__(self, base_url: str, token: str) -> None:
        self.acknowledged: dict[str, float] = {}  # uid, and when
        self.statuses: dict[str, int] = {}
        self._client = httpx.Client(
            base_url=base_url, headers={"Authorization": f"Token {token}"}, timeout=30
        )
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "EventWriter":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()
        self._client.close()

    def wait_for(self, count: int) -> None:
        until = time.monotonic() + 60
        while len(self.acknowledged) < count:
            assert time.monotonic() < until, self.statuses
            time.sleep(0.01)

    def _run(self) -> None:
        while not self._stopping.wait(1 / WRITES_PER_SECOND):
            body = {"asset_type": "collection", "name": f"number {len(self.acknowledged)}"}
            response = self._client.post("/api/v2/assets/", json=body)
            self.statuses[str(response.status_code)] = (
                self.statuses.get(str(response.status_code), 0) + 1
            )
            if response.status_code == httpx.codes.CREATED:
                self.acknowledged[response.json()["uid"]] = time.monotonic()


def stored_uids(file: Path) -> list[str]:
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return [uid for (uid,) in connection.execute("SELECT uid FROM assets")]


def start_with_user(data: Path) -> str:
    assert run_command("events", "demo", "2000", data=data).returncode == 0
    created = run_command(
        "user", "create", "amina", "--password-stdin", data=data, stdin=PASSWORD_OF_WRITER
    )
    assert created.returncode == 0, created.stderr
    return run_command("token", "create", "amina", data=data).stdout.strip()


@pytest.mark.parametrize("suffix", [pytest.param("", marks=pytest.mark.nightly), ".zst"])
def test_backup_during_writes(tmp_path: Path, suffix: str) -> None:
    data, backup = tmp_path / "data", tmp_path / f"copy.db{suffix}"
    token = start_with_user(data)
    with ServerProcess(data, "--no-worker") as served:
        with EventWriter(served.base_url, token) as writer:
            writer.wait_for(50)
            began = time.monotonic()
            before = {uid for uid, at in dict(writer.acknowledged).items() if at < began}
            made = run_command("backup", str(backup), data=data)
            assert made.returncode == 0, made.stderr
            writer.wait_for(len(writer.acknowledged) + 5)
        assert writer.statuses == {"201": len(writer.acknowledged)}
    assert run_command("restore", str(backup), data=tmp_path / "restored").returncode == 0
    found = stored_uids(tmp_path / "restored" / "fieldgate.db")
    lost, duplicated = before - set(found), len(found) - len(set(found))
    assert (lost, duplicated) == (set(), 0)


def test_backup_that_is_killed_leaves_no_file(tmp_path: Path) -> None:
    data, backup = tmp_path / "data", tmp_path / "copies" / "copy.db"
    backup.parent.mkdir()
    assert run_command("events", "demo", "4000", data=data).returncode == 0
    with subprocess.Popen(
        [FIELDGATE_COMMAND, "backup", backup, "--data", data], stdout=subprocess.PIPE
    ) as process:
        while process.poll() is None and not any(backup.parent.iterdir()):
            time.sleep(0.001)
        process.kill()
    if backup.exists():  # it was killed too late: the file is complete
        stored_uids(backup)
        backup.unlink()
    assert run_command("backup", str(backup), data=data).returncode == 0
    assert [path.name for path in backup.parent.iterdir()] == ["copy.db"]
