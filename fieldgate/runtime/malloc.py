"""Tune glibc's malloc for lower memory use."""

import ctypes

MMAP_THRESHOLD_BYTES = 256 * 1024  # larger than a page of 50 events, smaller than one of 1000

_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8  # from <malloc.h>


def set_mmap_threshold() -> None:
    """Return large blocks to the system when they are freed.

    Otherwise pages of 1000 events fragment the heap. The environment variable for this is only read when a program
    starts, and our processes are forked. No effect with other allocators than glibc's.
    """
    _mallopt(_M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES)


def limit_arenas() -> None:
    """Use one heap for all threads, in this process and in those forked from it.

    Otherwise there are up to eight heaps for each core, and each keeps freed memory. Python runs one thread at a time,
    so there is little contention. Running threads keep their heap, so call this first.
    """
    _mallopt(_M_ARENA_MAX, 1)


def _mallopt(parameter: int, value: int) -> None:
    setting = getattr(ctypes.CDLL(None), "mallopt", None)
    if setting is not None:
        setting(parameter, value)
