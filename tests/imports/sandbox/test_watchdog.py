"""A process that uses too much memory or takes too long is ended, and one that does not is left alone."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from fieldgate.imports.sandbox.watchdog import KillReason, Watchdog, can_watch_memory

MEBIBYTE = 1024 * 1024
LONG = 60.0  # never reached
USES_MEMORY = "import signal; used = b'x' * 2**28; signal.pause()"
RESERVES_MEMORY = "import mmap, sys; reserved = mmap.mmap(-1, 2**30); print(flush=True); sys.stdin.read()"
WAITS = "import signal; signal.pause()"

needs_proc = pytest.mark.skipif(not can_watch_memory(), reason="memory of processes cannot be read here")


@pytest.fixture
def program(request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", request.param], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with process:
        yield process
        process.kill()


@needs_proc
@pytest.mark.parametrize("program", [USES_MEMORY], indirect=True)
def test_too_much_memory(program: subprocess.Popen[bytes]) -> None:
    with Watchdog(program.pid, program.kill, 128 * MEBIBYTE, LONG) as watchdog:
        program.wait()
    assert watchdog.killed_for is KillReason.MEMORY


@pytest.mark.parametrize("program", [WAITS], indirect=True)
def test_too_much_time(program: subprocess.Popen[bytes]) -> None:
    with Watchdog(program.pid, program.kill, 1024 * MEBIBYTE, 0.01) as watchdog:
        program.wait()
    assert watchdog.killed_for is KillReason.TIME


@pytest.mark.parametrize("program", [WAITS], indirect=True)
def test_too_much_time_where_memory_cannot_be_read(program: subprocess.Popen[bytes]) -> None:
    with Watchdog(0, program.kill, 1024 * MEBIBYTE, 0.01) as watchdog:
        program.wait()
    assert watchdog.killed_for is KillReason.TIME


@pytest.mark.parametrize("program", [RESERVES_MEMORY], indirect=True)
def test_reserved_memory_does_not_count(program: subprocess.Popen[bytes]) -> None:
    assert program.stdout
    with Watchdog(program.pid, program.kill, 128 * MEBIBYTE, LONG) as watchdog:
        program.stdout.readline()
        program.communicate()
    assert (watchdog.killed_for, program.returncode) == (None, 0)
