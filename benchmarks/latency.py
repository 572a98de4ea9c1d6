"""How long answers take while the server is half busy: ours, and beside them the floor's.

wrk sends as fast as it is answered, so half the load is made of pauses: 64 connections that wait before every request,
each time for another while, as long at the mean as gives half of the rate measured under full load; a second of trying
tells how much of that time the answers take. The rate that came of it is told beside the latencies.

On a virtual machine a core can be many times slower for a tenth of a second, again and again, because of others on the
same host. Half of what the server can do is then more than it can do for a while, and one request in a hundred tells of
nothing else. So there are many short rounds with a witness beside them (`witness.py`), and those not disturbed tell of
the server; all of them are told as well, and the floor's, which took turns.
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
MAX_TAIL_RATIO = 5.0  # times p50 that p99 may be
MS_PER_SECOND = 1000
MIN_PAUSE_MS = 1.0  # millisecond of a pause
ROUND_SECONDS = 1  # second
MAX_SLOW_SHARE = 0.01  # of the witness' looks that may be slow: p99 is about as many requests


class Round(msgspec.Struct, frozen=True):
    """What one round saw. Latencies are in microseconds; `slow` is the share of the time the machine was, roughly."""

    rate: float
    p50: int
    p99: int
    slow: float

    @property
    def tail(self) -> float:
        return self.p99 / self.p50


class Latency(msgspec.Struct, frozen=True):
    """The rounds of ours and of the floor, which took turns."""

    work: str
    full_rate: float
    ours: list[Round]
    floor: list[Round]

    @property
    def load(self) -> float:
        """How busy the server was, of what it can do."""
        return statistics.median(each.rate for each in self.ours) / self.full_rate

    @property
    def quiet(self) -> list[Round]:
        return quiet_rounds(self.ours)

    @property
    def tail(self) -> float:
        """p99 by p50, the median of the undisturbed rounds; of all, if there is none."""
        return median_tail(self.quiet or self.ours)


def quiet_rounds(rounds: Sequence[Round]) -> list[Round]:
    return [each for each in rounds if each.slow <= MAX_SLOW_SHARE]


def median_tail(rounds: Sequence[Round]) -> float:
    return statistics.median(each.tail for each in rounds)


class _HalfLoad:
    """One contender at half of what it can do."""

    def __init__(self, work: Work, contender: Contender, full_rate: float, core: int) -> None:
        self._work = replace(work, connections=CONNECTIONS)
        self._contender = contender
        self._core = core
        self._position = 0
        between = CONNECTIONS * MS_PER_SECOND / (full_rate * LOAD_SHARE)  # from one request of a connection to its next
        tried = self._run_load(WARM_UP_SECONDS, between)
        answering = max(0.0, CONNECTIONS * MS_PER_SECOND / tried.rate - between)
        self._pause = max(MIN_PAUSE_MS, between - answering)

    def round(self) -> Round:
        with _watch_core(self._core) as told:
            sample = self._run_load(ROUND_SECONDS, self._pause)
        return Round(rate=sample.rate, p50=sample.p50, p99=sample.p99, slow=told[0])

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
    """Somebody who looks, while the block lasts, how fast a core is. Those of a machine slow down together."""
    told: list[float] = []
    command = [sys.executable, "-m", "benchmarks.witness", str(core), str(ROUND_SECONDS)]
    with subprocess.Popen(command, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True) as looking:
        yield told
        told.append(float(looking.communicate()[0]))
