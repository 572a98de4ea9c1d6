"""How long answers take while the server is half busy: ours, and beside them the floor's.

wrk sends as fast as it is answered, so half the load is made of pauses: 64 connections that wait before every request,
each time for another while, as long at the mean as gives half of the rate measured under full load; a second of trying
tells how much of that time the answers take. The rate that came of it is told beside the latencies.

On a virtual machine the host takes the processor away for milliseconds at a time, and whoever asks meanwhile waits: at
a few thousand requests a second that is soon one in a hundred. The kernel counts the time that was stolen. So there are
many short rounds, and those in which nothing was stolen tell of the server; the others are told beside them.
"""

import os
import statistics
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from benchmarks.contenders import Contender
from benchmarks.load import Sample, put_load
from benchmarks.rounds import WARM_UP
from benchmarks.work import Work

CONNECTIONS = 64  # wrk pauses for whole milliseconds, so the pauses must be long
HALF = 0.5
MOST = 5.0  # times p50 that p99 may be
MILLISECONDS = 1000
SHORTEST = 1.0  # millisecond of a pause
ROUND = 1  # second

_CLOCK = Path("/proc/stat")
_STOLEN = 8  # the column of /proc/stat


class Round(msgspec.Struct, frozen=True):
    """What one round saw. Latencies are in microseconds; stolen are seconds of all cores together."""

    rate: float
    p50: int
    p99: int
    stolen: float

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
        return quiet(self.ours)

    @property
    def tail(self) -> float:
        """p99 by p50, the median of the rounds in which nothing was stolen; of all, if there is none."""
        return tail(self.quiet or self.ours)


def quiet(rounds: Sequence[Round]) -> list[Round]:
    return [each for each in rounds if not each.stolen]


def tail(rounds: Sequence[Round]) -> float:
    return statistics.median(each.tail for each in rounds)


class _Half:
    """One contender at half of what it can do."""

    def __init__(self, work: Work, contender: Contender, full_rate: float, core: int) -> None:
        self._work = replace(work, connections=CONNECTIONS)
        self._contender = contender
        self._core = core
        self._reached = 0
        between = CONNECTIONS * MILLISECONDS / (full_rate * HALF)  # from one request of a connection to its next
        tried = self._put(WARM_UP, between)
        answering = max(0.0, CONNECTIONS * MILLISECONDS / tried.rate - between)
        self._pause = max(SHORTEST, between - answering)

    def round(self) -> Round:
        before = stolen()
        sample = self._put(ROUND, self._pause)
        return Round(rate=sample.rate, p50=sample.p50, p99=sample.p99, stolen=stolen() - before)

    def _put(self, seconds: int, pause: float) -> Sample:
        sample = put_load(
            self._work, self._contender, seconds=seconds, core=self._core, start=self._reached, pause=pause
        )
        self._reached += sample.requests + CONNECTIONS
        return sample


def at_half_load(
    work: Work, ours: Contender, our_rate: float, floor: Contender, floor_rate: float, *, rounds: int, core: int
) -> Latency:
    us, it = _Half(work, ours, our_rate, core), _Half(work, floor, floor_rate, core)
    taken = [(us.round(), it.round()) for _ in range(rounds)]
    return Latency(work.name, our_rate, [each for each, _ in taken], [each for _, each in taken])


def stolen() -> float:
    """Seconds, since the machine started, for which the host kept our cores from running."""
    first = _CLOCK.read_text().splitlines()[0].split()
    return int(first[_STOLEN]) / os.sysconf("SC_CLK_TCK")
