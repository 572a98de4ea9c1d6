"""Folders of servers that were killed are deleted at the next start, and nothing else."""

import os
import signal
from pathlib import Path

import pytest

from fieldgate.metrics import metrics_folder
from fieldgate.metrics.metrics_folder import FOLDER_PREFIX, FOLDER_VARIABLE, create_metrics_folder
from tests.processes import ServerProcess, descendants, wait_for_exit


@pytest.fixture
def parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files in which everything is old."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(metrics_folder, "_MIN_AGE_SECONDS", -60)
    monkeypatch.setenv(FOLDER_VARIABLE, "")
    return tmp_path


def make_folder(parent: Path, name: str) -> Path:
    folder = parent / f"{FOLDER_PREFIX}{name}"
    folder.mkdir()
    (folder / "counter_1.db").write_bytes(b"")
    return folder


def test_folders_of_dead_servers_are_deleted(parent: Path) -> None:
    stale = make_folder(parent, "stale")
    other = parent / "another program"
    other.mkdir()
    first = create_metrics_folder()
    assert not stale.exists()
    second = create_metrics_folder()
    assert first.exists(), "its server runs"
    assert os.environ[FOLDER_VARIABLE] == str(second)
    assert other.exists()


def test_links_are_not_followed(parent: Path) -> None:
    kept = parent / "kept"
    kept.mkdir()
    (parent / f"{FOLDER_PREFIX}link").symlink_to(kept)
    stale = make_folder(parent, "stale")
    (stale / "link").symlink_to(kept)
    create_metrics_folder()
    assert kept.exists()
    assert not stale.exists()


def test_folder_that_is_new_stays(parent: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics_folder, "_MIN_AGE_SECONDS", 60)
    starting = make_folder(parent, "starting")
    create_metrics_folder()
    assert starting.exists()


def test_folder_of_another_user_stays(parent: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    foreign = make_folder(parent, "foreign")
    monkeypatch.setattr("os.geteuid", lambda: -1)
    create_metrics_folder()
    assert foreign.exists()


def test_server_deletes_the_folder_of_a_killed_server(tmp_path: Path) -> None:
    environment = {"TMPDIR": str(tmp_path)}
    with ServerProcess(tmp_path / "data", "--no-worker", environment=environment) as server:
        pids = descendants(server.process.pid)
        (killed,) = tmp_path.glob(f"{FOLDER_PREFIX}*")
        os.kill(server.process.pid, signal.SIGKILL)
        wait_for_exit(pids)
    os.utime(killed, (0, 0))
    with ServerProcess(tmp_path / "data", "--no-worker", environment=environment):
        assert not killed.exists()
        assert len(list(tmp_path.glob(f"{FOLDER_PREFIX}*"))) == 1
    assert not list(tmp_path.glob(f"{FOLDER_PREFIX}*"))
