"""A process ends with the one that started it, also when that one was killed and could tell nobody.

The parent's number is looked at again and again: other than a signal of Linux or a pipe, this works everywhere,
whichever thread started the process and whatever else inherited from it.
"""

import os
import signal
import threading
import time

POLL_INTERVAL_SECONDS = 0.5  # seconds
GRACE_PERIOD_SECONDS = 30  # seconds for what is under way
PARENT_PID_VARIABLE = "_FIELDGATE_SERVED_BY"  # the variable in which `fieldgate serve` tells its processes its number


def exit_with_parent() -> None:
    """In a process of `fieldgate serve`: stop, as if told to, when the main process is gone. In others: nothing."""
    if PARENT_PID_VARIABLE in os.environ:
        threading.Thread(target=_watch_parent, args=(int(os.environ[PARENT_PID_VARIABLE]),), daemon=True).start()


def _watch_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(POLL_INTERVAL_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_PERIOD_SECONDS)
    os._exit(1)
