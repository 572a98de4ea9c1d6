"""Memory that is no longer needed goes back to the system, also in a process that was forked."""

import multiprocessing
import platform
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from fieldgate.allocating import LARGE, give_back_large_pieces

PIECES, SIZE = 64, 2 * 1024 * 1024


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other allocators have their own ways")
def test_large_pieces_are_given_back_after_a_fork() -> None:
    """Every second piece is freed: what is left between them must not hold the freed ones."""
    assert _kept_after_freeing(prepared=True) < PIECES * SIZE * 0.6


def _kept_after_freeing(*, prepared: bool) -> int:
    receiving, sending = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(target=_child, args=(sending, prepared))
    child.start()
    kept: int = receiving.recv()
    child.join()
    return kept


def _child(sending: Connection, prepared: bool) -> None:
    if prepared:
        give_back_large_pieces()
    # The allocator raises its own threshold when a piece above it is freed, unless it was told one.
    for size in range(LARGE, SIZE + LARGE, LARGE):
        del [bytearray(size)][:]
    before = _resident()
    pieces: list[bytearray | None] = [bytearray(b"x") * SIZE for _ in range(PIECES)]
    pieces[::2] = [None] * (PIECES // 2)
    sending.send(_resident() - before)


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
