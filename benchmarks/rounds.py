"""Interleaved rounds: whatever disturbs the machine for a while disturbs all contenders alike."""

from collections.abc import Callable

import msgspec

from benchmarks.contenders import Contender
from benchmarks.load import Sample, put_load
from benchmarks.work import Work

WARM_UP = 1  # seconds, not counted


class Outcome(msgspec.Struct, frozen=True):
    """All samples of one work, in the order of the rounds."""

    work: str
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
    for contender in contenders:
        tell(f"{work.name}: warming up {contender.name}")
        put_load(work, contender, seconds=WARM_UP, core=core)
    samples: tuple[list[Sample], list[Sample], list[Sample]] = ([], [], [])
    for number in range(1, rounds + 1):
        for contender, taken in zip(contenders, samples, strict=True):
            tell(f"{work.name}: round {number} of {rounds}, {contender.name}")
            taken.append(put_load(work, contender, seconds=seconds, core=core))
    return Outcome(work.name, *samples)
