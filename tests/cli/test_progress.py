"""Progress of long commands whose output is not a terminal."""

import os
import pty
import re
import socket
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from fieldgate.cli.output import PROGRESS_SECONDS, PROGRESS_SECONDS_VARIABLE
from tests.processes import FIELDGATE_COMMAND, free_port, run_command

OFTEN = {PROGRESS_SECONDS_VARIABLE: "0.01"}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    assert run_command("migrate", data=tmp_path).returncode == 0
    return tmp_path


def test_a_line_every_ten_seconds() -> None:
    assert PROGRESS_SECONDS == 10


def test_demo_prints_lines(data: Path) -> None:
    done = run_command("events", "demo", "4500", data=data, environment=OFTEN)
    lines = done.stderr.splitlines()
    assert all(re.fullmatch(r"\d+ s: \d+ of 4500 events", line) for line in lines), done.stderr
    counts = [int(line.split()[2]) for line in lines]
    assert counts == sorted(counts)
    assert {0, 2000, 4000} <= set(counts), "between transactions"
    assert done.stdout.startswith("created 4500 demo events")


def test_short_command_prints_none(data: Path) -> None:
    assert run_command("events", "demo", "1", data=data).stderr == ""


def test_terminal_shows_the_step(data: Path) -> None:
    """A terminal gets a bar, which is drawn for the last time at the end."""
    ours, theirs = pty.openpty()
    command: list[str | Path] = [FIELDGATE_COMMAND, "db", "copy", data / "fieldgate.db", data / "copy.db"]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "200"}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs, env=environment) as process:
        os.close(theirs)
        shown = b""
        with suppress(OSError):  # the command has ended
            while part := os.read(ours, 4096):
                shown += part
    os.close(ours)
    assert process.returncode == 0, shown
    assert b" rows)" in shown


def progress_of_sync(data: Path, base_url: str, expected: str) -> str:
    """Run a sync until it prints a line of progress with this text, then kill it. Return the line."""
    command: list[str | Path] = [FIELDGATE_COMMAND, "events", "sync", base_url, "--data", data]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, **OFTEN}) as process:
        assert process.stderr is not None
        line = next((line for line in process.stderr if expected in line), "")
        process.kill()
    return line


def test_sync_with_a_server_that_does_not_answer(data: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        base_url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        line = progress_of_sync(data, base_url, "waiting")
    assert re.fullmatch(rf"\d+ s: 0 events, waiting for {base_url}\n", line)


def test_sync_with_a_dead_server(data: Path) -> None:
    base_url = f"http://127.0.0.1:{free_port()}"
    line = progress_of_sync(data, base_url, "unreachable")
    assert re.fullmatch(rf"\d+ s: 0 events, {base_url} is unreachable: .+\n", line)
