"""Files with one JSON record on each line: read without loading them, written whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import IO, TYPE_CHECKING

import msgspec

from fieldgate_client.errors import FieldgateError
from fieldgate_client.exports.output_file import check_folder, new_file_mode
from fieldgate_client.pages import RecordFields, read_fields
from fieldgate_client.seen_keys import Key, SeenKeys

if TYPE_CHECKING:
    from types import TracebackType

LAST_KEYS = 5  # remembered of a file that is continued
MAX_LINE_BYTES = 1 << 30
BUFFER_BYTES = 1 << 20


class FileInUse(FieldgateError):
    """Another process is writing the same file."""


class FileSummary(msgspec.Struct):
    """What a file holds. `end` is behind the last complete line with a record."""

    keys: SeenKeys = msgspec.field(default_factory=SeenKeys)
    last_keys: list[Key] = []
    count: int = 0
    end: int = 0
    digest: str = ""
    newest: str = ""  # the latest `updated_at`


class Totals(msgspec.Struct, frozen=True):
    """Figures of a list that a server adds up, too. If they differ, so do the records."""

    count: int
    num_affected: int = 0
    events_with_num_affected: int = 0


class LineDigest:
    """Adds up what is written: the digest of the file, the latest `updated_at`, and figures."""

    def __init__(self) -> None:
        self._hash = blake2b(digest_size=16)
        self.count = 0
        self.newest = ""
        self._affected = 0
        self._with_affected = 0

    def add(self, line: bytes, fields: RecordFields) -> None:
        self._hash.update(line)
        self.count += 1
        # To the second: with and without a fraction, texts do not compare as times do.
        self.newest = max(self.newest, fields.updated_at[:19])
        if fields.num_affected is not None:
            self._affected += fields.num_affected
            self._with_affected += 1

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()

    @property
    def totals(self) -> Totals:
        return Totals(self.count, self._affected, self._with_affected)


def to_line(record: msgspec.Raw | bytes) -> bytes:
    """Line breaks in texts are escaped in JSON; others are only layout."""
    return bytes(record).replace(b"\r", b" ").replace(b"\n", b" ") + b"\n"


def read_lines(file: IO[bytes]) -> Iterator[tuple[bytes, RecordFields]]:
    """Each line with the key of its record and other fields. Ends before a line that is cut off or not JSON."""
    while line := file.readline(MAX_LINE_BYTES):
        if not line.endswith(b"\n"):
            return
        try:
            fields = read_fields(line[:-1])
        except (ValueError, RecursionError):
            return
        yield line, fields


def summarize(path: Path) -> FileSummary:
    """Read a file once. Takes about two bits of memory for a record with a number as its id."""
    found, digest = FileSummary(), LineDigest()
    last: list[Key] = []
    with path.open("rb", buffering=BUFFER_BYTES) as file:
        for line, fields in read_lines(file):
            found.keys.add(fields.key)
            found.end += len(line)
            digest.add(line, fields)
            last.append(fields.key)
            if len(last) > 2 * LAST_KEYS:
                del last[:-LAST_KEYS]
    found.last_keys, found.count, found.newest = last[-LAST_KEYS:], digest.count, digest.newest
    # A file with something else at its end is another file than that of the lines alone.
    found.digest = digest.digest if found.end == path.stat().st_size else ""
    return found


class NewFile:
    """A file that is written under another name, and gets its own when it is complete.

    Two processes cannot write the same file at a time. What a killed process left behind is overwritten.
    """

    def __init__(self, path: str | os.PathLike[str], suffix: str = ".new", *, keep: bool = False) -> None:
        """With `keep`, a file that is there is continued, and stays if writing fails."""
        self.target = Path(os.path.realpath(path))  # of a link, the file that it points to is replaced
        self.path = self.target.with_name(self.target.name + suffix)
        self._keep = keep
        self._is_complete = False

    def __enter__(self) -> NewFile:
        check_folder(self.target)
        self.file = _open_alone(self.path, new_file_mode(self.target))
        if self._keep:
            self.file.seek(0, os.SEEK_END)
        else:
            self.file.truncate(0)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):
            if not self._is_complete and not (self._keep and self.file.seek(0, os.SEEK_END)):
                self.path.unlink()
        self.file.close()

    def write(self, records: Iterable[bytes]) -> None:
        self.file.writelines(records)

    def sync(self) -> None:
        self.file.flush()
        os.fsync(self.file.fileno())

    def truncate(self, end: int) -> None:
        self.file.flush()
        self.file.seek(end)
        self.file.truncate(end)

    def put_in_place(self) -> None:
        """Replace the target by what was written. After a crash it is one or the other."""
        self.sync()
        with suppress(OSError):
            self.path.chmod(self.target.stat().st_mode & 0o7777)
        if os.name == "nt":
            self.file.close()  # elsewhere it stays open, and with it the lock
        self.path.replace(self.target)
        self._is_complete = True
        sync_folder(self.target)


def replace_file(path: Path, content: bytes) -> None:
    """Write a small file whole or not at all."""
    with NewFile(path, ".tmp") as new:
        new.write([content])
        new.put_in_place()


def sync_folder(path: Path) -> None:
    """Make a rename durable, where the system can."""
    with suppress(OSError):
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _open_alone(path: Path, mode: int) -> IO[bytes]:
    """Open a file for writing and lock it, so that no other process does the same. Windows has no such lock."""
    try:
        import fcntl
    except ImportError:  # pragma: no cover
        return path.open("r+b" if path.exists() else "w+b", buffering=BUFFER_BYTES)
    while True:
        number = os.open(
            path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0), mode
        )
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(number).st_uid != os.geteuid():
                raise PermissionError(errno.EACCES, "This file belongs to another user: remove it", str(path))
            if os.path.samestat(os.fstat(number), path.stat()):
                return os.fdopen(number, "r+b", buffering=BUFFER_BYTES)
        except FileNotFoundError:
            pass  # renamed or removed by the process that had it until now
        except BlockingIOError:
            os.close(number)
            raise FileInUse(f"Another process is writing {path}.") from None
        except PermissionError:
            os.close(number)
            raise
        except OSError:
            return os.fdopen(number, "r+b", buffering=BUFFER_BYTES)  # a file system without locks
        os.close(number)
