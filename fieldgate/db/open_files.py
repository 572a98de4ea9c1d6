"""Notices that the database is no longer the one that was opened: its file was deleted, moved or replaced.

A connection to a deleted SQLite file works as before, and everything it writes is lost when it is closed. So a write is
acknowledged only if the files at their paths are still those that the connection has open.
"""

import os
from time import monotonic
from typing import NamedTuple

from fieldgate.db.outages import DatabaseGone, Outage

_MISSING = "the database was deleted or moved while in use; put it back, or stop the service and restore a backup"
_REPLACED = "the database was replaced by another one while in use; put it back, or restart to use the other one"
_LOG_REPLACED = "the -wal file of the database was deleted or replaced while in use; opening the database again"

FileId = tuple[int, int]  # device and inode; not used again while the file is open

# After a file was replaced, all processes close their connections before one opens the new files: the others would
# read and write their log by the index (`-shm`) of the new one. `WATCH_SECONDS` is the time in which each notices.
WATCH_SECONDS = 0.5
REOPEN_SECONDS = 4 * WATCH_SECONDS


class KnownIdentity:
    """The identity of the database, once it is known. It never changes while the process runs."""

    def __init__(self) -> None:
        self.value: int | None = None

    def check(self, found: int | None) -> None:
        """Raise `DatabaseGone` for another database, or one without tables."""
        if self.value is None:
            self.value = found
        elif found != self.value:
            raise DatabaseGone(_REPLACED)


class OpenFiles(NamedTuple):
    """The files that a connection has open."""

    database: FileId | None
    log: FileId | None  # the write-ahead log; None if there was none yet


GENERATION = "generation"  # of a connection, a key of its `info`


class SqliteFiles:
    """The files of an SQLite database: which may be opened, and whether those that are open are still in place."""

    def __init__(self, path: str, identity: KnownIdentity) -> None:
        self._path = path
        self._identity = identity
        self.latest: OpenFiles | None = None
        self.held: OpenFiles | None = None  # by a connection that stays open
        self._lost: OpenFiles | None = None
        self._lost_at = float("-inf")
        self.generation = 0  # of connections; those of an earlier one are not used again

    @property
    def must_exist(self) -> bool:
        """Whether the database was opened before: then no empty one must be created."""
        return self._identity.value is not None

    def check_before_open(self) -> None:
        """Raise `DatabaseGone` if there is no file that can be opened."""
        if not self.must_exist:
            return
        self.check_latest()
        found, lost = self._current(), self._lost
        if found.database is None:
            raise DatabaseGone(_MISSING)
        if lost is None or found == lost:
            return
        is_replaced = found.database != lost.database
        if monotonic() < self._lost_at + REOPEN_SECONDS:
            raise DatabaseGone(_REPLACED) if is_replaced else DatabaseGone(_LOG_REPLACED, Outage.UNREACHABLE)
        if is_replaced and found.log is not None and found.log == lost.log:
            # SQLite would apply the log of the former file to this one.
            raise DatabaseGone(_REPLACED)

    def opened(self, identity: int | None) -> OpenFiles:
        """Note that a connection was opened, and return its files. Raises `DatabaseGone` for another database."""
        self._identity.check(identity)
        self.latest = self._current()
        return self.latest

    def check(self, files: OpenFiles | None) -> None:
        """Raise `DatabaseGone` if files that a connection has open are no longer in place."""
        if files is None or files.database is None:
            return
        found = self._current()
        if found == files:
            return
        if found.database is None:
            gone = DatabaseGone(_MISSING)
        elif found.database != files.database:
            gone = DatabaseGone(_REPLACED)
        elif files.log is None:
            return
        else:
            gone = DatabaseGone(_LOG_REPLACED, Outage.UNREACHABLE)
        self._lost, self._lost_at = files, monotonic()
        raise gone

    def check_latest(self) -> None:
        """The same for the database that was opened last, and for the log of a connection that stays open.

        SQLite itself deletes the log when all connections are closed.
        """
        latest = self.latest
        if latest is not None:
            try:
                self.check(latest._replace(log=None))
            except DatabaseGone:
                self._lost = latest
                raise
        self.check(self.held)

    def forget(self) -> None:
        """All connections are closed now, or when they are given back."""
        self.latest = None
        self.generation += 1

    def _current(self) -> OpenFiles:
        return OpenFiles(_file_id(self._path), _file_id(self._path + "-wal"))


def _file_id(path: str) -> FileId | None:
    try:
        found = os.stat(path)  # noqa: PTH116  (a third of the time of `Path.stat`)
    except OSError:
        return None
    return found.st_dev, found.st_ino
