"""Turns of the processes that write to one SQLite file.

SQLite gives its lock to the process that asks at the right moment, so one that writes all the time keeps others out for
seconds. Here a process that waits for SQLite's lock holds a lock file, and the others wait for that. Who has just
written must wait for the lock file, too, so it comes last.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep

_SUFFIX = ".turn"
_POLL_SECONDS = 0.002


@contextmanager
def write_turn(file: Path, until: float) -> Iterator[None]:
    """Wait for a turn, until a time of `monotonic` at most: then, or without lock files, SQLite alone decides."""
    descriptor = _open(file)
    try:
        while descriptor is not None and not _lock(descriptor) and monotonic() < until:
            sleep(_POLL_SECONDS)
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _open(file: Path) -> int | None:
    with suppress(OSError):
        path = file.with_name(file.name + _SUFFIX)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    return None


def _lock(descriptor: int) -> bool:
    """Lock without waiting. A file system without locks counts as locked."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
