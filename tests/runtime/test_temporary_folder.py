"""Folders of programs that were killed are deleted at the next start, and nothing else."""

import os
import signal
import tempfile
from pathlib import Path

import pytest

from fieldgate.runtime.temporary_folder import FOLDER_PREFIX, use_own_temporary_folder
from tests.cli.test_serve import start_worker
from tests.imports.workbooks import xlsx
from tests.processes import TIMEOUT_SECONDS, ServerProcess, descendants, wait_for_exit


@pytest.fixture
def parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def make_folder(parent: Path, name: str) -> Path:
    folder = parent / f"{FOLDER_PREFIX}{name}"
    folder.mkdir()
    (folder / "export.xlsx").write_bytes(b"")
    return folder


def test_folders_of_dead_programs_are_deleted(parent: Path) -> None:
    stale = make_folder(parent, "stale")
    other = parent / "another program"
    other.mkdir()
    first = use_own_temporary_folder()
    assert tempfile.gettempdir() == os.environ["TMPDIR"] == str(first)
    tempfile.tempdir = str(parent)
    use_own_temporary_folder()
    assert first.exists(), "its program runs"
    assert (stale.exists(), other.exists()) == (False, True)


def test_links_are_not_followed(parent: Path) -> None:
    kept = parent / "kept"
    kept.mkdir()
    (parent / f"{FOLDER_PREFIX}link").symlink_to(kept)
    stale = make_folder(parent, "stale")
    (stale / "link").symlink_to(kept)
    use_own_temporary_folder()
    assert kept.exists()
    assert not stale.exists()


def test_folder_of_another_user_stays(parent: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    foreign = make_folder(parent, "foreign")
    monkeypatch.setattr("os.geteuid", lambda: -1)
    use_own_temporary_folder()
    assert foreign.exists()


@pytest.mark.nightly
def test_server_deletes_what_a_killed_server_left() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        environment, data, temporary = (
            {"TMPDIR": f"{folder}/t"},
            Path(folder, "data"),
            Path(folder, "t"),
        )
        temporary.mkdir()
        with (
            ServerProcess(data, "--demo", environment=environment) as server,
            server.client() as client,
        ):
            client.headers["Authorization"] = f"Token {server.printed_value('token')}"
            url = client.post("/api/v2/imports/", files={"file": ("a.xlsx", xlsx())}).json()["url"]
            while client.get(url).json()["status"] == "processing":
                pass  # then there are metrics, and sockets of the sandbox
            pids = descendants(server.process.pid)
            os.kill(server.process.pid, signal.SIGKILL)
            wait_for_exit(pids)
        killed = list(temporary.iterdir())
        assert killed
        with ServerProcess(data, environment=environment):
            assert len(left := list(temporary.iterdir())) == 1
            assert left != killed
        assert not list(temporary.iterdir())


def test_worker_deletes_what_a_killed_worker_left(database_url: str, tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        for end in (signal.SIGKILL, signal.SIGTERM):
            with start_worker(tmp_path, database_url, {"TMPDIR": folder}) as process:
                assert process.stdout is not None
                assert process.stdout.readline() == "ready for imports\n"
                assert len(list(Path(folder).iterdir())) == 1
                pids = descendants(process.pid)
                process.send_signal(end)
                process.wait(TIMEOUT_SECONDS)
                wait_for_exit(pids)
        assert not list(Path(folder).iterdir())
