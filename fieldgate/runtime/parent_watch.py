"""Ends a process when its parent has ended, even if the parent was killed.

The process ID of the parent is polled. Unlike a death signal of Linux or a pipe, this works on all systems, whichever
thread started the process and whichever other processes inherited its files.
"""

import os
import signal
import threading
import time

POLL_INTERVAL_SECONDS = 0.5
GRACE_PERIOD_SECONDS = 30  # for requests and imports in progress
PARENT_PID_VARIABLE = "_FIELDGATE_SERVED_BY"  # environment variable with the process ID of `fieldgate serve`


def exit_with_parent() -> None:
    """In a process started by `fieldgate serve`: send ourselves SIGTERM when the main process has ended.

    Other processes are not affected.
    """
    if PARENT_PID_VARIABLE in os.environ:
        threading.Thread(target=_watch_parent, args=(int(os.environ[PARENT_PID_VARIABLE]),), daemon=True).start()


def _watch_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(POLL_INTERVAL_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_PERIOD_SECONDS)
    os._exit(1)
