"""Bytes of a request body that are on disk, so that uploads in progress take little memory.

The temporary file has no name: nothing is left of it when the process ends, however it ends.
"""

import hashlib
import logging
import tempfile
from collections.abc import Callable
from contextlib import suppress

from fieldgate.errors import ServiceUnavailable
from fieldgate.i18n.messages import Message
from fieldgate.overload import run_in_thread_if

MAX_BYTES_IN_MEMORY = 64 * 1024  # more is written to disk
RETRY_SECONDS = 60

NO_SPACE = Message("The server has no space for uploads at the moment. Try again later.")

log = logging.getLogger(__name__)


class SpooledBytes:
    """Bytes that arrive in pieces. They are in memory while they are few, otherwise in a temporary file."""

    __slots__ = ("_file", "size")

    def __init__(self, folder: str) -> None:
        """`folder` is for the temporary file; if empty, the system chooses."""
        self._file = tempfile.SpooledTemporaryFile(MAX_BYTES_IN_MEMORY, dir=folder or None)  # noqa: SIM115  (`close`)
        self.size = 0

    async def write(self, piece: bytes) -> None:
        """Add bytes. Raise `ServiceUnavailable` if they cannot be stored."""
        self.size += len(piece)
        await self._store(lambda: self._file.write(piece))

    async def finish(self) -> None:
        """Call it after the last piece."""
        await self._store(self._file.flush)

    async def _store(self, step: Callable[[], object]) -> None:
        try:
            await run_in_thread_if(self.is_on_disk, step)
        except OSError as error:
            log.error("cannot store an upload in the spool folder: %s", error)
            raise ServiceUnavailable(NO_SPACE, RETRY_SECONDS) from None

    @property
    def is_on_disk(self) -> bool:
        return self.size > MAX_BYTES_IN_MEMORY

    def read(self) -> bytes:
        """All bytes. Blocks."""
        return self.read_start(-1)

    def read_start(self, size: int) -> bytes:
        self._file.seek(0)
        return self._file.read(size)

    def sha256(self) -> bytes:
        """The digest of all bytes. Blocks."""
        self._file.seek(0)
        return hashlib.file_digest(self._file, "sha256").digest()

    def close(self) -> None:
        with suppress(OSError):  # what could not be written before still cannot
            self._file.close()
