"""The command in a process of its own: signals, closed pipes, terminals, and forms that are watched."""

import io
import json
import os
import pty
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from fieldgate_client.cli.output import Output, show_progress
from fieldgate_client.connection import RetryNotice

from tests.client.cli.conftest import CLIENT_COMMAND, DemoServer
from tests.processes import TIMEOUT_SECONDS

EVENTS = "/api/v2/event/"


class RunningCommand:
    """A command with its output, line by line. Stopped at the end of the block."""

    def __init__(self, *arguments: str | Path) -> None:
        self.process = subprocess.Popen(
            [CLIENT_COMMAND, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        self._killer = threading.Timer(
            TIMEOUT_SECONDS, self.process.kill
        )  # a line that never comes is an end
        self._killer.start()

    def __enter__(self) -> "RunningCommand":
        return self

    def __exit__(self, *_error: object) -> None:
        self._killer.cancel()
        self.process.kill()
        self.process.communicate()

    def interrupt(self, signal_number: signal.Signals = signal.SIGINT) -> tuple[int, str]:
        """Press Ctrl-C. Return the exit code and the rest of standard error."""
        self.process.send_signal(signal_number)
        _, rest = self.process.communicate(timeout=TIMEOUT_SECONDS)
        return self.process.returncode, rest


def test_closed_pipe(demo_server: DemoServer, config: Path) -> None:
    """`fetch --out - | head -1`"""
    command: list[str | Path] = [
        CLIENT_COMMAND,
        "fetch",
        demo_server.url + EVENTS,
        "--out",
        "-",
        "--page-size",
        "50",
    ]
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
    tmp_path: Path, config: Path, signal_number: signal.Signals
) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}{EVENTS}"
        with RunningCommand("fetch", url, "--out", folder / "x.csv") as command, server.accept()[0]:
            code, rest = command.interrupt(signal_number)  # while it waits for the answer
    assert (code, rest) == (130, "Interrupted.\n")
    assert [*folder.iterdir()] == []


def read_terminal(master: int) -> str:
    """Everything that was written to a terminal, until its last user closes it."""
    shown = b""
    with suppress(OSError):  # Linux: EIO when the other side is closed
        while part := os.read(master, 65536):
            shown += part
    return shown.decode()


def test_password_is_asked_for_without_echo(demo_server: DemoServer, config: Path) -> None:
    """On a terminal: a question on it, and no trace of the password."""
    pid, master = pty.fork()
    if pid == 0:  # the child: the terminal is its standard input, output and error
        os.execv(
            CLIENT_COMMAND, [str(CLIENT_COMMAND), "login", demo_server.url, "--username", "demo"]
        )
    shown = b""
    while b"Password of demo: " not in shown:
        shown += os.read(master, 1000)
    os.write(master, f"{demo_server.password}\n".encode())
    rest = read_terminal(master)
    os.close(master)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, rest
    assert f"Logged in to {demo_server.url} as demo." in rest
    assert demo_server.password not in shown.decode() + rest


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Numbers are shown, retries are whole lines without escape sequences of the server."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with show_progress(Output("x"), "records") as progress:
        progress.update(7, 50)
        progress.on_retry(RetryNotice("\x1b[31m[bold]x[/bold]", 1, 2.0))
        progress.update(8, 50)
    shown = terminal.getvalue()
    assert "8/50" in shown
    assert "[bold]x[/bold]. Trying again in 2.0 s" in shown
    assert "\x1b[31m[bold]" not in shown
    assert capsys.readouterr().out == ""
