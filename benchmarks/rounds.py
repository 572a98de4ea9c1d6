"""Interleaved rounds, so that disturbances of the machine affect all contenders."""

from collections.abc import Callable, Mapping

import msgspec

from benchmarks.contenders import Contender
from benchmarks.load import Sample, run_load
from benchmarks.single_request import send_request
from benchmarks.work import NO_TARGET, Work

WARM_UP_SECONDS = 1
MAX_UNTARGETED_ROUNDS = 3  # for works without a target


class Outcome(msgspec.Struct, frozen=True):
    """All samples of one work, in the order of the rounds. `peer` is empty for works without a peer."""

    work: str
    connections: int
    ours: list[Sample]
    peer: list[Sample]
    floor: list[Sample]


def compare(
    work: Work, ours: Contender, peer: Contender | None, floor: Contender, *, rounds: int, seconds: int, core: int,
    on_progress: Callable[[str], None],
) -> Outcome:  # fmt: skip
    """Load Fieldgate, the peer and the floor in turn."""
    contenders = {"ours": ours, "floor": floor} if peer is None else {"ours": ours, "peer": peer, "floor": floor}
    if work.target == NO_TARGET:
        rounds = min(rounds, MAX_UNTARGETED_ROUNDS)
    samples = measure(work, contenders, rounds=rounds, seconds=seconds, core=core, on_progress=on_progress)
    return Outcome(work.name, work.connections, samples["ours"], samples.get("peer", []), samples["floor"])


def measure(
    work: Work, contenders: Mapping[str, Contender], *, rounds: int, seconds: int, core: int,
    on_progress: Callable[[str], None],
) -> dict[str, list[Sample]]:  # fmt: skip
    """Load the contenders in turn, for several rounds. Returns the samples by name."""
    reached = dict.fromkeys(contenders, 0)  # position of each on the walk

    def load(name: str, min_seconds: int) -> Sample:
        contender = contenders[name]
        length = max(min_seconds, work.peer_seconds) if name == "peer" else min_seconds
        sample = run_load(work, contender, seconds=length, core=core, start=reached[name])
        reached[name] += sample.requests + work.connections
        # Wait until requests left by the load are done: the contenders share the core.
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
