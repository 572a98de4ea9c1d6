"""How long answers take while the server is half busy.

wrk sends as fast as it is answered, so half the load is made of pauses: 64 connections that wait before every request,
each time for another while, as long at the mean as gives half of the rate measured under full load; a second of trying
tells how much of that time the answers take. The rate that came of it is told beside the latencies.
"""

import statistics
from dataclasses import replace

import msgspec

from benchmarks.contenders import Contender
from benchmarks.load import put_load
from benchmarks.rounds import WARM_UP
from benchmarks.work import Work

CONNECTIONS = 64  # wrk pauses for whole milliseconds, so the pauses must be long
HALF = 0.5
MOST = 5.0  # times p50 that p99 may be
MILLISECONDS = 1000
SHORTEST = 1.0  # millisecond of a pause


class Latency(msgspec.Struct, frozen=True):
    """The latencies of some rounds, in microseconds, in their order."""

    work: str
    full_rate: float
    rates: list[float]
    p50: list[int]
    p99: list[int]

    @property
    def load(self) -> float:
        """How busy the server was, of what it can do."""
        return statistics.median(self.rates) / self.full_rate

    @property
    def tail(self) -> float:
        """p99 by p50, the median of the rounds."""
        return statistics.median(high / middle for high, middle in zip(self.p99, self.p50, strict=True))


def at_half_load(work: Work, ours: Contender, full_rate: float, *, rounds: int, seconds: int, core: int) -> Latency:
    pausing = replace(work, connections=CONNECTIONS)
    between = CONNECTIONS * MILLISECONDS / (full_rate * HALF)  # from one request of a connection to its next
    tried = put_load(pausing, ours, seconds=WARM_UP, core=core, pause=between)
    answering = max(0.0, CONNECTIONS * MILLISECONDS / tried.rate - between)
    reached, samples = tried.requests + CONNECTIONS, []
    for _ in range(rounds):
        sample = put_load(
            pausing, ours, seconds=seconds, core=core, start=reached, pause=max(SHORTEST, between - answering)
        )
        reached += sample.requests + CONNECTIONS
        samples.append(sample)
    return Latency(
        work=work.name,
        full_rate=full_rate,
        rates=[sample.rate for sample in samples],
        p50=[sample.p50 for sample in samples],
        p99=[sample.p99 for sample in samples],
    )
