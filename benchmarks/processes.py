"""Processes of the benchmarks: servers pinned to one core, and short commands."""

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

START_TIMEOUT_SECONDS = 60
STOP_TIMEOUT_SECONDS = 15


def free_port() -> int:
    """A free loopback port."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def exit_on_signal(_signal: int, _frame: FrameType | None) -> None:
    """Exit by an exception, so that all servers are stopped, as with Ctrl-C."""
    sys.exit(1)


def two_cores() -> tuple[int, int]:
    """One core for the servers and another for the load."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        raise click.ClickException("Two processor cores are needed: one for the servers and one for the load.")
    return cores[0], cores[1]


@contextmanager
def run_server(command: Sequence[str], *, port: int, core: int | None, environment: Mapping[str, str]) -> Iterator[int]:
    """Run a server during the block, on one core if given. Yields its process id once it accepts connections.

    The server has its own session, so that Ctrl-C reaches only the benchmark, which then stops it. Its output is
    discarded: writing a log would be measured too.
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
    """The output of a command, which must succeed."""
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
        raise click.ClickException(f"{_command_line(command)} did not finish within {timeout} s.") from late
    return finished.stdout.strip()


def _wait_until_listening(process: subprocess.Popen[bytes], port: int, command: Sequence[str]) -> None:
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise click.ClickException(f"The server stopped at once. Run it to see why:\n{_command_line(command)}")
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)
    raise click.ClickException(f"The server did not listen within {START_TIMEOUT_SECONDS} s:\n{_command_line(command)}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Terminate the server, then kill what is left of it and its workers."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(STOP_TIMEOUT_SECONDS)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _command_line(command: Sequence[str]) -> str:
    return " ".join(command)
