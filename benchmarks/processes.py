"""Servers the rig starts: each pinned to one core, and each stopped by its own process id."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import FrameType

import click

CHECKOUT = Path(__file__).parents[1]
PROGRAM = str(Path(sys.executable).with_name("fieldgate"))

START_TIMEOUT_SECONDS = 60  # seconds
STOP_TIMEOUT_SECONDS = 15  # seconds


def free_port() -> int:
    """A loopback port nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def exit_on_signal(_signal: int, _frame: FrameType | None) -> None:
    """Being told to end unwinds the stack, and so stops every server, like Ctrl-C does."""
    sys.exit(1)


def two_cores() -> tuple[int, int]:
    """One core for the servers and another for the load, so that neither takes time from the other."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        raise click.ClickException("Two processor cores are needed: one for the servers and one for the load.")
    return cores[0], cores[1]


@contextmanager
def run_server(command: Sequence[str], *, port: int, core: int | None, environment: Mapping[str, str]) -> Iterator[int]:
    """Run a server, on one core if it is named, for as long as the block lasts, beginning once it accepts connections.

    It gets a session of its own, so that Ctrl-C reaches the rig alone and the server is stopped in good order.
    Told is its process id. Its output goes nowhere: a log that has to be stored would be measured too.
    """
    process = subprocess.Popen(
        command,
        cwd=CHECKOUT,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=None if core is None else partial(os.sched_setaffinity, 0, {core}),
    )
    try:
        _wait_until_listening(process, port, command)
        yield process.pid
    finally:
        _stop(process)


def output_of(
    command: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    stdin: str = "",
    timeout: int = START_TIMEOUT_SECONDS,
) -> str:
    """What a short command prints; it must succeed."""
    try:
        finished = subprocess.run(
            command,
            cwd=CHECKOUT,
            env={**os.environ, **(environment or {})},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=True,
        )
    except subprocess.CalledProcessError as failed:
        raise click.ClickException(f"{_command_line(command)} failed:\n{failed.stderr}") from failed
    except subprocess.TimeoutExpired as late:
        raise click.ClickException(f"{_command_line(command)} did not end within {timeout} s.") from late
    return finished.stdout.strip()


def _wait_until_listening(process: subprocess.Popen[bytes], port: int, command: Sequence[str]) -> None:
    until = time.monotonic() + START_TIMEOUT_SECONDS
    while time.monotonic() < until:
        if process.poll() is not None:
            raise click.ClickException(f"This ended at once, run it to see why:\n{_command_line(command)}")
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)
    raise click.ClickException(f"This did not listen within {START_TIMEOUT_SECONDS} s:\n{_command_line(command)}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Ask it to end; what is then left of it and its workers is killed."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(STOP_TIMEOUT_SECONDS)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _command_line(command: Sequence[str]) -> str:
    return " ".join(command)
