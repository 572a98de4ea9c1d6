"""No process outlives the one that started it."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from fieldgate.runtime.child_processes import PARENT_PID_VARIABLE, exit_with_parent
from tests.processes import TIMEOUT_SECONDS, children, descendants, is_running, wait_for_exit

# Starts a child with the script given as argument, and waits to be killed.
PARENT = f"""
import os, subprocess, sys
os.environ[{PARENT_PID_VARIABLE!r}] = str(os.getpid())
subprocess.run([sys.executable, "-c", sys.argv[1]])
"""

# Prints what happens to it, and never ends by itself.
CHILD = """
import signal, sys
from fieldgate.runtime import child_processes

def stop(*_):
    print("stopped", flush=True)
    sys.exit()

signal.signal(signal.SIGTERM, stop)
child_processes.exit_with_parent()
print("watching", flush=True)
while True:
    signal.pause()
"""

STUBBORN_CHILD = """
import signal
from fieldgate.runtime import child_processes

signal.signal(signal.SIGTERM, signal.SIG_IGN)
child_processes.GRACE_PERIOD_SECONDS = 0
child_processes.exit_with_parent()
print("watching", flush=True)
while True:
    signal.pause()
"""

# An import worker whose sandboxed parser never ends.
WORKER = """
import time
from fieldgate.imports.sandbox import runner
runner.run_in_process(time.sleep, (10 * 60,), runner.SandboxLimits(memory_bytes=2**30, cpu_seconds=10 * 60))
"""


@contextmanager
def parent_and_child(script: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A parent process, and the ID of its child, which is already watching."""
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, script], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "watching\n"
        [child] = children(parent.pid)
        try:
            yield parent, child
        finally:
            parent.kill()
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)


def test_child_stops_when_its_parent_is_killed() -> None:
    with parent_and_child(CHILD) as (parent, child):
        assert is_running(child)
        parent.kill()
        output, _ = parent.communicate(
            timeout=TIMEOUT_SECONDS
        )  # until the child has closed its end of the pipe, too
        assert output == "stopped\n"
        wait_for_exit([child])


def test_child_that_ignores_the_signal_exits_after_the_grace_period() -> None:
    with parent_and_child(STUBBORN_CHILD) as (parent, child):
        parent.kill()
        output, _ = parent.communicate(timeout=TIMEOUT_SECONDS)
        assert output == ""
        wait_for_exit([child])
        assert not is_running(child)


def test_sandbox_ends_with_its_worker() -> None:
    with subprocess.Popen([sys.executable, "-c", WORKER]) as worker:
        try:
            while (
                len(others := descendants(worker.pid)) < 3
            ):  # resource tracker, fork server, parser
                assert worker.poll() is None
        finally:
            worker.kill()
        worker.wait(TIMEOUT_SECONDS)
        wait_for_exit(others)
        assert not any(map(is_running, others))


def test_process_of_no_server_is_not_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PARENT_PID_VARIABLE, raising=False)
    before = threading.enumerate()
    exit_with_parent()
    assert threading.enumerate() == before
