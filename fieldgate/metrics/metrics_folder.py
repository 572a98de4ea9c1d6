"""The folder in which the processes of a server share their metrics."""

import fcntl
import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path

FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"  # read by prometheus-client, when it is imported
FOLDER_PREFIX = "fieldgate-metrics-"
_MIN_AGE_SECONDS = 60  # a server that is starting may not have locked its folder yet


def create_metrics_folder() -> Path:
    """Create a folder for this server, locked until it ends, and delete those of servers that were killed."""
    for other in Path(tempfile.gettempdir()).glob(f"{FOLDER_PREFIX}*"):
        with suppress(OSError):  # in use, or not ours
            _delete_stale(other)
    folder = Path(tempfile.mkdtemp(prefix=FOLDER_PREFIX))
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)  # stays open: the kernel releases the lock at the end
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    os.environ[FOLDER_VARIABLE] = str(folder)
    return folder


def _delete_stale(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        status = os.fstat(descriptor)
        if status.st_uid == os.geteuid() and status.st_mtime < time.time() - _MIN_AGE_SECONDS:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder)  # follows no links
    finally:
        os.close(descriptor)
