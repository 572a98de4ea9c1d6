"""How a process of ours takes memory, and treats what it no longer needs."""

import ctypes

MMAP_THRESHOLD_BYTES = (
    256 * 1024
)  # bytes; above a page of fifty events, which is made again at once, and below one of a thousand

_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8  # of <malloc.h>


def set_mmap_threshold() -> None:
    """Let the allocator return large pieces to the system when they are freed, and not keep them for the next.

    Pages of a thousand events would else leave a heap full of holes. A variable of the environment says the same, but
    is only read when a program starts, and our processes are forked. Other allocators than that of glibc do without.
    """
    _mallopt(_M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES)


def limit_arenas() -> None:
    """Let all threads take memory from the same heap, in this process and in those forked from it.

    Else every thread has one of its own, up to eight for each core, and each keeps what was freed in it. Python runs
    one thread at a time, so they hardly wait for each other. Threads that run already keep theirs: say it first.
    """
    _mallopt(_M_ARENA_MAX, 1)


def _mallopt(parameter: int, value: int) -> None:
    setting = getattr(ctypes.CDLL(None), "mallopt", None)
    if setting is not None:
        setting(parameter, value)
