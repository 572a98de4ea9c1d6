"""Backup files: unfinished ones, compression, and what is inside."""

import fcntl
import gzip
import hashlib
import os
import sqlite3
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO, NamedTuple, cast

import zstandard

from fieldgate.db.data_versions import IDENTITY_TOPIC
from fieldgate.db.table_digests import RowsCallback, TableDigest, digest_sqlite, sqlite_tables

PARTIAL_SUFFIX = ".partial"  # of files that are not finished yet
_CHUNK_BYTES = 1024 * 1024
_SQLITE_HEADER = b"SQLite format 3\x00"
_ZSTD_LEVEL = 3


class BackupError(Exception):
    """A backup cannot be made, or a file cannot be restored. The text says why and what to do."""


class BackupContent(NamedTuple):
    """What an SQLite file of Fieldgate has in it."""

    revision: str
    database_id: int
    tables: dict[str, TableDigest]

    @property
    def rows(self) -> int:
        return sum(digest.rows for digest in self.tables.values())


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
        for suffix in ("", "-journal", "-wal", "-shm"):
            Path(name + suffix).unlink(missing_ok=True)
        os.close(descriptor)


def _delete_abandoned(target: Path) -> None:
    prefix = f".{target.name}."
    for file in target.parent.iterdir():
        if file.name.startswith(prefix) and file.name.endswith(PARTIAL_SUFFIX):
            with suppress(OSError), file.open("rb") as opened:
                fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
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
    """Compress a file, read the result again and compare. `kind` is the suffix: .gz or .zst."""
    expected = hashlib.blake2b()
    with plain.open("rb") as source, target.open("wb") as file, _compressor(file, kind) as writer:
        while chunk := source.read(_CHUNK_BYTES):
            expected.update(chunk)
            writer.write(chunk)
    found = hashlib.blake2b()
    with open_content(target, kind) as reader:
        while chunk := reader.read(_CHUNK_BYTES):
            found.update(chunk)
    if found.digest() != expected.digest():
        raise BackupError("The compressed file is not what was written. Check the disk.")


def _compressor(file: BinaryIO, kind: str) -> Any:
    if kind == ".gz":
        return gzip.GzipFile(fileobj=file, mode="wb", compresslevel=6)
    return zstandard.ZstdCompressor(level=_ZSTD_LEVEL, write_checksum=True).stream_writer(file, closefd=False)


@contextmanager
def open_content(file: Path, kind: str) -> Iterator[IO[bytes]]:
    """Open a file for reading, decompressed if `kind` is .gz or .zst."""
    with file.open("rb") as opened:
        if kind == ".gz":
            with gzip.GzipFile(fileobj=opened) as unpacked:
                yield cast(IO[bytes], unpacked)
        elif kind == ".zst":
            yield cast(IO[bytes], zstandard.ZstdDecompressor().stream_reader(opened, read_across_frames=True))
        else:
            yield opened


def unpack(backup: Path, target: Path, max_bytes: int) -> None:
    """Copy the content of a backup to a file. `BackupError` if it is damaged, or larger than `max_bytes`."""
    try:
        with open_content(backup, backup.suffix) as source, target.open("wb") as file:
            while chunk := source.read(_CHUNK_BYTES):
                if file.tell() + len(chunk) > max_bytes:
                    raise BackupError(f"{target.parent} has no room for the content of {backup}. Free some space.")
                file.write(chunk)
    except (EOFError, gzip.BadGzipFile, zlib.error, zstandard.ZstdError) as error:
        raise BackupError(f"{backup} is damaged or not complete: {error}") from None


def has_sqlite_header(file: Path) -> bool:
    """Whether the file exists and begins like one of SQLite."""
    try:
        with file.open("rb") as opened:
            return opened.read(len(_SQLITE_HEADER)) == _SQLITE_HEADER
    except FileNotFoundError:
        return False


def check_header(file: Path, shown: Path) -> None:
    """`BackupError` if the file is not SQLite, or shorter than its header says."""
    with file.open("rb") as opened:
        header = opened.read(100)
    if not header.startswith(_SQLITE_HEADER) or len(header) < 100:
        raise BackupError(f"{shown} is not an SQLite database.")
    page_bytes = int.from_bytes(header[16:18]) or 1
    expected = (65536 if page_bytes == 1 else page_bytes) * int.from_bytes(header[28:32])
    if file.stat().st_size < expected:
        raise BackupError(f"{shown} is not complete: {file.stat().st_size} of {expected} bytes.")


def check_integrity(file: Path, shown: Path) -> None:
    """Let SQLite check the whole file. `BackupError` with what it found, or if it has programs of its own."""
    try:
        with closing(sqlite3.connect(file, isolation_level=None)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            programs = connection.execute("SELECT type, name FROM sqlite_master WHERE type IN ('trigger', 'view')")
            if program := programs.fetchone():  # Fieldgate has none: reading or changing a row could run it
                raise BackupError(f"{shown} has a {program[0]} {program[1]!r}, which is not from Fieldgate.")
            found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(3)")]
            references = connection.execute("PRAGMA foreign_key_check").fetchone()
    except sqlite3.DatabaseError as error:
        found, references = [str(error)], None
    if found != ["ok"]:
        raise BackupError(f"{shown} is damaged: {'; '.join(found)}")
    if references is not None:
        raise BackupError(f"{shown} is damaged: a row of {references[0]} refers to a missing row of {references[2]}.")


def read_content(connection: sqlite3.Connection, shown: Path, on_rows: RowsCallback) -> BackupContent:
    """Read revision, database id and digests. `BackupError` if it is not a database of Fieldgate."""
    try:
        revision = connection.execute("SELECT version_num FROM alembic_version").fetchone()
        database_id = connection.execute("SELECT version FROM changes WHERE topic = ?", (IDENTITY_TOPIC,)).fetchone()
    except sqlite3.OperationalError as error:
        if "no such table" not in str(error):
            raise
        revision = database_id = None
    if revision is None or database_id is None or not isinstance(database_id[0], int):
        raise BackupError(f"{shown} is not a database of Fieldgate.")
    return BackupContent(revision[0], database_id[0], digest_sqlite(connection, on_rows))


def count_rows(connection: sqlite3.Connection) -> int:
    """The number of rows of all tables."""
    tables = sqlite_tables(connection)
    return sum(connection.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0] for table in tables)  # noqa: S608
