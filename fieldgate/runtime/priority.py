"""Lower priority for threads and processes that compute for long, so that they do not delay requests."""

import os
import sys
import threading
from contextlib import suppress

LOWER_BY = 10  # about a tenth of the weight of the event loop when both want the same core
MAX_NICENESS = 19


def lower_priority(pid: int, of: int = 0) -> None:
    """Give a process or thread a lower priority than another one, by default the caller.

    A system call filter may forbid it. The priorities then stay as they are.
    """
    with suppress(OSError):
        niceness = os.getpriority(os.PRIO_PROCESS, of) + LOWER_BY
        os.setpriority(os.PRIO_PROCESS, pid, min(niceness, MAX_NICENESS))


def lower_thread_priority() -> None:
    """Lower the priority of this thread, and of threads that it starts. On Linux only: elsewhere it is per process."""
    if sys.platform == "linux":
        thread = threading.get_native_id()
        lower_priority(thread, of=thread)
