"""Counters in shared memory that any process of a server can read.

Each process has two files in a common folder: slots for numbers, mapped into memory, and the names of these slots.
Counting adds to a slot. It is our own code because every request pays for it: counting with prometheus-client in
multiprocess mode takes 8 µs, and 1.4 µs here (`docs/performance.md`). The library still writes the output.
"""

import fcntl
import mmap
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec

METRICS_DIR_VARIABLE = "_FIELDGATE_MEASUREMENTS"  # set by `fieldgate serve` for its processes: the common folder
MAX_SLOTS = 16 * 1024  # of 8 bytes; endpoints, methods and statuses need some thousands
SLOTS_SUFFIX, NAMES_SUFFIX = ".slots", ".names"

CounterKey = tuple[str, ...]


def metrics_folder() -> Path | None:
    """The common folder of the processes of `fieldgate serve`; None in a process without a server."""
    return Path(os.environ[METRICS_DIR_VARIABLE]) if METRICS_DIR_VARIABLE in os.environ else None


class SlotsExhausted(Exception):
    """No slots are left for more names."""


class CounterSample(NamedTuple):
    """A number counted by one process."""

    key: CounterKey
    value: float
    is_alive: bool  # whether that process is still running


class _SlotGroup(NamedTuple):
    """A line of the names file. Slots that belong together share a line, so they are read together or not at all."""

    first_slot: int
    keys: Sequence[CounterKey]


class SharedCounters:
    """The counters of this process, and a view of those of the others."""

    def __init__(self, folder: Path | None) -> None:
        """Without a folder, only this process is counted."""
        self._folder = folder
        self._groups: dict[int, Sequence[CounterKey]] = {}
        self._allocated = 0
        size = MAX_SLOTS * 8
        if folder is None:
            self.slots = memoryview(bytearray(size)).cast("d")
            return
        # Process ids are reused, and the counts of an earlier process must stay.
        own = folder / f"{os.getpid()}-{secrets.token_hex(4)}"
        with own.with_suffix(SLOTS_SUFFIX).open("x+b") as file:
            # The mapping keeps a duplicate of the descriptor, so the lock is held until this process ends.
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write(bytes(size))  # not just truncate(): a full disk fails here, not during a request
            file.flush()
            self.slots = memoryview(mmap.mmap(file.fileno(), size)).cast("d")
        self._names_path = own.with_suffix(NAMES_SUFFIX)
        self._names_path.touch()  # last, so that the slots exist when the names are found

    def allocate(self, *keys: CounterKey) -> int:
        """Allocate consecutive slots and return the first. If this fails, nothing is allocated."""
        first = self._allocated
        if first + len(keys) > MAX_SLOTS:
            raise SlotsExhausted
        if self._folder is not None:
            with self._names_path.open("ab") as file:
                # Start a new line, as the last one may be incomplete.
                file.write(b"\n" + msgspec.json.encode(_SlotGroup(first, keys)))
        self._groups[first] = keys
        self._allocated += len(keys)
        return first

    def samples(self) -> Iterator[CounterSample]:
        """The counters of all processes, including those that have ended."""
        if self._folder is None:
            yield from _read_samples(self._groups, self.slots, is_alive=True)
            return
        for file in sorted(self._folder.glob(f"*{NAMES_SUFFIX}")):
            groups = _parse_groups(file.read_bytes())
            with file.with_suffix(SLOTS_SUFFIX).open("rb") as slots:
                is_alive, numbers = _is_locked(slots), memoryview(slots.read()).cast("d")
            yield from _read_samples(groups, numbers, is_alive=is_alive)


def _parse_groups(lines: bytes) -> Mapping[int, Sequence[CounterKey]]:
    """The groups by their first slot. A later line replaces an incomplete one."""
    groups: dict[int, Sequence[CounterKey]] = {}
    for line in lines.split(b"\n"):
        with suppress(msgspec.DecodeError, UnicodeDecodeError):  # the last line may be incomplete
            first, names = msgspec.json.decode(line, type=_SlotGroup)
            groups[first] = names
    return groups


def _read_samples(
    groups: Mapping[int, Sequence[CounterKey]], slots: Sequence[float], *, is_alive: bool
) -> Iterator[CounterSample]:
    for first, names in groups.items():
        for name, number in zip(names, slots[first:], strict=False):
            yield CounterSample(name, number, is_alive)


def _is_locked(file: BinaryIO) -> bool:
    """Whether the process that created the file is still running."""
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False
