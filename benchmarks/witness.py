"""`python -m benchmarks.witness CORE SECONDS`: how often a core was much slower than usual.

Virtual machines share memory and cores with others. Time that the host takes away is counted by the kernel; that a core
is there, but many times slower for a tenth of a second, is not. So the same little work is done every few milliseconds
and timed, before everybody else on the core where the system allows it: some hundredths of a second in all.
"""

import gc
import os
import statistics
import sys
import time
from contextlib import suppress

PAUSE_SECONDS = 0.004  # seconds between two looks
PROBE_DATA = bytes(64 * 1024)
COPIES = 8
SLOW_RATIO = 2.0  # times what is usual, which is what a quarter of the looks stayed below


def time_probe() -> float:
    """Seconds that a fixed work takes: reading and writing memory, mostly."""
    began = time.perf_counter()
    for _ in range(COPIES):
        bytearray(PROBE_DATA)
    return time.perf_counter() - began


def slow_share(looks: list[float]) -> float:
    usual = statistics.quantiles(looks, n=4)[0]
    return sum(each > SLOW_RATIO * usual for each in looks) / len(looks)


def main(core: int, seconds: float) -> None:
    gc.disable()
    os.sched_setaffinity(0, {core})
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    until = time.monotonic() + seconds
    looks = []
    while time.monotonic() < until:
        looks.append(time_probe())
        time.sleep(PAUSE_SECONDS)
    print(slow_share(looks))


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
