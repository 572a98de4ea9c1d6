"""The command in a process of its own: signals, closed pipes, terminals, and forms that are watched."""

import json
import os
import pty
import re
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.client.cli.conftest import CLIENT_COMMAND, DemoServer, run_process
from tests.imports.workbooks import xlsx
from tests.processes import TIMEOUT_SECONDS

EVENTS = "/api/v2/event/"
BAD = (("type", "name", "label"), ("florb", "a", "A"))


class RunningCommand:
    """A command with its output, line by line. Stopped at the end of the block."""

    def __init__(self, *arguments: str | Path) -> None:
        self.process = subprocess.Popen(
            [CLIENT_COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
        )
        self._killer = threading.Timer(TIMEOUT_SECONDS, self.process.kill)  # a line that never comes is an end
        self._killer.start()

    def __enter__(self) -> "RunningCommand":
        return self

    def __exit__(self, *_error: object) -> None:
        self._killer.cancel()
        self.process.kill()
        self.process.communicate()

    def read_until(self, text: str, stream: str = "stdout") -> str:
        """Lines up to one with this text."""
        lines = []
        for line in getattr(self.process, stream):
            lines.append(line)
            if text in line:
                return "".join(lines)
        pytest.fail(f"ended without {text!r}: {''.join(lines)}")

    def interrupt(self, signal_number: signal.Signals = signal.SIGINT) -> tuple[int, str]:
        """Press Ctrl-C. Return the exit code and the rest of standard error."""
        self.process.send_signal(signal_number)
        _, rest = self.process.communicate(timeout=TIMEOUT_SECONDS)
        return self.process.returncode, rest


@contextmanager
def silent_server() -> Iterator[tuple[str, socket.socket]]:
    """Its URL and its socket, which accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}", server


def test_closed_pipe(demo_server: DemoServer, config: Path) -> None:
    """`fetch --out - | head -1`"""
    command: list[str | Path] = [CLIENT_COMMAND, "fetch", demo_server.url + EVENTS, "--out", "-", "--page-size", "50"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    assert json.loads(process.stdout.readline())["id"]
    process.stdout.close()
    with process.stderr:
        assert process.stderr.read() == b""
    assert process.wait(TIMEOUT_SECONDS) == 0


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_fetch_leaves_nothing_behind(
    tmp_path: Path, config: Path, monkeypatch: pytest.MonkeyPatch, signal_number: signal.Signals
) -> None:
    monkeypatch.setenv("_FIELDGATE_PROGRESS_SECONDS", "0.01")
    folder = tmp_path / "out"
    folder.mkdir()
    with (
        silent_server() as (url, server),
        RunningCommand("fetch", url + EVENTS, "--out", folder / "x.csv") as command,
    ):
        line = command.read_until("records", "stderr")
        assert re.fullmatch(r"0 s: 0 records\n", line), "progress, every ten seconds if nothing else is set"
        with server.accept()[0]:  # the command waits for the answer
            code, rest = command.interrupt(signal_number)
    assert code == 130
    assert rest.endswith("Interrupted.\n")
    assert "Traceback" not in rest
    assert [*folder.iterdir()] == []


@pytest.mark.nightly
def test_interrupted_between_pages(
    demo_server: DemoServer, tmp_path: Path, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_FIELDGATE_PROGRESS_SECONDS", "0.001")
    folder = tmp_path / "out"
    folder.mkdir()
    arguments = ("fetch", demo_server.url + EVENTS, "--out", folder / "x.ndjson", "--page-size", "1")
    with RunningCommand(*arguments) as command:
        command.read_until(" of ", "stderr")
        code, rest = command.interrupt()
    assert code == 130, rest
    assert "Traceback" not in rest
    assert "Exception" not in rest
    assert not (folder / "x.ndjson").exists()


@pytest.mark.nightly
def test_watch(logged_in: DemoServer, tmp_path: Path) -> None:
    """The loop of a form author: a form with problems, the correction, a new version."""
    file = tmp_path / "visit.xlsx"
    file.write_bytes(xlsx(survey=BAD))

    def save(content: bytes) -> None:
        temporary = tmp_path / "saving"
        temporary.write_bytes(content)
        temporary.replace(file)

    with RunningCommand("import", file, "--watch") as command:
        assert "visit.xlsx: not imported: 1 problem\n" in command.read_until("Watching 1 file.")
        save(xlsx())
        created = command.read_until("Waiting for the next save.")
        save(xlsx(survey=(("type", "name", "label"), ("text", "other", "Other"))))
        updated = command.read_until("Waiting for the next save.")
        assert command.interrupt() == (0, "Ended.\n")
    addresses = [re.findall(r"^http\S+/assets/a\w+/$", text, re.MULTILINE) for text in (created, updated)]
    assert addresses[0] == addresses[1]
    versions = run_process("fetch", f"{addresses[0][0]}versions/", "--out", "-")
    assert len(versions.out.splitlines()) == 2


def read_terminal(master: int) -> str:
    """Everything that was written to a terminal, until its last user closes it."""
    shown = b""
    with suppress(OSError):  # Linux: EIO when the other side is closed
        while part := os.read(master, 65536):
            shown += part
    return shown.decode()


@pytest.mark.nightly
def test_progress_on_a_terminal(demo_server: DemoServer, config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bar is on standard error only, and gone at the end."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    master, terminal = pty.openpty()
    command: list[str | Path] = [CLIENT_COMMAND, "fetch", demo_server.url + EVENTS, "--out", "-", "--page-size", "200"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=terminal)
    os.close(terminal)
    reader = threading.Thread(target=lambda: shown.append(read_terminal(master)))
    shown: list[str] = []
    reader.start()
    out, _ = process.communicate(timeout=TIMEOUT_SECONDS)
    reader.join()
    os.close(master)
    count = len(out.splitlines())
    assert process.returncode == 0
    assert all(json.loads(line)["id"] for line in out.splitlines())
    assert f"of {count} records" in shown[0] or f"/{count}" in shown[0]
    assert shown[0].replace("\r\n", "\n").endswith(f"{count} records\nYou are not logged in: only public events.\n")
    assert "━" in shown[0]


def test_password_is_asked_for_without_echo(demo_server: DemoServer, config: Path) -> None:
    """On a terminal: a question on it, and no trace of the password."""
    pid, master = pty.fork()
    if pid == 0:  # the child: the terminal is its standard input, output and error
        os.execv(CLIENT_COMMAND, [str(CLIENT_COMMAND), "login", demo_server.url, "--username", "demo"])
    shown = b""
    while b"Password of demo: " not in shown:
        shown += os.read(master, 1000)
    os.write(master, f"{demo_server.password}\n".encode())
    rest = read_terminal(master)
    os.close(master)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, rest
    assert f"Logged in to {demo_server.url} as demo." in rest
    assert demo_server.password not in shown.decode() + rest


@pytest.mark.nightly
def test_encoding_of_the_terminal(logged_in: DemoServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    done = run_process("permissions", "--language", "ar")
    assert done.code == 0, done.err
    assert "\\u0" in done.out
