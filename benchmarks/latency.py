"""Latencies of Fieldgate and of the floor at half load.

wrk sends as fast as it is answered, so half load is made with pauses: 64 connections wait before each request, for
random times whose mean gives half of the rate measured under full load. A trial second shows how much of that time the
responses take. The resulting rate is reported beside the latencies.

On a virtual machine a core can be many times slower for a tenth of a second, because of others on the same host. That
is all p99 would show. So there are many short rounds, monitored by `core_monitor.py`, and the quiet rounds are reported
apart.
"""

import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import msgspec

from benchmarks.contenders import Contender
from benchmarks.load import Sample, run_load
from benchmarks.processes import CHECKOUT
from benchmarks.rounds import WARM_UP_SECONDS
from benchmarks.work import Work

CONNECTIONS = 64  # wrk pauses for whole milliseconds, so the pauses must be long
LOAD_SHARE = 0.5
MAX_TAIL_RATIO = 5.0  # target for p99 by p50
MS_PER_SECOND = 1000
MIN_PAUSE_MS = 1.0
ROUND_SECONDS = 1
MAX_SLOW_SHARE = 0.01  # of slow probes in a quiet round; p99 is about as many requests


class Round(msgspec.Struct, frozen=True):
    """Results of one round. Latencies are in microseconds; `slow` is the share of slow probes of the core."""

    rate: float
    p50: int
    p99: int
    slow: float

    @property
    def tail(self) -> float:
        return self.p99 / self.p50


class Latency(msgspec.Struct, frozen=True):
    """The interleaved rounds of Fieldgate and of the floor."""

    work: str
    full_rate: float
    ours: list[Round]
    floor: list[Round]

    @property
    def load(self) -> float:
        """The rate as a share of the rate under full load."""
        return statistics.median(each.rate for each in self.ours) / self.full_rate

    @property
    def quiet(self) -> list[Round]:
        return quiet_rounds(self.ours)

    @property
    def tail(self) -> float:
        """p99 by p50: median of the quiet rounds, or of all rounds if none is quiet."""
        return median_tail(self.quiet or self.ours)


def quiet_rounds(rounds: Sequence[Round]) -> list[Round]:
    return [each for each in rounds if each.slow <= MAX_SLOW_SHARE]


def median_tail(rounds: Sequence[Round]) -> float:
    return statistics.median(each.tail for each in rounds)


class _HalfLoad:
    """Half load for one contender."""

    def __init__(self, work: Work, contender: Contender, full_rate: float, core: int) -> None:
        self._work = replace(work, connections=CONNECTIONS)
        self._contender = contender
        self._core = core
        self._position = 0
        interval = (
            CONNECTIONS * MS_PER_SECOND / (full_rate * LOAD_SHARE)
        )  # from one request of a connection to its next
        trial = self._run_load(WARM_UP_SECONDS, interval)
        answering = max(0.0, CONNECTIONS * MS_PER_SECOND / trial.rate - interval)
        self._pause = max(MIN_PAUSE_MS, interval - answering)

    def round(self) -> Round:
        with _watch_core(self._core) as slow_shares:
            sample = self._run_load(ROUND_SECONDS, self._pause)
        return Round(rate=sample.rate, p50=sample.p50, p99=sample.p99, slow=slow_shares[0])

    def _run_load(self, seconds: int, pause: float) -> Sample:
        sample = run_load(
            self._work, self._contender, seconds=seconds, core=self._core, start=self._position, pause=pause
        )
        self._position += sample.requests + CONNECTIONS
        return sample


def measure_half_load(
    work: Work, ours: Contender, our_rate: float, floor: Contender, floor_rate: float, *, rounds: int, core: int
) -> Latency:
    us, it = _HalfLoad(work, ours, our_rate, core), _HalfLoad(work, floor, floor_rate, core)
    taken = [(us.round(), it.round()) for _ in range(rounds)]
    return Latency(work.name, our_rate, [each for each, _ in taken], [each for _, each in taken])


@contextmanager
def _watch_core(core: int) -> Iterator[list[float]]:
    """Monitor the speed of a core during the block. The cores of a machine slow down together."""
    slow_shares: list[float] = []
    command = [sys.executable, "-m", "benchmarks.core_monitor", str(core), str(ROUND_SECONDS)]
    with subprocess.Popen(command, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True) as monitor:
        yield slow_shares
        slow_shares.append(float(monitor.communicate()[0]))
