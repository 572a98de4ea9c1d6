"""Processes that are killed again and again: the server goes on."""

import os
import signal
import time
from pathlib import Path

import httpx
import pytest

from tests.processes import TIMEOUT_SECONDS, ServerProcess, children

READY = "/readyz"


def serving_processes(served: ServerProcess) -> list[int]:
    found = []
    for pid in children(served.process.pid):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        if b"worker" not in words and b"resource_tracker" not in b" ".join(words):
            found.append(pid)
    return found


def wait_until_ready(served: ServerProcess) -> float:
    """Wait until a process responds; return after how many seconds."""
    started = time.monotonic()
    while time.monotonic() < started + TIMEOUT_SECONDS:
        assert served.process.poll() is None, served.log
        try:
            if httpx.get(served.base_url + READY, timeout=2).status_code == 200:
                return time.monotonic() - started
        except httpx.TransportError:
            time.sleep(0.05)
    pytest.fail(served.log)


def wait_for_log(served: ServerProcess, text: str) -> None:
    until = time.monotonic() + TIMEOUT_SECONDS
    while text not in served.log:
        assert time.monotonic() < until, served.log
        time.sleep(0.05)


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.nightly)])
def test_processes_killed_again_and_again(tmp_path: Path, workers: int) -> None:
    with ServerProcess(tmp_path, "--no-worker", "--workers", str(workers)) as served:
        seconds: list[float] = []
        for _ in range(3):
            for pid in serving_processes(served):
                os.kill(pid, signal.SIGKILL)
            if not seconds:
                until = time.monotonic() + TIMEOUT_SECONDS
                with pytest.raises(httpx.TransportError):  # not ready
                    while time.monotonic() < until:
                        httpx.get(served.base_url + READY, timeout=TIMEOUT_SECONDS)
            seconds.append(wait_until_ready(served))
        assert "started again in 1 s" in served.log
        for pid in serving_processes(served):
            os.kill(pid, signal.SIGKILL)
        wait_for_log(served, "started again in 4 s")
        assert served.stop() == 0, "also while a process waits to be started"
