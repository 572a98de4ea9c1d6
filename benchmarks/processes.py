"""Servers the rig starts: each pinned to one core, and each stopped by its own process id."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import click

CHECKOUT = Path(__file__).parents[1]

START_PATIENCE = 60  # seconds
STOP_PATIENCE = 15  # seconds


def free_port() -> int:
    """A loopback port nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@contextmanager
def serving(command: Sequence[str], *, port: int, core: int | None, environment: Mapping[str, str]) -> Iterator[None]:
    """Run a server, on one core if it is named, for as long as the block lasts, beginning once it accepts connections.

    It gets a session of its own, so that Ctrl-C reaches the rig alone and the server is stopped in good order.
    Its output goes nowhere: a log that has to be stored would be measured too.
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
        yield
    finally:
        _stop(process)


def output_of(command: Sequence[str], *, environment: Mapping[str, str] | None = None, given: str = "") -> str:
    """What a short command prints; it must succeed."""
    try:
        finished = subprocess.run(
            command,
            cwd=CHECKOUT,
            env={**os.environ, **(environment or {})},
            input=given,
            capture_output=True,
            text=True,
            timeout=START_PATIENCE,
            check=True,
        )
    except subprocess.CalledProcessError as failed:
        raise click.ClickException(f"{_readable(command)} failed:\n{failed.stderr}") from failed
    return finished.stdout.strip()


def _wait_until_listening(process: subprocess.Popen[bytes], port: int, command: Sequence[str]) -> None:
    until = time.monotonic() + START_PATIENCE
    while time.monotonic() < until:
        if process.poll() is not None:
            raise click.ClickException(f"This ended at once, run it to see why:\n{_readable(command)}")
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)
    raise click.ClickException(f"This did not listen within {START_PATIENCE} s:\n{_readable(command)}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Ask it to end; what is then left of it and its workers is killed."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(STOP_PATIENCE)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _readable(command: Sequence[str]) -> str:
    return " ".join(command)
