"""No process outlives the process that started it."""

import os
import subprocess
import sys
import threading

from fieldgate.runtime.parent_watch import PARENT_PID_VARIABLE, exit_with_parent
from tests.processes import TIMEOUT_SECONDS, descendants, is_running, wait_for_exit

# An import worker whose sandbox reads a file for ever.
READING_WORKER = """
import time
from fieldgate.imports.sandbox import runner
runner._run_in_process(time.sleep, (10 * 60,), runner.SandboxLimits(memory_bytes=2**30, cpu_seconds=10 * 60))
"""
# A main process with one child that runs until its parent is gone.
MAIN_PROCESS = f"""
import os, subprocess, sys
child = "from fieldgate.runtime.parent_watch import exit_with_parent; import time; exit_with_parent(); print(flush=True); time.sleep(600)"
environment = {{**os.environ, "{PARENT_PID_VARIABLE}": str(os.getpid())}}
subprocess.run([sys.executable, "-c", child], env=environment)
"""  # noqa: E501


def test_sandbox_exits_with_its_worker() -> None:
    with subprocess.Popen([sys.executable, "-c", READING_WORKER]) as worker:
        try:
            while len(others := descendants(worker.pid)) < 3:  # resource tracker, fork server, sandbox
                assert worker.poll() is None
        finally:
            worker.kill()
        worker.wait(TIMEOUT_SECONDS)
        wait_for_exit(others)


def test_process_of_serve_exits_after_its_parent_was_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", MAIN_PROCESS], stdout=subprocess.PIPE) as main:
        try:
            assert main.stdout is not None
            assert main.stdout.readline() == b"\n"  # the child watches its parent
            [child] = descendants(main.pid)
            assert is_running(child)
        finally:
            main.kill()
        main.wait(TIMEOUT_SECONDS)
        wait_for_exit([child])


def test_nothing_is_watched_without_a_main_process() -> None:
    assert PARENT_PID_VARIABLE not in os.environ
    before = threading.enumerate()
    exit_with_parent()
    assert threading.enumerate() == before
