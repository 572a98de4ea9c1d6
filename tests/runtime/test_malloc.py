"""Freed memory is returned to the system, also in a forked process."""

import multiprocessing
import platform
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from fieldgate.runtime.process_limits import MMAP_THRESHOLD_BYTES, set_mmap_threshold

PIECES, SIZE = 64, 2 * 1024 * 1024


@pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="other allocators have their own ways"
)
def test_large_blocks_are_returned_to_the_system_after_a_fork() -> None:
    """Every second block is freed; the remaining ones must not keep the freed memory in the process."""
    assert _kept_after_freeing(prepared=True) < PIECES * SIZE * 0.6


def _kept_after_freeing(*, prepared: bool) -> int:
    receiving, sending = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(target=_child, args=(sending, prepared))
    child.start()
    resident: int = receiving.recv()
    child.join()
    return resident


def _child(sending: Connection, prepared: bool) -> None:
    if prepared:
        set_mmap_threshold()
    # The allocator raises its threshold when a larger block is freed, unless it was set.
    for size in range(MMAP_THRESHOLD_BYTES, SIZE + MMAP_THRESHOLD_BYTES, MMAP_THRESHOLD_BYTES):
        del [bytearray(size)][:]
    before = _resident()
    pieces: list[bytearray | None] = [bytearray(b"x") * SIZE for _ in range(PIECES)]
    pieces[::2] = [None] * (PIECES // 2)
    sending.send(_resident() - before)


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
