"""Backs up an SQLite file that is in use, with `VACUUM INTO`: one state of the database, while others write.

Backup files can be compressed, an unfinished one is recognised, and what is inside is checked.
"""

import fcntl
import gzip
import os
import shutil
import sqlite3
import tempfile
import time
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import IO, Any, NamedTuple

import msgspec
import zstandard

from fieldgate.db.async_database import BUSY_TIMEOUT_MS
from fieldgate.db.data_versions import IDENTITY_TOPIC
from fieldgate.db.outages import damage_message
from fieldgate.db.tables import now
from fieldgate.db.use_lock import shared_use

PARTIAL_SUFFIX = ".partial"  # of files that are not finished yet
_CHUNK_BYTES = 1024 * 1024
_ZSTD_LEVEL = 3


class BackupError(Exception):
    """A backup cannot be made, or a file cannot be restored. The text says why and what to do."""


class BackupContent(NamedTuple):
    """What an SQLite file of Fieldgate has in it."""

    revision: str
    database_id: int
    tables: dict[str, int]  # numbers of rows

    @property
    def rows(self) -> int:
        return sum(self.tables.values())


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


def sync_to_disk(path: Path) -> None:
    """Write a file, or the entries of a folder, to the disk itself."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_compressed(file: Path) -> bool:
    return file.suffix in {".gz", ".zst"}


def compress(plain: Path, target: Path, kind: str) -> None:
    """Compress a file. `kind` is the suffix: .gz or .zst. Both formats have a checksum."""
    with plain.open("rb") as source, target.open("wb") as file, _compressor(file, kind) as writer:
        shutil.copyfileobj(source, writer, _CHUNK_BYTES)


def _compressor(file: IO[bytes], kind: str) -> Any:
    if kind == ".gz":
        return gzip.GzipFile(fileobj=file, mode="wb", compresslevel=6)
    return zstandard.ZstdCompressor(level=_ZSTD_LEVEL, write_checksum=True).stream_writer(
        file, closefd=False
    )


def unpack(backup: Path, target: Path) -> None:
    """Copy the content of a backup to a file. `BackupError` if it is damaged."""
    try:
        with backup.open("rb") as source, target.open("wb") as file:
            shutil.copyfileobj(_decompressor(source, backup.suffix), file, _CHUNK_BYTES)
    except (EOFError, gzip.BadGzipFile, zlib.error, zstandard.ZstdError) as error:
        raise BackupError(f"{backup} is damaged or not complete: {error}") from None


def _decompressor(file: IO[bytes], kind: str) -> Any:
    if kind == ".gz":
        return gzip.GzipFile(fileobj=file)
    if kind == ".zst":
        return zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
    return file


def check_content(file: Path, shown: Path) -> BackupContent:
    """Let SQLite check the whole file, and count its rows. `BackupError` if it is damaged or not from Fieldgate."""
    try:
        with closing(sqlite3.connect(file, isolation_level=None)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            programs = connection.execute(
                "SELECT type, name FROM sqlite_master WHERE type IN ('trigger', 'view')"
            )
            if (
                program := programs.fetchone()
            ):  # Fieldgate has none: reading or changing a row could run it
                raise BackupError(
                    f"{shown} has a {program[0]} {program[1]!r}, which is not from Fieldgate."
                )
            found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(3)")]
            if found != ["ok"]:
                raise BackupError(f"{shown} is damaged: {'; '.join(found)}")
            if reference := connection.execute("PRAGMA foreign_key_check").fetchone():
                raise BackupError(
                    f"{shown} is damaged: a row of {reference[0]} refers to a missing row of {reference[2]}."
                )
            return _read_content(connection, shown)
    except sqlite3.DatabaseError as error:
        raise BackupError(f"{shown} is damaged or not an SQLite database: {error}") from None


def _read_content(connection: sqlite3.Connection, shown: Path) -> BackupContent:
    tables = [
        name
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    ]
    if not {"alembic_version", "changes"} <= set(tables):
        raise BackupError(f"{shown} is not a database of Fieldgate.")
    revision = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    database_id = connection.execute(
        "SELECT version FROM changes WHERE topic = ?", (IDENTITY_TOPIC,)
    ).fetchone()
    if revision is None or database_id is None or not isinstance(database_id[0], int):
        raise BackupError(f"{shown} is not a database of Fieldgate.")
    counts = {
        name: connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]  # noqa: S608  (names of tables)
        for name in tables
        if name != "alembic_version" and not name.startswith("sqlite_")
    }
    return BackupContent(revision[0], database_id[0], counts)


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
        _copy(database, plain)
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


def _publish(finished: Path, target: Path, overwrite: bool) -> None:
    """Give the file its name, after it is on disk."""
    sync_to_disk(finished)
    if overwrite:
        finished.replace(target)
    else:
        try:
            os.link(finished, target)  # unlike a rename, it never replaces a file
        except FileExistsError:
            raise BackupError(
                f"{target} exists. Choose another file, or replace it with --force."
            ) from None
        except OSError:  # a file system without hard links
            finished.rename(target)
    sync_to_disk(target.parent)


def _record_file(database: Path) -> Path:
    return database.with_name(database.name + RECORD_SUFFIX)


def _write_record(database: Path, target: Path, result: BackupResult) -> None:
    """Remember the backup. A folder that cannot be written is no reason to fail: the backup exists."""
    record = BackupRecord(
        now(), str(target.absolute()), result.bytes, result.content.rows, result.content.revision
    )
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
