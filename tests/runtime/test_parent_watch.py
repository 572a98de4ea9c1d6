"""No process outlives the one that started it."""

import subprocess
import sys

from fieldgate.runtime.parent_watch import exit_with_parent
from tests.processes import TIMEOUT_SECONDS, descendants, wait_for_exit

# A worker that reads a file for ever.
READING = """
import time
from fieldgate.imports.sandbox import runner
runner._run_in_process(time.sleep, (10 * 60,), runner.SandboxLimits(memory_bytes=2**30, cpu_seconds=10 * 60))
"""


def test_a_reader_ends_with_its_worker() -> None:
    with subprocess.Popen([sys.executable, "-c", READING]) as worker:
        try:
            while len(others := descendants(worker.pid)) < 3:  # resource tracker, fork server, reader
                assert worker.poll() is None
        finally:
            worker.kill()
        worker.wait(TIMEOUT_SECONDS)
        wait_for_exit(others)


def test_who_was_started_by_nobody_in_particular_goes_on() -> None:
    exit_with_parent()
