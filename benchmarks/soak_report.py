"""What a soak test found: percentiles by round, targets, tables, plots, and a section of docs/reliability.md."""

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from rich import box
from rich.table import Table

from benchmarks.charts import draw_timeline
from benchmarks.machine import Machine
from benchmarks.processes import CHECKOUT
from benchmarks.report import describe_machine
from benchmarks.soak_callers import CallSample
from benchmarks.targets import AT_LEAST, AT_MOST, Check, checks_table_of

MAX_TAIL_RATIO = 3.0  # p99 with the attacker by p99 without
MIN_GOOD_SHARE = 0.999  # of requests of the well-behaved, with the attacker
MAX_GROWTH_MEGABYTES = 30.0  # from the first third of the rounds without an attacker to the last
MAX_MORE_DESCRIPTORS = 20.0
BUCKET_SECONDS = 2.0  # of the plot
MEGABYTE = 1_000_000
MS_PER_SECOND = 1000
PAGE = CHECKOUT / "docs" / "reliability.md"
IMAGES = CHECKOUT / "docs" / "images"
BEGIN, END = "<!-- soak: begin -->", "<!-- soak: end -->"


class ResourceSample(NamedTuple):
    """Resident memory and open descriptors of the serving process at a time."""

    at: float
    resident: int
    descriptors: int


class SoakRound(msgspec.Struct, frozen=True, kw_only=True):
    """One round, with latencies in milliseconds. `attack` is empty without an attacker."""

    attack: str
    began: float
    ended: float
    seen: dict[str, int] = {}  # what the attacker was answered
    requests: int = 0
    statuses: dict[str, int] = {}
    percentiles: dict[str, float] = {}  # "p50", "p90", "p99", "max"
    p99_by_kind: dict[str, float] = {}
    calls: list[tuple[float, float, float]] = []  # time, p50 and p99 of each bucket, for the plot


class SoakReport(msgspec.Struct, frozen=True, kw_only=True):
    taken_at: datetime = msgspec.field(default_factory=lambda: datetime.now(UTC))
    machine: Machine
    capacity: float
    rate: float
    kinds: list[str]
    rounds: list[SoakRound]
    resources: list[ResourceSample]
    checks: list[Check]


def percentile(ordered: Sequence[float], share: float) -> float:
    """The value that this share of the values does not exceed."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else 0.0


def round_of(planned: SoakRound, calls: Iterable[CallSample]) -> SoakRound:
    """A round with the figures of the requests that were scheduled in it."""
    inside = [call for call in calls if planned.began <= call.at < planned.ended]
    by_kind: dict[str, list[float]] = {}
    for call in inside:
        by_kind.setdefault(call.kind, []).append(call.seconds * MS_PER_SECOND)
    every = sorted(call.seconds * MS_PER_SECOND for call in inside)
    return msgspec.structs.replace(
        planned,
        requests=len(inside),
        statuses=dict(sorted(Counter(str(call.status or "none") for call in inside).items())),
        percentiles={
            "p50": percentile(every, 0.5), "p90": percentile(every, 0.9), "p99": percentile(every, 0.99),
            "max": percentile(every, 1),
        },
        p99_by_kind={kind: percentile(sorted(found), 0.99) for kind, found in by_kind.items()},
        calls=_buckets(inside, planned.began),
    )  # fmt: skip


def _buckets(calls: Iterable[CallSample], began: float) -> list[tuple[float, float, float]]:
    buckets: dict[int, list[float]] = {}
    for call in calls:
        buckets.setdefault(int((call.at - began) // BUCKET_SECONDS), []).append(call.seconds * MS_PER_SECOND)
    return [
        (began + number * BUCKET_SECONDS, percentile(sorted(found), 0.5), percentile(sorted(found), 0.99))
        for number, found in sorted(buckets.items())
    ]


def median_p99(rounds: Iterable[SoakRound]) -> float:
    figures = [each.percentiles["p99"] for each in rounds if each.requests]
    return statistics.median(figures) if figures else 0.0


def good_share(rounds: Iterable[SoakRound]) -> float:
    statuses: Counter[str] = Counter()
    for each in rounds:
        statuses.update(each.statuses)
    return sum(number for status, number in statuses.items() if status.startswith("2")) / max(1, statuses.total())


def checks_of(rounds: Sequence[SoakRound], resources: Sequence[ResourceSample]) -> list[Check]:
    quiet = [each for each in rounds if not each.attack]
    attacked = [each for each in rounds if each.attack]
    ratio = median_p99(attacked) / (median_p99(quiet) or math.inf)
    memory, descriptors = growth(quiet, resources)
    return [
        Check.of("p99 with the attacker by p99 without", ratio, AT_MOST, MAX_TAIL_RATIO, "times"),
        Check.of("requests answered with 2xx, with the attacker", good_share(attacked), AT_LEAST, MIN_GOOD_SHARE),
        Check.of("growth of memory", memory, AT_MOST, MAX_GROWTH_MEGABYTES, "MB"),
        Check.of("growth of open descriptors", descriptors, AT_MOST, MAX_MORE_DESCRIPTORS),
    ]


def growth(quiet: Sequence[SoakRound], resources: Sequence[ResourceSample]) -> tuple[float, float]:
    """Megabytes and descriptors from the first to the last third of the rounds without an attacker."""
    third = max(1, len(quiet) // 3)
    medians = []
    for part in (quiet[:third], quiet[-third:]):
        inside = [each for each in resources for one in part if one.began <= each.at <= one.ended]
        if not inside:
            return 0.0, 0.0
        resident = statistics.median(each.resident for each in inside) / MEGABYTE
        medians.append((resident, statistics.median(each.descriptors for each in inside)))
    return medians[1][0] - medians[0][0], medians[1][1] - medians[0][1]


def rows_of(report: SoakReport) -> list[tuple[str, ...]]:
    """A row for the rounds without an attacker, and one for each attack."""
    groups: dict[str, list[SoakRound]] = {}
    for each in report.rounds:
        groups.setdefault(each.attack, []).append(each)
    rows = []
    for attack, rounds in groups.items():
        found = [statistics.median(each.percentiles[name] for each in rounds) for name in ("p50", "p90", "p99")]
        inside = [sample for sample in report.resources if any(one.began <= sample.at <= one.ended for one in rounds)]
        peak = max((sample.resident for sample in inside), default=0) / MEGABYTE
        descriptors = max((sample.descriptors for sample in inside), default=0)
        statuses = _sum(each.statuses for each in rounds)
        failed = sum(number for status, number in statuses.items() if not status.startswith("2"))
        seen = _sum(each.seen for each in rounds)
        rows.append(
            (attack or "no attacker", str(len(rounds)), f"{sum(each.requests for each in rounds):,}", str(failed),
             *(f"{figure:.1f}" for figure in found), f"{peak:.0f}", f"{descriptors:,}",
             ", ".join(f"{status}: {number:,}" for status, number in sorted(seen.items())))
        )  # fmt: skip
    return rows


HEADINGS = (
    "attack", "rounds", "requests", "not 2xx", "p50 ms", "p90 ms", "p99 ms", "most memory, MB", "most descriptors",
    "the attacker got",
)  # fmt: skip


def _sum(counts: Iterable[Mapping[str, int]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return total


def tables_of(report: SoakReport) -> list[Table]:
    title = f"Well-behaved callers at {report.rate:.0f} of {report.capacity:.0f} requests per second: medians of rounds"
    table = Table(*HEADINGS, title=title, caption=describe_machine(report.machine), box=box.HORIZONTALS)
    for row in rows_of(report):
        table.add_row(*row)
    return [table, checks_table_of("Targets", report.checks)]


def draw(report: SoakReport, folder: Path) -> None:
    """Plots of latencies, memory and descriptors over time."""
    start = report.rounds[0].began
    lines: dict[str, list[tuple[float, float]]] = {}
    for each in report.rounds:
        who = "with the attacker" if each.attack else "without"
        for at, p50, p99 in each.calls:
            lines.setdefault(f"p50 {who}", []).append((at - start, p50))
            lines.setdefault(f"p99 {who}", []).append((at - start, p99))
    draw_timeline("Latency of the well-behaved callers", "milliseconds", lines, folder / "soak-latency.svg", dots=True)
    resources = [each for each in report.resources if each.at >= start]
    memory: dict[str, list[tuple[float, float]]] = {
        "resident memory, MB": [(each.at - start, each.resident / MEGABYTE) for each in resources],
        "open descriptors": [(each.at - start, float(each.descriptors)) for each in resources],
    }
    draw_timeline("Memory and descriptors of the server", "MB or number", memory, folder / "soak-resources.svg")


def write_docs(report: SoakReport) -> None:
    """Replace the section of the page, and its plots."""
    draw(report, IMAGES)
    PAGE.write_text(with_section(PAGE.read_text(), report))


def with_section(page: str, report: SoakReport) -> str:
    lines: list[Any] = [HEADINGS, ["---"] * len(HEADINGS), *rows_of(report)]
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    checks = "\n".join(
        f"- {each.what}: {each.found:.3g} {each.unit}".rstrip()
        + f" (target: {each.side} {each.limit:g}) {'met' if each.is_met else 'missed'}"
        for each in report.checks
    )
    intro = (
        f"Measured on {report.taken_at:%Y-%m-%d}, {describe_machine(report.machine)}:\n{report.rate:.0f} requests per "
        f"second, {report.rate / report.capacity:.0%} of the capacity of the server together with the callers."
    )
    text = f"{intro}\n\n{table}\n\n{checks}\n"
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n{text}{END}{rest.partition(END)[2]}"
