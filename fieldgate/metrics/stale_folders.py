"""Deletes metrics folders that servers left behind when they were killed.

They are in the folder for temporary files, where other users can create files too. So only what this user owns and
nobody else can write to is looked at, links are never followed, and only files that are metrics are deleted.
"""

import fcntl
import os
import stat
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from fieldgate.metrics.shared_counters import NAMES_SUFFIX, SLOTS_SUFFIX

FOLDER_PREFIX = "fieldgate-metrics-"
RATE_LIMITS_FILE = "arrivals"  # the table of rate limits is in the same folder; it begins with another name
_MIN_AGE_SECONDS = 60  # a server that is starting may not have locked its folder yet


def create_metrics_folder() -> Path:
    """Create a folder for the metrics of this server, locked until the server ends, and delete stale ones."""
    folder = Path(tempfile.mkdtemp(prefix=FOLDER_PREFIX))
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)  # stays open: the kernel releases the lock at the end
    with suppress(OSError):  # a file system without locks: the processes have locks on their files, or none
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    delete_stale_folders(folder.parent, time.time() - _MIN_AGE_SECONDS)
    return folder


def delete_stale_folders(parent: Path, unchanged_since: float) -> list[str]:
    """Delete folders of servers that are no longer running. Returns their names."""
    deleted = []
    with suppress(OSError):
        directory = os.open(parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for name in sorted(os.listdir(directory)):  # noqa: PTH208  (a descriptor)
                if name.startswith(FOLDER_PREFIX):
                    with suppress(OSError):  # changed meanwhile, or not ours
                        if _delete_if_stale(directory, name, unchanged_since):
                            deleted.append(name)
        finally:
            os.close(directory)
    return deleted


def _delete_if_stale(parent: int, name: str, unchanged_since: float) -> bool:
    descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
    try:
        status = os.fstat(descriptor)
        is_private = status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if not is_private or status.st_mtime > unchanged_since:
            return False
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        files = os.listdir(descriptor)  # noqa: PTH208
        if not all(file.endswith((SLOTS_SUFFIX, NAMES_SUFFIX)) or file.startswith(RATE_LIMITS_FILE) for file in files):
            return False
        if any(_is_locked(file, descriptor) for file in files if file.endswith(SLOTS_SUFFIX)):
            return False
        for file in files:
            os.unlink(file, dir_fd=descriptor)
        os.rmdir(name, dir_fd=parent)
        return True
    finally:
        os.close(descriptor)


def _is_locked(file: str, folder: int) -> bool:
    """Whether the process that created the file is still running."""
    descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
