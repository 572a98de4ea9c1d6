"""Replaces an SQLite file by a backup.

The backup is unpacked next to the database, checked, and renamed over it in one step. The database that was there is
kept under another name. Its WAL file must be gone before that: SQLite would apply it to the new file.
"""

import os
import shutil
import sqlite3
import stat
import time
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from fieldgate.db.backup_compression import is_compressed, unpack
from fieldgate.db.backup_content import BackupContent, BackupError, check_content
from fieldgate.db.data_versions import IDENTITY_TOPIC
from fieldgate.db.database_identity import remove_marker, write_marker
from fieldgate.db.partial_file import partial_file, publish, sync_to_disk
from fieldgate.db.schema import REQUIRED_REVISION
from fieldgate.db.tables import Timestamp, now
from fieldgate.db.use_lock import DatabaseInUse, exclusive_use

# They get a version even if nothing was written to them yet, so that clients notice the restore.
_TOPICS = ("accounts", "assets", "events", "imports", "reference")
_LOCK_SECONDS = 1.0  # how long to wait for another program that uses the old database
_SQLITE_HEADER = b"SQLite format 3\x00"


class RestoreResult(NamedTuple):
    content: BackupContent
    replaced: Path | None  # where the database is that was there before
    seconds: float


def restore(backup: Path, database: Path, *, overwrite: bool) -> RestoreResult:
    """Check a backup and put it in the place of the database. `BackupError` if that is not possible."""
    began = time.monotonic()
    _check_backup_file(backup, database)
    database.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        with exclusive_use(database), partial_file(database) as unpacked:
            if _has_content(database) and not overwrite:
                raise BackupError(
                    f"{database} exists. To replace it, use --force; it is kept under another name."
                )
            unpack(backup, unpacked)
            content = check_content(unpacked, backup)
            if content.revision != REQUIRED_REVISION:
                raise BackupError(
                    f"{backup} has schema {content.revision}, and this release needs {REQUIRED_REVISION}. "
                    "Use the release that wrote it."
                )
            _raise_versions(unpacked, [*_TOPICS, *_topics(database)])
            _copy_mode(database, unpacked)
            sync_to_disk(unpacked)  # before anything is replaced
            replaced = _put_aside(database)
            remove_marker(database)  # until the new one is in place, either database is accepted
            publish(unpacked, database)
            write_marker(database, content.database_id)
    except DatabaseInUse:
        raise BackupError(
            f"{database} is in use. Stop the service, its workers and other commands of Fieldgate first."
        ) from None
    return RestoreResult(content, replaced, time.monotonic() - began)


def _check_backup_file(backup: Path, database: Path) -> None:
    if not backup.is_file():
        raise BackupError(f"There is no file {backup}.")
    if database.exists() and backup.samefile(database):
        raise BackupError(f"{backup} is the database itself.")
    wal = Path(f"{backup}-wal")
    if not is_compressed(backup) and wal.exists() and wal.stat().st_size:
        raise BackupError(
            f"{backup} is in use, or was copied while it was: there is {wal}. Use a file of `backup`."
        )


def _has_content(database: Path) -> bool:
    return database.exists() and database.stat().st_size > 0


def _has_sqlite_header(file: Path) -> bool:
    """Whether the file exists and begins like one of SQLite."""
    try:
        with file.open("rb") as opened:
            return opened.read(len(_SQLITE_HEADER)) == _SQLITE_HEADER
    except FileNotFoundError:
        return False


def _topics(database: Path) -> list[str]:
    """The topics of the database that is replaced, as far as it can be read."""
    with suppress(sqlite3.Error, OSError):
        if _has_sqlite_header(database):
            with closing(sqlite3.connect(database, isolation_level=None)) as connection:
                topics = [topic for (topic,) in connection.execute("SELECT topic FROM changes")]
                return [topic for topic in topics if topic != IDENTITY_TOPIC]
    return []


def _raise_versions(unpacked: Path, topics: list[str]) -> None:
    """Give every topic a version that it never had, because caches may know those after the backup."""
    with closing(sqlite3.connect(unpacked, isolation_level=None)) as connection:
        connection.execute(
            "PRAGMA journal_mode = DELETE"
        )  # a file that other tools made may be in WAL mode
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(
            "INSERT INTO changes (topic, version) VALUES (?, 0) ON CONFLICT DO NOTHING",
            [(topic,) for topic in topics],
        )
        connection.execute(
            "UPDATE changes SET version = max(version + 1, ?) WHERE topic <> ?",
            (Timestamp.pack(now()), IDENTITY_TOPIC),
        )
        connection.execute("COMMIT")


def _copy_mode(database: Path, unpacked: Path) -> None:
    """Keep owner and mode of the database that is replaced."""
    if database.exists():
        status = database.stat()
        unpacked.chmod(stat.S_IMODE(status.st_mode))
        with suppress(PermissionError):
            os.chown(unpacked, status.st_uid, status.st_gid)


def _put_aside(database: Path) -> Path | None:
    """Give the old database a second name, complete and without WAL. None if there is none."""
    aside = database.with_name(f"{database.name}.replaced-{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}")
    wal = Path(f"{database}-wal")
    if _has_sqlite_header(database):  # otherwise SQLite would delete the WAL file
        _end_wal(database)
    if wal.exists():
        wal.rename(f"{aside}-wal")
    Path(f"{database}-shm").unlink(missing_ok=True)
    if not _has_content(database):
        return None
    try:
        os.link(database, aside)
    except OSError:  # a file system without hard links
        shutil.copy2(database, aside)
    sync_to_disk(aside)
    sync_to_disk(database.parent)
    return aside


def _end_wal(database: Path) -> None:
    """Write the WAL file into the database. A database that cannot be read keeps it, and both are put aside."""
    try:
        with closing(
            sqlite3.connect(database, isolation_level=None, timeout=_LOCK_SECONDS)
        ) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            connection.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in {
            sqlite3.SQLITE_BUSY,
            sqlite3.SQLITE_LOCKED,
        }:
            raise BackupError(f"{database} is in use by another program. Stop it first.") from None
