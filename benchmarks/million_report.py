"""Results of a run with a million events: as a file and as tables."""

import msgspec
from rich import box
from rich.table import Table

from benchmarks.machine import Machine
from benchmarks.targets import Check, checks_table_of

MEGABYTE = 1_000_000


class Instance(msgspec.Struct, frozen=True):
    """A server with this many events, and its costs."""

    events: int
    listed: int  # public, and not merged into another
    load_seconds: float
    database_bytes: int
    first_answer_seconds: float  # from the start of the program
    resident_bytes: int  # of the process that answers, after its first answer


class Cost(msgspec.Struct, frozen=True):
    """Median milliseconds of one page, and their ratios."""

    work: str
    small_first: float
    first: float
    deep: float
    warm: float

    @property
    def first_to_small(self) -> float:
        return self.first / self.small_first

    @property
    def deep_to_first(self) -> float:
        return self.deep / self.first


class SummaryCost(msgspec.Struct, frozen=True):
    """Median milliseconds of a summary of few and of many events."""

    work: str
    small: float
    large: float


class Stretch(msgspec.Struct, frozen=True):
    """Consecutive long pages and their total time."""

    pages: int
    seconds: float


class Walk(msgspec.Struct, frozen=True):
    """All events in long pages. The stretches show whether later pages take longer."""

    events: int
    seconds: float
    stretches: list[Stretch]


class Report(msgspec.Struct, frozen=True):
    machine: Machine
    small: Instance
    large: Instance
    small_resident_warm: int  # bytes, with a full response cache
    large_resident_warm: int
    costs: list[Cost]
    summaries: list[SummaryCost]
    walk: Walk
    resident_after_walk: int
    checks: list[Check]


def tables_of(report: Report) -> list[Table]:
    """The instances, the pages, the walk and the targets."""
    targets = checks_table_of(f"Targets with {report.large.events:,} events", report.checks)
    return [_instances(report), _costs(report), _summaries(report), _walk(report), targets]


def _instances(report: Report) -> Table:
    table = _table("Two instances on one core", "", f"{report.small.events:,}", f"{report.large.events:,}")
    both = (report.small, report.large)
    table.add_row("events in public lists", *(f"{each.listed:,}" for each in both))
    table.add_row("made and loaded in", *(f"{each.load_seconds:.1f} s" for each in both))
    table.add_row("database", *(_megabytes(each.database_bytes) for each in both))
    table.add_row("start to first answer", *(f"{each.first_answer_seconds:.2f} s" for each in both))
    table.add_row("memory after the first answer", *(_megabytes(each.resident_bytes) for each in both))
    warm = (report.small_resident_warm, report.large_resident_warm)
    table.add_row("memory after the pages below", *map(_megabytes, warm))
    table.add_row("memory after the walk", "", _megabytes(report.resident_after_walk))
    machine = report.machine
    table.caption = f"{machine.cpu}, {machine.cores} cores, {machine.system}, Python {machine.python}"
    return table


def _costs(report: Report) -> Table:
    table = _table(
        f"Milliseconds of a page of 50 of {report.small.events:,} and of {report.large.events:,} events: medians",
        "",
        "few,\nfirst",
        "many,\nfirst",
        "many,\ndeep",
        "many\nto few",
        "deep\nto first",
        "many,\nwarm",
    )
    for each in report.costs:
        figures = (each.small_first, each.first, each.deep, each.first_to_small, each.deep_to_first, each.warm)
        table.add_row(each.work, *(f"{figure:.2f}" for figure in figures))
    return table


def _summaries(report: Report) -> Table:
    sizes = (f"{report.small.events:,}", f"{report.large.events:,}")
    table = _table("Milliseconds of a summary, cold: medians", "", *sizes)
    for each in report.summaries:
        table.add_row(each.work, f"{each.small:.1f}", f"{each.large:.1f}")
    return table


def _walk(report: Report) -> Table:
    walk = report.walk
    table = _table(f"All events by pages of 1000: {walk.seconds:.1f} s", "pages", "seconds", "ms a page")
    before = 0
    for each in walk.stretches:
        pages = f"{before + 1} to {before + each.pages}"
        table.add_row(pages, f"{each.seconds:.2f}", f"{each.seconds / each.pages * 1000:.1f}")
        before += each.pages
    return table


def _table(title: str, *headings: str) -> Table:
    table = Table(title=title, box=box.HORIZONTALS, pad_edge=False)
    table.add_column(headings[0], no_wrap=True)
    for heading in headings[1:]:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _megabytes(count: int) -> str:
    return f"{count / MEGABYTE:,.0f} MB"
