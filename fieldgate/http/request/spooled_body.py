"""Bytes of a request body that are on disk, so that uploads in progress take little memory.

The temporary file has no name: nothing is left of it when the process ends, however it ends.
"""

import asyncio
import hashlib
import logging
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from typing import IO

from fieldgate.errors import ServiceUnavailable
from fieldgate.i18n.messages import Message

MAX_BYTES_IN_MEMORY = 64 * 1024  # more is written to disk
CHUNK_BYTES = 256 * 1024  # written and read at a time
RETRY_SECONDS = 60

NO_SPACE = Message("The server has no space for uploads at the moment. Try again later.")

log = logging.getLogger(__name__)


class SpooledBytes:
    """Bytes that arrive in pieces. They are in memory while they are few, otherwise in a temporary file."""

    __slots__ = ("_buffered", "_buffered_bytes", "_file", "_folder", "size")

    def __init__(self, folder: str) -> None:
        """`folder` is for the temporary file; if empty, the system chooses."""
        self._folder = folder
        self._file: IO[bytes] | None = None
        self._buffered: list[bytes] = []
        self._buffered_bytes = 0
        self.size = 0

    async def write(self, piece: bytes) -> None:
        """Add bytes. Raise `ServiceUnavailable` if they cannot be stored."""
        self._buffered.append(piece)
        self._buffered_bytes += len(piece)
        self.size += len(piece)
        if self._buffered_bytes >= CHUNK_BYTES or (self._file is None and self.size > MAX_BYTES_IN_MEMORY):
            await asyncio.to_thread(self._flush)

    async def finish(self) -> None:
        """Call it after the last piece."""
        if self._file is not None and self._buffered:
            await asyncio.to_thread(self._flush)

    def _flush(self) -> None:
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(dir=self._folder or None)  # noqa: SIM115  (`close` closes it)
            self._file.writelines(self._buffered)
            self._file.flush()
        except OSError as error:
            log.error("cannot store an upload in the spool folder: %s", error)
            raise ServiceUnavailable(NO_SPACE, RETRY_SECONDS) from None
        self._buffered.clear()
        self._buffered_bytes = 0

    @property
    def is_on_disk(self) -> bool:
        return self._file is not None

    def read(self) -> bytes:
        """All bytes. Blocks."""
        if self._file is None:
            return b"".join(self._buffered)
        self._file.seek(0)
        return self._file.read()

    def read_start(self, size: int) -> bytes:
        if self._file is None:
            return b"".join(self._buffered)[:size]
        self._file.seek(0)
        return self._file.read(size)

    def sha256(self) -> bytes:
        """The digest of all bytes. Blocks."""
        digest = hashlib.sha256()
        for chunk in self._chunks():
            digest.update(chunk)
        return digest.digest()

    def _chunks(self) -> Iterator[bytes]:
        if self._file is None:
            yield from self._buffered
            return
        self._file.seek(0)
        while chunk := self._file.read(CHUNK_BYTES):
            yield chunk

    def close(self) -> None:
        self._buffered.clear()
        if self._file is not None:
            with suppress(OSError):  # what could not be written before still cannot
                self._file.close()
