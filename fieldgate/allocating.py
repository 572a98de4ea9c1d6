"""How a process of ours treats memory that it no longer needs."""

import ctypes

LARGE = 256 * 1024  # bytes; above a page of fifty events, which is made again at once, and below one of a thousand

_M_MMAP_THRESHOLD = -3  # of <malloc.h>


def give_back_large_pieces() -> None:
    """Let the allocator return large pieces to the system when they are freed, and not keep them for the next.

    Pages of a thousand events would else leave a heap full of holes. A variable of the environment says the same, but
    is only read when a program starts, and our processes are forked. Other allocators than that of glibc do without.
    """
    setting = getattr(ctypes.CDLL(None), "mallopt", None)
    if setting is not None:
        setting(_M_MMAP_THRESHOLD, LARGE)
