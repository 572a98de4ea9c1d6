"""A process ends with the one that started it, also when that one was killed and could tell nobody.

The parent's number is looked at again and again: other than a signal of Linux or a pipe, this works everywhere,
whichever thread started the process and whatever else inherited from it.
"""

import os
import signal
import threading
import time

LOOK_EVERY = 0.5  # seconds
GRACE = 30  # seconds for what is under way
SERVED_BY = "_FIELDGATE_SERVED_BY"  # the variable in which `fieldgate serve` tells its processes its number


def end_with_server() -> None:
    """In a process of `fieldgate serve`: stop, as if told to, when the main process is gone. In others: nothing."""
    if SERVED_BY in os.environ:
        threading.Thread(target=_watch, args=(int(os.environ[SERVED_BY]),), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(LOOK_EVERY)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE)
    os._exit(1)
