"""The number of files and connections that a process can have open."""

import resource
from contextlib import suppress

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
