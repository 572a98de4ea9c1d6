"""The processes of `fieldgate serve`: how they end with it, and how long one that ended waits before it starts again.

A process ends when its parent is gone, even if that was killed. The parent's process id is polled: unlike Linux's
parent-death signal or a pipe, this works on every system, whichever thread started the process and whatever inherited
its files.
"""

import os
import signal
import threading
import time

POLL_INTERVAL_SECONDS = 0.5
GRACE_PERIOD_SECONDS = 30  # for requests in progress
PARENT_PID_VARIABLE = (
    "_FIELDGATE_SERVED_BY"  # set by `fieldgate serve` for its processes: its own process id
)


def exit_with_parent() -> None:
    """In a process of `fieldgate serve`, stop gracefully when the main process is gone; otherwise do nothing."""
    if PARENT_PID_VARIABLE in os.environ:
        threading.Thread(
            target=_watch_parent, args=(int(os.environ[PARENT_PID_VARIABLE]),), daemon=True
        ).start()


def _watch_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(POLL_INTERVAL_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_PERIOD_SECONDS)
    os._exit(1)


FIRST_DELAY_SECONDS = 1.0
MAX_DELAY_SECONDS = 30.0
STABLE_SECONDS = 60.0  # a process that ran so long is started again at once
STABLE_SECONDS_VARIABLE = (
    "_FIELDGATE_STABLE_SECONDS"  # for trials that kill processes again and again
)


class RestartBackoff:
    """No delay, then 1, 2, 4 … 30 seconds while the process keeps ending early."""

    def __init__(self) -> None:
        self._next_delay = 0.0
        self._stable_seconds = float(os.environ.get(STABLE_SECONDS_VARIABLE) or STABLE_SECONDS)

    def next_delay(self, lived_seconds: float) -> float:
        """The delay in seconds for a process that ended after a time."""
        delay = 0.0 if lived_seconds >= self._stable_seconds else self._next_delay
        self._next_delay = min(MAX_DELAY_SECONDS, max(FIRST_DELAY_SECONDS, 2 * delay))
        return delay
