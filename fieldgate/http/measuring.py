"""Numbers that all processes of a server write down, and that any of them can tell together.

Each process has two files in a folder they share: numbers, which are mapped into its memory, and the names of their
places. To count is to add to a place. The client library of Prometheus does the same in a general way, at ten times
the cost, and every request pays it; what is told is still written by that library.
"""

import mmap
import os
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import msgspec

SHARED_IN = "_FIELDGATE_MEASUREMENTS"  # the variable in which `fieldgate serve` tells its processes their folder
PLACES = 16 * 1024  # of 8 bytes; endpoints, methods and statuses are some thousand together
NUMBERS, NAMES = ".numbers", ".names"

Name = tuple[str, ...]


class Told(NamedTuple):
    """A number that a process has written down."""

    name: Name
    number: float
    is_alive: bool  # whether that process still is


class Numbers:
    def __init__(self, folder: Path | None) -> None:
        """Without a folder the numbers are of this process alone."""
        self._folder = folder
        self._names: list[Name] = []
        size = PLACES * 8
        if folder is None:
            self.places = memoryview(bytearray(size)).cast("d")
        else:
            self._own = folder / str(os.getpid())
            self._own.with_suffix(NAMES).write_bytes(b"")
            with self._own.with_suffix(NUMBERS).open("w+b") as file:
                file.truncate(size)
                self.places = memoryview(mmap.mmap(file.fileno(), size)).cast("d")

    def take(self, *names: Name) -> int:
        """Places in a row for numbers of these names; the first of them is told."""
        first = len(self._names)
        self._names += names
        if self._folder is not None:
            with self._own.with_suffix(NAMES).open("ab") as file:
                file.writelines(msgspec.json.encode(name) + b"\n" for name in names)
        return first

    def all(self) -> Iterator[Told]:
        """The numbers of all processes, of those that have ended as well."""
        if self._folder is None:
            yield from self._told(self._names, self.places, is_alive=True)
            return
        for file in sorted(self._folder.glob(f"*{NAMES}")):
            names = [
                msgspec.json.decode(line, type=Name) for line in BytesIO(file.read_bytes()) if line.endswith(b"\n")
            ]
            numbers = memoryview(file.with_suffix(NUMBERS).read_bytes()).cast("d")
            yield from self._told(names, numbers, is_alive=_is_alive(int(file.stem)))

    @staticmethod
    def _told(names: Sequence[Name], numbers: Sequence[float], *, is_alive: bool) -> Iterator[Told]:
        return (Told(name, number, is_alive) for name, number in zip(names, numbers, strict=False))


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it is there, and somebody else's
        pass
    return True
