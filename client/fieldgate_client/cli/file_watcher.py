"""Notices when files are saved, by looking at their size and time.

Spreadsheet programs write another file and rename it, so that a file can be missing or incomplete for a moment. A
change counts when two looks in a row show the same, and the content is another than before.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from pathlib import Path

POLL_SECONDS = 0.5
Signature = tuple[int, int, int]  # size, time of the last change, number of the file


class FileWatcher:
    def __init__(self, files: list[Path]) -> None:
        self._files = files
        self._seen: dict[Path, Signature | None] = {}
        self._known: dict[Path, Signature | None] = {}
        self._contents: dict[Path, bytes] = {}

    def start(self) -> None:
        """Take the files as they are now as known."""
        for file in self._files:
            self._known[file] = self._seen[file] = _signature(file)
            self._contents[file] = _digest(file)

    def poll(self) -> list[Path]:
        """The files that were saved, and have not changed since the poll before."""
        saved = []
        for file in self._files:
            before, now = self._seen[file], _signature(file)
            self._seen[file] = now
            if now is None or now != before or now == self._known[file] or not now[0]:
                continue
            content = _digest(file)
            if not content or _signature(file) != now:
                continue  # it is being written
            self._known[file] = now
            if content != self._contents[file]:
                self._contents[file] = content
                saved.append(file)
        return saved


def wait_for_changes(watcher: FileWatcher, interval: float = POLL_SECONDS) -> Iterator[Path]:
    never = threading.Event()
    while not never.wait(interval):
        yield from watcher.poll()


def _signature(file: Path) -> Signature | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns, status.st_ino


def _digest(file: Path) -> bytes:
    try:
        return hashlib.sha256(file.read_bytes()).digest()
    except OSError:
        return b""
