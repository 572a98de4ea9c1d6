"""Kill the fork server of the sandbox, as the kernel does when a machine is out of memory."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing import forkserver

POLL_SECONDS = 0.002  # loading the libraries takes much longer


@contextmanager
def killing_fork_servers(count: int) -> Iterator[list[int]]:
    """Kill the running fork server, then as many new ones while they load. Yields the pids of those, and waits for
    their end."""
    running = _pid()
    if running is not None:
        _kill(running)
    killed: list[int] = []
    is_over = threading.Event()

    def kill_new_ones() -> None:
        last = running
        while len(killed) < count and not is_over.wait(POLL_SECONDS):
            pid = _pid()
            if pid is not None and pid != last:
                _kill(pid)
                killed.append(pid)
                last = pid

    thread = threading.Thread(target=kill_new_ones)
    thread.start()
    try:
        yield killed
    finally:
        is_over.set()
        thread.join()


def _kill(pid: int) -> None:
    """Kill a process and wait for its end, but leave its status to `multiprocessing`."""
    os.kill(pid, signal.SIGKILL)
    with suppress(ChildProcessError):  # it has the status already
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)


def _pid() -> int | None:
    pid: int | None = forkserver._forkserver._forkserver_pid  # type: ignore[attr-defined]
    return pid
