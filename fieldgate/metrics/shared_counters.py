"""Numbers that all processes of a server write down, and that any of them can tell together.

Each process has two files in a folder they share: slots for numbers, which are mapped into its memory, and the names
of these slots. To count is to add to a slot. The client library of Prometheus does the same in a general way, at
several times the cost, and every request pays it; what is told is still written by that library.
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

METRICS_DIR_VARIABLE = (
    "_FIELDGATE_MEASUREMENTS"  # the variable in which `fieldgate serve` tells its processes their folder
)
MAX_SLOTS = 16 * 1024  # of 8 bytes; endpoints, methods and statuses need some thousand together
SLOTS_SUFFIX, NAMES_SUFFIX = ".slots", ".names"

CounterKey = tuple[str, ...]


class SlotsExhausted(Exception):
    """No slots are left for more names."""


class CounterSample(NamedTuple):
    """A number that a process has written down."""

    key: CounterKey
    value: float
    is_alive: bool  # whether that process still is


class _SlotGroup(NamedTuple):
    """A line of the names: whole or not there, so that nobody sees a part of what belongs together."""

    first_slot: int
    keys: Sequence[CounterKey]


class SharedCounters:
    """What this process has counted, and a look at what the others have."""

    def __init__(self, folder: Path | None) -> None:
        """Without a folder the numbers are of this process alone."""
        self._folder = folder
        self._groups: dict[int, Sequence[CounterKey]] = {}
        self._allocated = 0
        size = MAX_SLOTS * 8
        if folder is None:
            self.slots = memoryview(bytearray(size)).cast("d")
            return
        # Ids of processes are given again, and what an earlier one counted must stay.
        own = folder / f"{os.getpid()}-{secrets.token_hex(4)}"
        with own.with_suffix(SLOTS_SUFFIX).open("x+b") as file:
            # Held by the duplicate of the descriptor that the mapping keeps: until this process ends, however it does.
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write(bytes(size))  # not just made longer: a disk that is full says so here, not at some request
            file.flush()
            self.slots = memoryview(mmap.mmap(file.fileno(), size)).cast("d")
        self._names_path = own.with_suffix(NAMES_SUFFIX)
        self._names_path.touch()  # last: who finds it finds the slots too

    def allocate(self, *keys: CounterKey) -> int:
        """Slots in a row for numbers of these names; the first of them is told. Nothing is taken if that fails."""
        first = self._allocated
        if first + len(keys) > MAX_SLOTS:
            raise SlotsExhausted
        if self._folder is not None:
            with self._names_path.open("ab") as file:
                # On a line of its own, even after one that was not written to its end.
                file.write(b"\n" + msgspec.json.encode(_SlotGroup(first, keys)))
        self._groups[first] = keys
        self._allocated += len(keys)
        return first

    def samples(self) -> Iterator[CounterSample]:
        """The numbers of all processes, of those that have ended as well."""
        if self._folder is None:
            yield from _read_samples(self._groups, self.slots, is_alive=True)
            return
        for file in sorted(self._folder.glob(f"*{NAMES_SUFFIX}")):
            groups = _parse_groups(file.read_bytes())
            with file.with_suffix(SLOTS_SUFFIX).open("rb") as slots:
                is_alive, numbers = _is_locked(slots), memoryview(slots.read()).cast("d")
            yield from _read_samples(groups, numbers, is_alive=is_alive)


def _parse_groups(lines: bytes) -> Mapping[int, Sequence[CounterKey]]:
    """The groups of names by their first slot. Where one could not be written, the next one got its slots."""
    groups: dict[int, Sequence[CounterKey]] = {}
    for line in lines.split(b"\n"):
        with suppress(msgspec.DecodeError, UnicodeDecodeError):  # also the last one, if it is just being written
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
    """Whether the process that made the file still is."""
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False
