"""Files that get their name when they are complete and on disk. A process that is killed leaves nothing that counts."""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PARTIAL_SUFFIX = ".partial"  # of files that are not finished yet


@contextmanager
def partial_file(target: Path) -> Iterator[Path]:
    """A new file next to the target, which only its owner can read. It is deleted at the end, unless it was renamed.

    It is locked until then. Files of processes that were killed have no lock, and are deleted first.
    """
    _delete_abandoned(target)
    descriptor, name = tempfile.mkstemp(
        prefix=f".{target.name}.", suffix=PARTIAL_SUFFIX, dir=target.parent
    )
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield Path(name)
    finally:
        _delete_with_journal(Path(name))
        os.close(descriptor)


def publish(finished: Path, target: Path) -> None:
    """Give a file its name, after it is on disk."""
    sync_to_disk(finished)
    finished.replace(target)
    sync_to_disk(target.parent)


def sync_to_disk(path: Path) -> None:
    """Write a file, or the entries of a folder, to the disk itself."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _delete_abandoned(target: Path) -> None:
    prefix = f".{target.name}."
    for file in target.parent.iterdir():
        if file.name.startswith(prefix) and file.name.endswith(PARTIAL_SUFFIX):
            with suppress(OSError), file.open("rb") as opened:
                fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _delete_with_journal(file)


def _delete_with_journal(file: Path) -> None:
    for suffix in ("", "-journal", "-wal", "-shm"):
        Path(f"{file}{suffix}").unlink(missing_ok=True)
