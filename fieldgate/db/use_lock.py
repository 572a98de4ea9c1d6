"""A lock that shows whether a process of Fieldgate uses an SQLite file.

Every process that opens the database holds it shared; replacing the file needs it exclusively. It is a file of its own,
next to the database, because SQLite's locks belong to the file that is replaced. The kernel releases the lock when a
process ends, however it ends. The file itself stays.
"""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOCK_SUFFIX = ".lock"


class DatabaseInUse(Exception):
    """Another process has the lock."""


@contextmanager
def shared_use(file: Path | None) -> Iterator[None]:
    """Hold the lock while the database is used. None stands for PostgreSQL, which needs no lock.

    `DatabaseInUse` if the file is being replaced. Where no lock file can be made (a read-only folder, a file system
    without locks), nothing is locked.
    """
    descriptor = None if file is None else _open(file)
    try:
        if descriptor is not None:
            _lock(descriptor, fcntl.LOCK_SH)
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


@contextmanager
def exclusive_use(file: Path) -> Iterator[None]:
    """Keep all other processes out. `DatabaseInUse` if one uses the database, `OSError` if locks do not work."""
    descriptor = os.open(_lock_file(file), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if not _lock(descriptor, fcntl.LOCK_EX):
            raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK), str(_lock_file(file)))
        yield
    finally:
        os.close(descriptor)


def _lock_file(file: Path) -> Path:
    return file.with_name(file.name + LOCK_SUFFIX)


def _open(file: Path) -> int | None:
    try:
        return os.open(_lock_file(file), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return None


def _lock(descriptor: int, kind: int) -> bool:
    """Lock without waiting. False if the file system has no locks."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        raise DatabaseInUse from None
    except OSError:
        return False
    return True
