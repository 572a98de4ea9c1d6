"""Backup files: unfinished ones, compression, and what is inside."""

import fcntl
import gzip
import os
import shutil
import sqlite3
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, NamedTuple

import zstandard

from fieldgate.db.data_versions import IDENTITY_TOPIC

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
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=PARTIAL_SUFFIX, dir=target.parent)
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
    return zstandard.ZstdCompressor(level=_ZSTD_LEVEL, write_checksum=True).stream_writer(file, closefd=False)


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
            programs = connection.execute("SELECT type, name FROM sqlite_master WHERE type IN ('trigger', 'view')")
            if program := programs.fetchone():  # Fieldgate has none: reading or changing a row could run it
                raise BackupError(f"{shown} has a {program[0]} {program[1]!r}, which is not from Fieldgate.")
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
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    if not {"alembic_version", "changes"} <= set(tables):
        raise BackupError(f"{shown} is not a database of Fieldgate.")
    revision = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    database_id = connection.execute("SELECT version FROM changes WHERE topic = ?", (IDENTITY_TOPIC,)).fetchone()
    if revision is None or database_id is None or not isinstance(database_id[0], int):
        raise BackupError(f"{shown} is not a database of Fieldgate.")
    counts = {
        name: connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]  # noqa: S608  (names of tables)
        for name in tables
        if name != "alembic_version" and not name.startswith("sqlite_")
    }
    return BackupContent(revision[0], database_id[0], counts)
