"""Progress of long commands whose output is not a terminal."""

import os
import re
import socket
import subprocess
from pathlib import Path

import pytest

from fieldgate.cli.output import PROGRESS_SECONDS_VARIABLE
from tests.processes import FIELDGATE_COMMAND, run_command

OFTEN = {PROGRESS_SECONDS_VARIABLE: "0.01"}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    assert run_command("migrate", data=tmp_path).returncode == 0
    return tmp_path


def test_demo_prints_lines(data: Path) -> None:
    done = run_command("events", "demo", "4500", data=data, environment=OFTEN)
    lines = done.stderr.splitlines()
    assert all(re.fullmatch(r"\d+ s: \d+ of 4500 events", line) for line in lines), done.stderr
    counts = [int(line.split()[2]) for line in lines]
    assert counts == sorted(counts)
    assert {0, 2000, 4000} <= set(counts), "between transactions"
    assert done.stdout.startswith("created 4500 demo events")


def test_sync_with_a_server_that_does_not_answer(data: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        base_url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        command: list[str | Path] = [FIELDGATE_COMMAND, "events", "sync", base_url, "--data", data]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, **OFTEN}) as process:
            assert process.stderr is not None
            line = next((line for line in process.stderr if "waiting" in line), "")
            process.kill()
    assert re.fullmatch(rf"\d+ s: 0 events, waiting for {base_url}\n", line)
