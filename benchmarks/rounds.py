"""Interleaved rounds: whatever disturbs the machine for a while disturbs all contenders alike."""

from collections.abc import Callable

import msgspec

from benchmarks.contenders import Contender
from benchmarks.exchange import ask
from benchmarks.load import Sample, put_load
from benchmarks.work import Work

WARM_UP = 1  # seconds, not counted


class Outcome(msgspec.Struct, frozen=True):
    """All samples of one work, in the order of the rounds."""

    work: str
    connections: int
    seconds: int
    ours: list[Sample]
    peer: list[Sample]
    floor: list[Sample]


def measure(
    work: Work,
    contenders: tuple[Contender, Contender, Contender],
    *,
    rounds: int,
    seconds: int,
    core: int,
    tell: Callable[[str], None],
) -> Outcome:
    """Load us, the peer and the floor in turn, one at a time, again and again."""
    for_one = max(seconds, work.least_seconds)
    reached = dict.fromkeys(contenders, 0)  # how far each has come on the work's walk

    def load(contender: Contender, length: int) -> Sample:
        sample = put_load(work, contender, seconds=length, core=core, start=reached[contender])
        reached[contender] += sample.requests + work.connections
        # What the load left unanswered is done before another contender has its turn: they share the core.
        ask(work, contender.port, contender.token)
        return sample

    for contender in contenders:
        tell(f"{work.name}: warming up {contender.name}")
        load(contender, WARM_UP)
    samples: tuple[list[Sample], list[Sample], list[Sample]] = ([], [], [])
    for number in range(1, rounds + 1):
        for contender, taken in zip(contenders, samples, strict=True):
            tell(f"{work.name}: round {number} of {rounds}, {contender.name}")
            taken.append(load(contender, for_one))
    return Outcome(work.name, work.connections, for_one, *samples)
