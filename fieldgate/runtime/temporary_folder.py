"""A folder for all temporary files of a program and the programs that it starts.

It is deleted when the program ends. That of a program that was killed is deleted by the next one that starts.
"""

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from multiprocessing.util import Finalize
from pathlib import Path

FOLDER_PREFIX = "fieldgate-run-"


def use_own_temporary_folder() -> Path:
    """Create the folder, and let `tempfile` use it, here and in processes that are started from here."""
    for other in Path(tempfile.gettempdir()).glob(f"{FOLDER_PREFIX}*"):
        with suppress(OSError):  # in use, or not ours
            _delete_unused(other)
    folder = _create_locked()
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
    # After multiprocessing has deleted its own folder in it, with priority -100.
    Finalize(None, shutil.rmtree, args=(folder, True), exitpriority=-200)
    return folder


def _create_locked() -> Path:
    """Create a folder that is locked until this process, and those that are forked from it, have ended."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=FOLDER_PREFIX))
        with suppress(FileNotFoundError):
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)  # stays open
            fcntl.flock(descriptor, fcntl.LOCK_SH)
            if (
                folder.exists()
            ):  # another program that starts may have deleted it before it was locked
                return folder
            os.close(descriptor)


def _delete_unused(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if os.fstat(descriptor).st_uid == os.geteuid():
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder)  # follows no links
    finally:
        os.close(descriptor)
