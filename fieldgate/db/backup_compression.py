"""Backups as gzip or Zstandard files, by the end of their names. Both formats have a checksum."""

import gzip
import shutil
import zlib
from pathlib import Path
from typing import Any

import zstandard

from fieldgate.db.backup_content import BackupError

_CHUNK_BYTES = 1024 * 1024
_GZIP_LEVEL = 6
_ZSTD_LEVEL = 3


def is_compressed(file: Path) -> bool:
    return file.suffix in {".gz", ".zst"}


def compress(plain: Path, packed: Path, suffix: str) -> None:
    with plain.open("rb") as source, _open_for_writing(packed, suffix) as writer:
        shutil.copyfileobj(source, writer, _CHUNK_BYTES)


def unpack(backup: Path, target: Path) -> None:
    """Copy the content of a backup to a file. `BackupError` if it is damaged."""
    try:
        with _open_for_reading(backup) as reader, target.open("wb") as file:
            shutil.copyfileobj(reader, file, _CHUNK_BYTES)
    except (EOFError, gzip.BadGzipFile, zlib.error, zstandard.ZstdError) as error:
        raise BackupError(f"{backup} is damaged or not complete: {error}") from None


def _open_for_writing(packed: Path, suffix: str) -> Any:
    if suffix == ".gz":
        return gzip.open(packed, "wb", _GZIP_LEVEL)
    compressor = zstandard.ZstdCompressor(level=_ZSTD_LEVEL, write_checksum=True)
    return zstandard.open(packed, "wb", compressor)


def _open_for_reading(backup: Path) -> Any:
    if backup.suffix == ".gz":
        return gzip.open(backup, "rb")
    if backup.suffix == ".zst":
        decompressor = zstandard.ZstdDecompressor()
        return decompressor.stream_reader(backup.open("rb"), read_across_frames=True)
    return backup.open("rb")
