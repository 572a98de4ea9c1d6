"""Interleaved rounds: whatever disturbs the machine for a while disturbs all contenders alike."""

from collections.abc import Callable, Mapping

import msgspec

from benchmarks.contenders import Contender
from benchmarks.exchange import send_request
from benchmarks.load import Sample, run_load
from benchmarks.work import NO_TARGET, Work

WARM_UP_SECONDS = 1  # seconds, not counted
MAX_UNTARGETED_ROUNDS = 3  # rounds of what no target is set for


class Outcome(msgspec.Struct, frozen=True):
    """All samples of one work, in the order of the rounds. What has no peer has no samples of one."""

    work: str
    connections: int
    ours: list[Sample]
    peer: list[Sample]
    floor: list[Sample]


def compare(
    work: Work, ours: Contender, peer: Contender | None, floor: Contender, *, rounds: int, seconds: int, core: int,
    on_progress: Callable[[str], None],
) -> Outcome:  # fmt: skip
    """Load us, the peer and the floor in turn."""
    contenders = {"ours": ours, "floor": floor} if peer is None else {"ours": ours, "peer": peer, "floor": floor}
    if work.target == NO_TARGET:
        rounds = min(rounds, MAX_UNTARGETED_ROUNDS)
    samples = measure(work, contenders, rounds=rounds, seconds=seconds, core=core, on_progress=on_progress)
    return Outcome(work.name, work.connections, samples["ours"], samples.get("peer", []), samples["floor"])


def measure(
    work: Work, contenders: Mapping[str, Contender], *, rounds: int, seconds: int, core: int,
    on_progress: Callable[[str], None],
) -> dict[str, list[Sample]]:  # fmt: skip
    """Load the contenders in turn, one at a time, again and again; what each did, by its name here."""
    reached = dict.fromkeys(contenders, 0)  # how far each has come on the work's walk

    def load(name: str, least: int) -> Sample:
        contender = contenders[name]
        length = max(least, work.peer_seconds) if name == "peer" else least
        sample = run_load(work, contender, seconds=length, core=core, start=reached[name])
        reached[name] += sample.requests + work.connections
        # What the load left unanswered is done before another contender has its turn: they share the core.
        send_request(work, contender)
        return sample

    for name in contenders:
        on_progress(f"{work.name}: warming up {name}")
        load(name, WARM_UP_SECONDS)
    samples: dict[str, list[Sample]] = {name: [] for name in contenders}
    for number in range(1, rounds + 1):
        for name, taken in samples.items():
            on_progress(f"{work.name}: round {number} of {rounds}, {name}")
            taken.append(load(name, seconds))
    return samples
