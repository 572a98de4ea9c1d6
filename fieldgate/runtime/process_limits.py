"""What a process takes of the machine: heaps of glibc's malloc, open files and connections, priority."""

import ctypes
import os
import resource
import sys
import threading
from contextlib import suppress

MMAP_THRESHOLD_BYTES = 256 * 1024  # larger than a page of 50 events, smaller than one of 1000

_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8  # from <malloc.h>


def set_mmap_threshold() -> None:
    """Return large blocks to the system when they are freed.

    Otherwise pages of 1000 events fragment the heap. The environment variable for this is only read when a program
    starts, and our processes are forked. No effect with other allocators than glibc's.
    """
    _mallopt(_M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES)


def limit_arenas() -> None:
    """Use one heap for all threads, in this process and in those forked from it.

    Otherwise there are up to eight heaps for each core, and each keeps freed memory. Python runs one thread at a time,
    so there is little contention. Running threads keep their heap, so call this first.
    """
    _mallopt(_M_ARENA_MAX, 1)


def _mallopt(parameter: int, value: int) -> None:
    setting = getattr(ctypes.CDLL(None), "mallopt", None)
    if setting is not None:
        setting(parameter, value)


RESERVED_DESCRIPTORS = 256  # files, the database, processes that read workbooks


def raise_file_limit() -> int:
    """Raise the limit of open files as far as the system allows, also for child processes; return it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):  # macOS: not above kern.maxfilesperproc
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return file_limit()


def file_limit() -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1 << 20 if soft == resource.RLIM_INFINITY else soft


def fitting_connections(wanted: int, descriptors: int) -> int:
    """How many connections a process can hold: as many as wanted, or as the limit of open files allows."""
    return max(1, min(wanted, (descriptors - RESERVED_DESCRIPTORS) * 4 // 5))


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
