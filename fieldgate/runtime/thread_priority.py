"""Lower priority for threads that compute for long, so that they do not delay requests on the event loop."""

import os
import sys
import threading
from contextlib import suppress

LOWER_BY = 10  # about a tenth of the weight of the event loop when both want the same core
MAX_NICENESS = 19


def lower_thread_priority() -> None:
    """Lower the priority of this thread, and of threads that it starts. On Linux only: elsewhere it is per process.

    A system call filter may forbid it. The thread then has the priority of the others.
    """
    if sys.platform == "linux":
        thread = threading.get_native_id()
        niceness = os.getpriority(os.PRIO_PROCESS, thread) + LOWER_BY
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, thread, min(niceness, MAX_NICENESS))
