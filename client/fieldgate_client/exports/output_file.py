"""Files that appear when they are complete. Until then they have a temporary name in the same folder."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

Target = str | os.PathLike[str] | BinaryIO
BUFFER_BYTES = 1 << 20


class OutputFile:
    """Write to `file`, then `commit`. Without it nothing is left behind, and an existing file is as it was.

    The target can also be a binary file object, such as `sys.stdout.buffer`, or a device or pipe. These are written to
    directly and not closed.
    """

    def __init__(self, target: Target) -> None:
        self.file: BinaryIO
        self.folder: str | None = None  # for other temporary files; None: where the system has them
        self._path: Path | None = None
        self._part: Path | None = None
        self._is_ours = False
        if not isinstance(target, str | os.PathLike):
            self.file = target
            return
        path = Path(os.path.realpath(target))  # a link stays a link
        self._is_ours = True
        if path.is_dir():
            raise IsADirectoryError(f"{path} is a folder. Give the name of a file.")
        if path.exists() and not stat.S_ISREG(path.stat().st_mode):
            self.file = path.open("wb")
            return
        if not path.parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, "There is no such folder", str(path.parent))
        self.folder = str(path.parent)
        self._path = path
        self._part = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}.part")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        try:
            number = os.open(self._part, flags, _new_file_mode(path))
        except OSError as error:
            error.filename = str(path)  # the name that the caller knows
            raise
        self.file = os.fdopen(number, "wb", BUFFER_BYTES)

    def __enter__(self) -> OutputFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.discard()

    def commit(self) -> None:
        self.file.flush()
        if not self._is_ours:
            return
        self.file.close()
        if self._part is not None and self._path is not None:
            with suppress(OSError):
                shutil.copymode(self._path, self._part)
            self._part.replace(self._path)
            self._part = None

    def discard(self) -> None:
        """Does nothing after `commit`."""
        if self._is_ours:
            with suppress(OSError):  # a full disk cannot take what is in the buffer
                self.file.close()
        if self._part is not None:
            with suppress(FileNotFoundError):
                self._part.unlink()
            self._part = None


def _new_file_mode(path: Path) -> int:
    """The permissions of a new file that is to replace this one: nobody else can read it meanwhile."""
    try:
        return path.stat().st_mode & 0o777
    except OSError:
        return 0o666  # of any new file
