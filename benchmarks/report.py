"""The figures for people, as a table, and for programs, as a file."""

import statistics
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

import msgspec
from rich import box
from rich.table import Table

from benchmarks.exports import Export
from benchmarks.load import Sample
from benchmarks.machine import Machine
from benchmarks.rounds import Outcome


class Spread(msgspec.Struct, frozen=True):
    """The middle of some figures, and how far they lie apart."""

    median: float
    lowest: float
    highest: float

    @classmethod
    def of(cls, figures: Iterable[float]) -> Self:
        ordered = sorted(figures)
        return cls(statistics.median(ordered), ordered[0], ordered[-1])


class Summary(msgspec.Struct, frozen=True):
    """One line of the table.

    The two ratios are taken within each round, between neighbours in time, and only then summed up: a slow minute
    of the machine then slows both sides of a ratio.
    """

    work: str
    ours: Spread
    peer: Spread
    floor: Spread
    times_the_peer: Spread
    share_of_floor: Spread

    @classmethod
    def of(cls, outcome: Outcome) -> Self:
        return cls(
            work=outcome.work,
            ours=_rates(outcome.ours),
            peer=_rates(outcome.peer),
            floor=_rates(outcome.floor),
            times_the_peer=_ratios(outcome.ours, outcome.peer),
            share_of_floor=_ratios(outcome.ours, outcome.floor),
        )


class Report(msgspec.Struct, frozen=True):
    """Everything worth keeping of one run."""

    taken_at: datetime
    machine: Machine
    peer_server: str
    events: int
    summaries: list[Summary]
    outcomes: list[Outcome]
    exports: list[Export]


def report_of(
    outcomes: list[Outcome], exports: list[Export], machine: Machine, *, peer_server: str, events: int
) -> Report:
    return Report(
        taken_at=datetime.now(UTC),
        machine=machine,
        peer_server=peer_server,
        events=events,
        summaries=[Summary.of(outcome) for outcome in outcomes],
        outcomes=outcomes,
        exports=exports,
    )


def write(report: msgspec.Struct, file: Path) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n")


def table_of(report: Report) -> Table:
    """Medians, with the lowest and the highest round beneath."""
    machine = report.machine
    table = Table(
        title="Requests per second on one core: median, and lowest to highest round",
        caption=f"{machine.cpu}, {machine.cores} cores, {machine.system}, Python {machine.python}",
        box=box.HORIZONTALS,
        show_lines=True,
        pad_edge=False,
    )
    table.add_column("work", min_width=12, overflow="fold")
    for heading in ("ours", f"peer\n({report.peer_server})", "floor", "times\nthe peer", "share of\nthe floor"):
        table.add_column(heading, justify="right", no_wrap=True)
    for each in report.summaries:
        table.add_row(
            each.work,
            _cell(each.ours, _rate),
            _cell(each.peer, _rate),
            _cell(each.floor, _rate),
            _cell(each.times_the_peer, "{:.1f}".format),
            _cell(each.share_of_floor, "{:.0%}".format),
        )
    return table


def exports_table_of(report: Report) -> Table:
    """How fast all events come as one file, at the median and in the slowest and the fastest download."""
    table = Table(title="All public events as one file, ours", box=box.HORIZONTALS, show_lines=True, pad_edge=False)
    table.add_column("file")
    for heading in ("MB", "seconds", "MB/s", "events/s"):
        table.add_column(heading, justify="right", no_wrap=True)
    for each in report.exports:
        table.add_row(
            each.format,
            f"{each.megabytes:.1f}",
            _cell(Spread.of(each.seconds), "{:.2f}".format),
            _cell(Spread.of(each.megabytes / seconds for seconds in each.seconds), "{:.1f}".format),
            _cell(Spread.of(each.events / seconds for seconds in each.seconds), "{:.0f}".format),
        )
    return table


def _cell(spread: Spread, form: Callable[[float], str]) -> str:
    median, lowest, highest = (form(figure) for figure in (spread.median, spread.lowest, spread.highest))
    return f"[bold]{median}[/]\n[dim]{lowest}..{highest}[/]"


def _rate(figure: float) -> str:
    return f"{figure:.0f}" if figure >= 100 else f"{figure:.1f}"


def _rates(samples: Sequence[Sample]) -> Spread:
    return Spread.of(sample.rate for sample in samples)


def _ratios(samples: Sequence[Sample], others: Sequence[Sample]) -> Spread:
    return Spread.of(sample.rate / other.rate for sample, other in zip(samples, others, strict=True))
