"""Metrics folders of killed servers are deleted, and nothing else."""

import fcntl
import os
import signal
import stat
from pathlib import Path

import pytest

from fieldgate.http.request.arrival_table import ArrivalTable
from fieldgate.metrics.shared_counters import SharedCounters
from fieldgate.metrics.stale_folders import FOLDER_PREFIX, create_metrics_folder, delete_stale_folders
from tests.processes import ServerProcess, descendants, wait_for_exit

LATER = 2**40  # every folder is older


def make_folder(parent: Path, name: str = "a") -> Path:
    folder = parent / f"{FOLDER_PREFIX}{name}"
    folder.mkdir(mode=0o700)
    (folder / "1-ab.slots").write_bytes(bytes(8))
    (folder / "1-ab.names").touch()
    ArrivalTable(folder)
    (folder / "arrivals-0123").touch()  # of a process that was killed when it began
    return folder


def test_folder_of_a_dead_server_is_deleted(tmp_path: Path) -> None:
    folder, other = make_folder(tmp_path), tmp_path / "other"
    other.mkdir()
    assert delete_stale_folders(tmp_path, LATER) == [folder.name]
    assert list(tmp_path.iterdir()) == [other]


def test_folder_with_a_living_process_stays(tmp_path: Path) -> None:
    folder = tmp_path / f"{FOLDER_PREFIX}a"
    folder.mkdir()
    counters = SharedCounters(folder)
    assert delete_stale_folders(tmp_path, LATER) == []
    assert counters.slots[0] == 0


def test_folder_of_a_server_without_processes_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = create_metrics_folder()
    assert delete_stale_folders(tmp_path, LATER) == []
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_folder_that_is_new_stays(tmp_path: Path) -> None:
    make_folder(tmp_path)
    assert delete_stale_folders(tmp_path, 0) == []


def test_links_are_not_followed(tmp_path: Path) -> None:
    target = make_folder(tmp_path / "..", tmp_path.name)
    (tmp_path / f"{FOLDER_PREFIX}link").symlink_to(target)
    folder = make_folder(tmp_path)
    (folder / "link.slots").symlink_to(target / "1-ab.slots")
    assert delete_stale_folders(tmp_path, LATER) == []
    assert len(list(target.iterdir())) == 4
    assert len(list(folder.iterdir())) == 5


def test_folder_with_other_files_stays(tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    (folder / "letter.txt").touch()
    assert delete_stale_folders(tmp_path, LATER) == []
    assert len(list(folder.iterdir())) == 5


def test_folder_that_others_can_write_stays(tmp_path: Path) -> None:
    make_folder(tmp_path).chmod(0o777)
    assert delete_stale_folders(tmp_path, LATER) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_folder_of_another_user_stays(tmp_path: Path) -> None:
    os.chown(make_folder(tmp_path), 12345, 12345)
    assert delete_stale_folders(tmp_path, LATER) == []


def test_server_deletes_the_folder_of_a_killed_server(tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment = {"TMPDIR": str(temporary)}
    with ServerProcess(tmp_path / "data", "--no-worker", environment=environment) as killed:
        processes = descendants(killed.process.pid)
        for pid in (killed.process.pid, *processes):
            os.kill(pid, signal.SIGKILL)
        wait_for_exit([killed.process.pid, *processes])
    (left,) = temporary.glob(f"{FOLDER_PREFIX}*")
    with (next(left.glob("*.slots"))).open() as slots:
        fcntl.flock(slots, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.utime(left, (0, 0))
    with ServerProcess(tmp_path / "data", "--no-worker", environment=environment):
        assert not left.exists()
        assert len(list(temporary.glob(f"{FOLDER_PREFIX}*"))) == 1
