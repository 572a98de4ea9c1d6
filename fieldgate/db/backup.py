"""Backs up an SQLite file that is in use, with `VACUUM INTO`: one state of the database, while others write."""

import os
import sqlite3
import time
from contextlib import closing, suppress
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from fieldgate.db.backup_files import (
    BackupContent,
    BackupError,
    check_content,
    compress,
    is_compressed,
    partial_file,
    sync_to_disk,
)
from fieldgate.db.database import BUSY_TIMEOUT_MS
from fieldgate.db.tables import now
from fieldgate.db.use_lock import shared_use

RECORD_SUFFIX = ".last-backup.json"  # a file next to the database, for `fieldgate doctor`


class BackupResult(NamedTuple):
    content: BackupContent
    bytes: int
    seconds: float


class BackupRecord(msgspec.Struct, frozen=True):
    """What is known about the last backup of a database."""

    finished_at: datetime
    file: str
    bytes: int
    rows: int
    revision: str


def back_up(database: Path, target: Path, *, overwrite: bool) -> BackupResult:
    """Write a checked copy of the database to a file. The file exists only when it is complete and on disk."""
    began = time.monotonic()
    _check_target(database, target, overwrite)
    with shared_use(database), partial_file(target) as plain:
        with closing(sqlite3.connect(database, isolation_level=None)) as source:
            source.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
            source.execute("VACUUM INTO ?", (str(plain),))
        content = check_content(plain, database)
        if is_compressed(target):
            with partial_file(target) as packed:
                compress(plain, packed, target.suffix)
                _publish(packed, target, overwrite)
        else:
            _publish(plain, target, overwrite)
    result = BackupResult(content, target.stat().st_size, time.monotonic() - began)
    _write_record(database, target, result)
    return result


def _check_target(database: Path, target: Path, overwrite: bool) -> None:
    if not target.parent.is_dir():
        raise BackupError(f"The folder {target.parent} does not exist. Create it, or choose another one.")
    if target.is_dir():
        raise BackupError(f"{target} is a folder. Add the name of a file.")
    if target.exists() and not target.is_file():  # --force would delete a device
        raise BackupError(f"{target} is not a file. Choose another name.")
    if target.exists() and target.samefile(database):
        raise BackupError(f"{target} is the database itself. Choose another file.")
    if target.parent.samefile(database.parent) and target.name.startswith(database.name):  # its log, lock or marker
        raise BackupError(f"{target} has a name that belongs to the database. Choose another one.")
    if target.exists() and not overwrite:
        raise BackupError(f"{target} exists. Choose another file, or replace it with --force.")


def _publish(finished: Path, target: Path, overwrite: bool) -> None:
    """Give the file its name, after it is on disk."""
    sync_to_disk(finished)
    if overwrite:
        finished.replace(target)
    else:
        try:
            os.link(finished, target)  # unlike a rename, it never replaces a file
        except FileExistsError:
            raise BackupError(f"{target} exists. Choose another file, or replace it with --force.") from None
        except OSError:  # a file system without hard links
            finished.rename(target)
    sync_to_disk(target.parent)


def _record_file(database: Path) -> Path:
    return database.with_name(database.name + RECORD_SUFFIX)


def _write_record(database: Path, target: Path, result: BackupResult) -> None:
    """Remember the backup. A folder that cannot be written is no reason to fail: the backup exists."""
    record = BackupRecord(now(), str(target.absolute()), result.bytes, result.content.rows, result.content.revision)
    file = _record_file(database)
    with suppress(OSError), partial_file(file) as partial:
        partial.write_bytes(msgspec.json.encode(record))
        partial.replace(file)


def last_backup(database: Path) -> BackupRecord | None:
    """The record of the last backup of a database, if there is one."""
    try:
        return msgspec.json.decode(_record_file(database).read_bytes(), type=BackupRecord)
    except (OSError, msgspec.DecodeError):
        return None
