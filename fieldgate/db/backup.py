"""Backs up an SQLite file that is in use, with `VACUUM INTO`: one state of the database, while others write.

The copy is checked and on disk before it gets its name.
"""

import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from fieldgate.db.backup_compression import compress, is_compressed
from fieldgate.db.backup_content import BackupContent, BackupError, check_content
from fieldgate.db.last_backup import BackupRecord, write_backup_record
from fieldgate.db.outages import damage_message
from fieldgate.db.partial_file import partial_file, publish
from fieldgate.db.sqlite_engine import BUSY_TIMEOUT_MS
from fieldgate.db.tables import now
from fieldgate.db.use_lock import shared_use


class BackupResult(NamedTuple):
    content: BackupContent
    bytes: int
    seconds: float


def back_up(database: Path, target: Path, *, overwrite: bool) -> BackupResult:
    """Write a checked copy of the database to a file. The file exists only when it is complete and on disk."""
    began = time.monotonic()
    _check_target(database, target, overwrite)
    with shared_use(database), partial_file(target) as plain:
        _copy(database, plain)
        content = check_content(plain, database)
        if is_compressed(target):
            with partial_file(target) as packed:
                compress(plain, packed, target.suffix)
                publish(packed, target)
        else:
            publish(plain, target)
    size = target.stat().st_size
    record = BackupRecord(now(), str(target.absolute()), size, content.rows, content.revision)
    write_backup_record(database, record)
    return BackupResult(content, size, time.monotonic() - began)


def _copy(database: Path, plain: Path) -> None:
    try:
        with closing(sqlite3.connect(database, isolation_level=None)) as source:
            source.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
            source.execute("VACUUM INTO ?", (str(plain),))
    except sqlite3.Error as error:
        if message := damage_message(database, error):
            raise BackupError(message) from None
        raise


def _check_target(database: Path, target: Path, overwrite: bool) -> None:
    if not target.parent.is_dir():
        raise BackupError(
            f"The folder {target.parent} does not exist. Create it, or choose another one."
        )
    if target.is_dir():
        raise BackupError(f"{target} is a folder. Add the name of a file.")
    if target.exists() and not target.is_file():  # --force would delete a device
        raise BackupError(f"{target} is not a file. Choose another name.")
    if target.exists() and target.samefile(database):
        raise BackupError(f"{target} is the database itself. Choose another file.")
    if target.parent.samefile(database.parent) and target.name.startswith(
        database.name
    ):  # its log, lock or marker
        raise BackupError(f"{target} has a name that belongs to the database. Choose another one.")
    if target.exists() and not overwrite:
        raise BackupError(f"{target} exists. Choose another file, or replace it with --force.")
