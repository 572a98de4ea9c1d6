"""`python -m benchmarks.core_monitor CORE SECONDS`: how often a core was much slower than usual.

Virtual machines share cores with others. The kernel counts the time the host takes away, but not that a core is many
times slower for a tenth of a second. So a short probe is timed every few milliseconds, with real-time priority where
the system allows it.
"""

import gc
import os
import statistics
import sys
import time
from contextlib import suppress

PAUSE_SECONDS = 0.004  # between two probes
PROBE_DATA = bytes(64 * 1024)
COPIES = 8
SLOW_RATIO = 2.0  # by the usual time, which is the lower quartile


def time_probe() -> float:
    """Time a fixed amount of work, mostly reading and writing memory."""
    started_at = time.perf_counter()
    for _ in range(COPIES):
        bytearray(PROBE_DATA)
    return time.perf_counter() - started_at


def slow_share(probes: list[float]) -> float:
    usual = statistics.quantiles(probes, n=4)[0]
    return sum(each > SLOW_RATIO * usual for each in probes) / len(probes)


def main(core: int, seconds: float) -> None:
    gc.disable()
    os.sched_setaffinity(0, {core})
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    deadline = time.monotonic() + seconds
    probes = []
    while time.monotonic() < deadline:
        probes.append(time_probe())
        time.sleep(PAUSE_SECONDS)
    print(slow_share(probes))


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
