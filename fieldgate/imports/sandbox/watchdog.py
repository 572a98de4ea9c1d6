"""End a process that uses more memory than it may, or that is not done in its time by the clock.

Memory means what the process has written to: resident or swapped out. Address space is no measure of it, because
readers of workbooks reserve memory for the size that a file claims for its sheets: 10 GB for an old xls file, of which
they use some megabytes. The kernel can only limit address space for one process (or memory of a cgroup, which needs
privileges), so the worker looks at the process often enough.
"""

import os
import re
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from enum import Enum
from pathlib import Path

FASTEST_GROWTH = (
    8 * 1024**3
)  # bytes per second that a process can write to at most, about the speed of memory
SHORTEST_INTERVAL, LONGEST_INTERVAL = 0.001, 0.02  # seconds between two looks
MAX_STATUS_BYTES = 4096
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")

_MEMORY_LINES = re.compile(rb"^Vm(?:RSS|Swap):\s*(\d+) kB", re.MULTILINE)


class FailureReason(Enum):
    """Why a sandbox process ended without a result."""

    TIME = "time"  # it used its processor time
    BUSY = "busy"  # the clock ran out first: the machine has other work, or the process waits for something
    MEMORY = "memory"
    CRASH = "crash"  # in a library
    FAULT = "fault"  # an uncaught exception in our code


class Watchdog:
    """Watches a process in a thread while the context is open."""

    def __init__(
        self, pid: int, kill: Callable[[], None], memory_bytes: int, seconds: float
    ) -> None:
        self.killed_for: FailureReason | None = None
        self.cpu_seconds: float | None = None  # of processor time at the last look; None if unknown
        self._pid = pid
        self._kill = kill
        self._memory_bytes = memory_bytes
        self._seconds = seconds
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="import watchdog", daemon=True)

    def __enter__(self) -> "Watchdog":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        # Open it once: it stays with this process, also if another one gets its number later.
        try:
            with (
                Path(f"/proc/{self._pid}/status").open("rb", buffering=0) as status,
                Path(f"/proc/{self._pid}/stat").open("rb", buffering=0) as times,
            ):
                self._watch_process(status.fileno(), times.fileno())
        except OSError:  # not Linux, or the process has ended
            if not self._done.wait(self._seconds):
                self._end(FailureReason.BUSY)

    def _watch_process(self, status: int, times: int) -> None:
        interval = SHORTEST_INTERVAL
        deadline = time.monotonic() + self._seconds
        while not self._done.wait(interval):
            if time.monotonic() >= deadline:
                return self._end(FailureReason.BUSY)
            self.cpu_seconds = max(self.cpu_seconds or 0.0, _read_cpu_seconds(times))
            headroom = self._memory_bytes - _read_memory(status)
            if headroom < 0:
                return self._end(FailureReason.MEMORY)
            interval = min(max(headroom / FASTEST_GROWTH, SHORTEST_INTERVAL), LONGEST_INTERVAL)
        return None

    def _end(self, reason: FailureReason) -> None:
        self.killed_for = reason
        self._kill()


def can_watch_memory() -> bool:
    """Whether the memory of a process can be read here. Not on macOS."""
    with suppress(OSError):
        return b"VmRSS:" in Path("/proc/self/status").read_bytes()
    return False


def _read_memory(status: int) -> int:
    """Return the bytes of memory that the process uses, 0 after its end."""
    try:
        text = os.pread(status, MAX_STATUS_BYTES, 0)
    except OSError:
        return 0
    return sum(int(kibibytes) for kibibytes in _MEMORY_LINES.findall(text)) * 1024


def _read_cpu_seconds(times: int) -> float:
    """Return the processor time that the process used, 0 after its end."""
    try:
        text = os.pread(times, MAX_STATUS_BYTES, 0)
    except OSError:
        return 0.0
    # The name of the program, in brackets, may have spaces. User and system time are fields 14 and 15.
    fields = text.rpartition(b")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND if fields else 0.0
