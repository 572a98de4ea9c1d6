"""End a process when its parent is gone, even if the parent was killed.

The parent's process id is polled: unlike Linux's parent-death signal or a pipe, this works on every system, whichever
thread started the process and whatever inherited its files.
"""

import os
import signal
import threading
import time

POLL_INTERVAL_SECONDS = 0.5
GRACE_PERIOD_SECONDS = 30  # for requests in progress
PARENT_PID_VARIABLE = "_FIELDGATE_SERVED_BY"  # set by `fieldgate serve` for its processes: its own process id


def exit_with_parent() -> None:
    """In a process of `fieldgate serve`, stop gracefully when the main process is gone; otherwise do nothing."""
    if PARENT_PID_VARIABLE in os.environ:
        threading.Thread(target=_watch_parent, args=(int(os.environ[PARENT_PID_VARIABLE]),), daemon=True).start()


def _watch_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(POLL_INTERVAL_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_PERIOD_SECONDS)
    os._exit(1)
