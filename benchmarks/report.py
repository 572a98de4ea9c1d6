"""Results of a run: as tables and as a file."""

import statistics
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

import msgspec
from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks.databases import COLD_SHARE, WARM_SHARE, Comparison
from benchmarks.exports import Export
from benchmarks.latency import MAX_TAIL_RATIO, Latency, quiet_rounds
from benchmarks.machine import Machine
from benchmarks.rounds import Outcome
from benchmarks.spread import Spread, format_cell, per_second, rates, ratios
from benchmarks.start import StartResults
from benchmarks.targets import AT_LEAST, AT_MOST, Check, format_met
from benchmarks.work import NO_TARGET, SUMMARY_WORK, Target

MEGABYTE = 1_000_000
MIN_WIDTH = 100  # columns
START_SECONDS, START_MEGABYTES = 2, 120  # with 10,000 events
MAX_SUMMARY_MILLISECONDS = 20  # with 10,000 events

# Requests per second of the live systems, measured on one core of another machine: for scale only.
LIVE_RATES = {
    "50 events, warm": ("the live page, elsewhere", 4.5, 1000),
    "50 events, cold": ("the live page, elsewhere", 4.5, 400),
    "permission list": ("the live catalogue, elsewhere", 117, 50),
}


class Summary(msgspec.Struct, frozen=True):
    """One row of the table: rates, targets, and whether the medians reach them."""

    work: str
    ours: Spread
    peer: Spread | None
    floor: Spread
    times_the_peer: Spread | None
    share_of_floor: Spread
    target: Target
    reaches_peer_target: bool | None
    reaches_floor_target: bool | None

    @classmethod
    def of(cls, outcome: Outcome, target: Target) -> Self:
        times = ratios(outcome.ours, outcome.peer) if outcome.peer else None
        share = ratios(outcome.ours, outcome.floor)
        return cls(
            work=outcome.work,
            ours=rates(outcome.ours),
            peer=rates(outcome.peer) if outcome.peer else None,
            floor=rates(outcome.floor),
            times_the_peer=times,
            share_of_floor=share,
            target=target,
            reaches_peer_target=_reaches(times, target.times_the_peer),
            reaches_floor_target=_reaches(share, target.share_of_floor),
        )


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """All results of one run."""

    taken_at: datetime = msgspec.field(default_factory=lambda: datetime.now(UTC))
    machine: Machine
    peer_server: str
    events: int
    rounds: int
    seconds: int
    summaries: list[Summary]
    outcomes: list[Outcome]
    exports: list[Export]
    latencies: list[Latency]
    starts: StartResults | None
    databases: list[Comparison]
    checks: list[Check]
    left_out: list[str]  # works this Fieldgate does not support


def summaries_of(outcomes: list[Outcome], targets: Mapping[str, Target]) -> list[Summary]:
    return [Summary.of(outcome, targets.get(outcome.work, NO_TARGET)) for outcome in outcomes]


def checks_of(
    summaries: list[Summary], latencies: list[Latency], starts: StartResults | None, databases: list[Comparison]
) -> list[Check]:
    """Targets other than the rates of works."""
    checks = []
    if starts is not None:
        name = f"{starts.events:,} events"
        seconds = statistics.median(starts.first_answer_seconds)
        checks.append(Check.of(f"start to first answer, {name}", seconds, AT_MOST, START_SECONDS, "s"))
        megabytes = starts.resident_after_walk / MEGABYTE
        checks.append(Check.of(f"memory after a walk, {name}", megabytes, AT_MOST, START_MEGABYTES, "MB"))
    for latency in latencies:
        rounds = f"{len(latency.quiet)} of {len(latency.ours)} rounds" if latency.quiet else "no quiet round"
        what = f"{latency.work}: p99 by p50 at {latency.load:.0%} load, {rounds}"
        checks.append(Check.of(what, latency.tail, AT_MOST, MAX_TAIL_RATIO, "times"))
    for each in databases:
        share = WARM_SHARE if each.is_warm else COLD_SHARE
        checks.append(Check.of(f"{each.work}: PostgreSQL by SQLite", each.share.median, AT_LEAST, share))
    for summary in summaries:
        if summary.work == SUMMARY_WORK:
            milliseconds = 1000 / summary.ours.median
            checks.append(Check.of(summary.work, milliseconds, AT_MOST, MAX_SUMMARY_MILLISECONDS, "ms"))
        if summary.work in LIVE_RATES:
            what, live, times = LIVE_RATES[summary.work]
            checks.append(Check.of(f"{summary.work}: by {what}", summary.ours.median / live, AT_LEAST, times, "times"))
    return checks


def write(report: msgspec.Struct, file: Path) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n")


def table_of(report: Report) -> Table:
    """Medians, ranges and targets of all works."""
    table = Table(
        title="Requests per second on one core: median, and lowest to highest round",
        caption=describe_machine(report.machine),
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
            format_cell(each.ours, per_second),
            format_cell(each.peer, per_second),
            format_cell(each.floor, per_second),
            format_cell(each.times_the_peer, "{:.1f}".format)
            + _target_line(each.target.times_the_peer, "{:g}".format, each.reaches_peer_target),
            format_cell(each.share_of_floor, "{:.0%}".format)
            + _target_line(each.target.share_of_floor, "{:.0%}".format, each.reaches_floor_target),
        )
    return table


def latencies_table_of(report: Report) -> Table:
    """Latencies at half load. In quiet rounds the machine itself was not disturbed."""
    table = Table(title="At half load: microseconds", box=box.HORIZONTALS, show_lines=True, pad_edge=False)
    table.add_column("work", overflow="fold")
    table.add_column("", no_wrap=True)
    for heading in (
        "requests\na second",
        "p50",
        "p99",
        "p99 by p50,\nall rounds",
        "p99 by p50,\nquiet rounds",
        "quiet",
    ):
        table.add_column(heading, justify="right", no_wrap=True)
    for each in report.latencies:
        for name, rounds in (("ours", each.ours), ("floor", each.floor)):
            undisturbed = quiet_rounds(rounds)
            table.add_row(
                each.work if name == "ours" else "",
                name,
                format_cell(Spread.of(one.rate for one in rounds), per_second),
                format_cell(Spread.of(one.p50 for one in rounds), "{:.0f}".format),
                format_cell(Spread.of(one.p99 for one in rounds), "{:.0f}".format),
                format_cell(Spread.of(one.tail for one in rounds), "{:.1f}".format),
                format_cell(Spread.of(one.tail for one in undisturbed) if undisturbed else None, "{:.1f}".format),
                f"{len(undisturbed)} of {len(rounds)}",
            )
    return table


def databases_table_of(report: Report) -> Table:
    table = Table(title="Requests per second, ours", box=box.HORIZONTALS, show_lines=True, pad_edge=False)
    table.add_column("work", overflow="fold")
    for heading in ("on SQLite", "on PostgreSQL", "share"):
        table.add_column(heading, justify="right", no_wrap=True)
    for each in report.databases:
        both = (format_cell(rates(samples), per_second) for samples in (each.sqlite, each.postgresql))
        table.add_row(each.work, *both, format_cell(each.share, "{:.0%}".format))
    return table


def exports_table_of(report: Report) -> Table:
    """Export speed: median and range of the downloads."""
    table = Table(title="All public events as one file, ours", box=box.HORIZONTALS, show_lines=True, pad_edge=False)
    table.add_column("file")
    for heading in ("MB", "seconds", "MB/s", "events/s"):
        table.add_column(heading, justify="right", no_wrap=True)
    for each in report.exports:
        table.add_row(
            each.format,
            f"{each.megabytes:.1f}",
            format_cell(Spread.of(each.seconds), "{:.2f}".format),
            format_cell(Spread.of(each.megabytes / seconds for seconds in each.seconds), "{:.1f}".format),
            format_cell(Spread.of(each.events / seconds for seconds in each.seconds), "{:.0f}".format),
        )
    return table


def wide_console() -> Console:
    """A console wide enough for the tables."""
    console = Console()
    return console if console.width >= MIN_WIDTH else Console(width=MIN_WIDTH)


def describe_machine(machine: Machine) -> str:
    """One line about the machine."""
    return f"{machine.cpu}, {machine.cores} cores, {machine.system}, data on {machine.disk}, Python {machine.python}"


def _reaches(found: Spread | None, target: float | None) -> bool | None:
    return None if found is None or target is None else found.median >= target


def _target_line(figure: float | None, form: Callable[[float], str], is_met: bool | None) -> str:
    """One more line of a cell: the target and whether it is met."""
    return "" if figure is None else f"\ntarget {form(figure)}: {format_met(is_met)}"
