"""Whether the database is still the one that belongs here. A write to a lost one is never acknowledged.

Every database has a random number, its identity. Next to an SQLite file, a marker with the suffix `.id` has the same
number. Without it, a start that finds no file could not tell a new installation from a lost database.

    check_marker(file, read_identity(file))  # at the start; raises `UnexpectedDatabase`
    write_marker(file, identity)

While the service runs, `DatabaseIdentity` compares files: a connection to a deleted SQLite file works as before, and
everything that it writes is lost when it is closed.
"""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from fieldgate.db.outages import DatabaseGone

SELECT_IDENTITY = "SELECT version FROM changes WHERE topic = 'identity'"

_MISSING = (
    "the database was deleted or moved while in use; put it back or restore a backup, then restart"
)
_REPLACED = "the database was replaced by another one while in use; put it back or restore a backup, then restart"
_LOG_REPLACED = "the -wal file of the database was deleted or replaced while in use; restart to open the database again"
_EXPLANATION = "The number identifies the database next to this file. Fieldgate does not start with another one.\n"


class UnexpectedDatabase(Exception):
    """There is no database where one was before, or another one. The message ends with the command that accepts it."""


def marker_file(file: Path) -> Path:
    """The marker of a database file."""
    return file.with_name(file.name + ".id")


def read_marker(file: Path) -> int | None:
    """The identity of the database that belongs here, None if that is not known."""
    try:
        first_line = marker_file(file).read_text(encoding="utf-8").partition("\n")[0]
        return int(first_line)
    except (FileNotFoundError, ValueError):
        return None


def write_marker(file: Path, identity: int) -> None:
    """Note which database belongs here. The marker is replaced as a whole, and on disk when this returns."""
    target = marker_file(file)
    temporary = target.with_name(f"{target.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("w", encoding="utf-8") as output:
            output.write(f"{identity}\n{_EXPLANATION}")
            output.flush()
            os.fsync(output.fileno())
        temporary.replace(target)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def remove_marker(file: Path) -> None:
    """Forget which database belongs here: the next start accepts any, and creates one if there is none."""
    marker_file(file).unlink(missing_ok=True)


def read_identity(file: Path) -> int | None:
    """The identity of a database file, None if there is no file or it has no identity."""
    if not file.is_file() or not file.stat().st_size:
        return None
    with closing(sqlite3.connect(read_write_uri(file), uri=True)) as connection:
        try:
            row = connection.execute(SELECT_IDENTITY).fetchone()
        except sqlite3.OperationalError as error:
            if "no such table" in str(error):
                return None
            raise
    return None if row is None else int(row[0])


def read_write_uri(file: Path | str) -> str:
    """The URI that opens an SQLite file if it exists, and never creates one."""
    return f"file:{quote(str(file))}?mode=rw"


def check_marker(file: Path, identity: int | None) -> None:
    """Raise `UnexpectedDatabase` if another database belongs here than the one with this identity, None if none."""
    expected = read_marker(file)
    if expected is None or expected == identity:
        return
    name = file.absolute()
    if identity is None:
        raise UnexpectedDatabase(
            f"The database {name} is gone: {marker_file(file).name} says that there was one. Put the file back, or "
            "restore a backup. To begin with an empty database, run: fieldgate migrate --new"
        )
    raise UnexpectedDatabase(
        f"{name} is another database than the one that was used here before, according to {marker_file(file).name}. "
        "Put the right file back, or restore a backup. To use this one from now on, run: fieldgate migrate --new"
    )


FileId = tuple[int, int]  # device and inode; not used again while the file is open


class OpenFiles(NamedTuple):
    """The files that a connection to SQLite has open."""

    database: FileId | None
    log: FileId | None  # the write-ahead log; None if there was none yet


class DatabaseIdentity:
    """The database that this process uses. Once its SQLite file is lost, that is final: only a restart helps."""

    def __init__(self, file: str | None) -> None:
        """`file` is None for PostgreSQL, where each connection is asked for the identity."""
        self._file = file
        self.value: int | None = None
        self._database: FileId | None = None  # never changes once the identity is known
        self.held: OpenFiles | None = None  # by a connection that stays open
        self._lost = ""  # why

    @property
    def must_exist(self) -> bool:
        """Whether the database was opened before: then no empty one must be created."""
        return self.value is not None

    @property
    def is_lost(self) -> bool:
        return bool(self._lost)

    def check(self, found: int | None) -> None:
        """Raise `DatabaseGone` for another database, or one without tables."""
        if self.value is None:
            self.value = found
        elif found != self.value:
            self._lost = "" if self._file is None else _REPLACED
            raise DatabaseGone(_REPLACED)

    def opened(self, found: int | None) -> OpenFiles:
        """Note that a connection to SQLite was opened, and return its files. Raise `DatabaseGone` for another one."""
        self.check(found)
        files = self._files_in_place()
        if self.must_exist and self._database is None:
            self._database = files.database
        return files

    def check_files(self, files: OpenFiles | None = None) -> None:
        """Raise `DatabaseGone` if the files that a connection has open are not in place, by default those `held`."""
        files = files or self.held
        if self._database is not None and not self._lost:
            found = self._files_in_place()
            if found.database is None:
                self._lost = _MISSING
            elif found.database != self._database:
                self._lost = _REPLACED
            elif files is not None and files.log is not None and files.log != found.log:
                self._lost = _LOG_REPLACED
        if self._lost:
            raise DatabaseGone(self._lost)

    def _files_in_place(self) -> OpenFiles:
        return OpenFiles(_file_id(f"{self._file}"), _file_id(f"{self._file}-wal"))


def _file_id(path: str) -> FileId | None:
    try:
        found = os.stat(path)  # noqa: PTH116  (a third of the time of `Path.stat`)
    except OSError:
        return None
    return found.st_dev, found.st_ino
