"""`fieldgate worker`, on both databases."""

import os
import signal
import subprocess
from pathlib import Path

from tests.processes import FIELDGATE_COMMAND, TIMEOUT_SECONDS, children


def start_worker(data: Path, database_url: str, environment: dict[str, str] | None = None) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [FIELDGATE_COMMAND, "worker", "--data", data],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "FIELDGATE_DATABASE_URL": database_url, **(environment or {})},
    )


def test_worker_reports_when_it_is_ready(tmp_path: Path, database_url: str) -> None:
    with start_worker(tmp_path, database_url) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready for imports\n"
        commands = [Path(f"/proc/{pid}/cmdline").read_text() for pid in children(process.pid)]
        assert any("multiprocessing.forkserver" in each for each in commands), commands
        process.send_signal(signal.SIGTERM)
        assert process.wait(TIMEOUT_SECONDS) == 0


def test_worker_on_a_database_without_tables(tmp_path: Path, empty_database_url: str, database_kind: str) -> None:
    with start_worker(tmp_path, empty_database_url) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        if database_kind == "sqlite":
            assert process.stderr.readline() == f"Creating a new database: {tmp_path / 'fieldgate.db'}\n"
            assert process.stdout.readline() == "ready for imports\n"
            process.send_signal(signal.SIGTERM)
            assert process.wait(TIMEOUT_SECONDS) == 0
        else:
            assert " has no tables of Fieldgate." in process.stderr.read()
            assert process.wait(TIMEOUT_SECONDS) == 1
