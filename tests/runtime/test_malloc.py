"""Freed memory is returned to the system, also in a forked process."""

import multiprocessing
import os
import platform
import subprocess
import sys
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from fieldgate.runtime.malloc import MMAP_THRESHOLD_BYTES, set_mmap_threshold

PIECES, SIZE = 64, 2 * 1024 * 1024

# Prints how many heaps there are in a child, in which eight threads have held memory at the same time.
HEAPS = """
import ctypes, os, sys, threading
from fieldgate.runtime.malloc import limit_arenas
if sys.argv[1] == "shared":
    limit_arenas()
if os.fork():
    sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
together = threading.Barrier(8)
def hold():
    held = [bytes(100_000) for _ in range(10)]
    together.wait()
threads = [threading.Thread(target=hold) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
library = ctypes.CDLL(None)
library.fdopen.restype = ctypes.c_void_p
output = ctypes.c_void_p(library.fdopen(1, b"w"))
library.malloc_info(0, output)
library.fflush(output)
os._exit(0)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other allocators have their own ways")
def test_large_blocks_are_returned_to_the_system_after_a_fork() -> None:
    """Every second block is freed; the remaining ones must not keep the freed memory in the process."""
    assert _kept_after_freeing(prepared=True) < PIECES * SIZE * 0.6


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other allocators have their own ways")
def test_threads_share_one_heap_after_a_fork() -> None:
    assert _heaps("shared") == 1
    assert _heaps("apart") > 1


def _heaps(way: str) -> int:
    # Settings of the environment apply to children too and would change the result.
    told_before = ("MALLOC_", "GLIBC_TUNABLES")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(told_before)}
    command = [sys.executable, "-c", HEAPS, way]
    output = subprocess.run(command, env=environment, capture_output=True, check=True, timeout=60).stdout
    return output.count(b"<heap nr=")


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
