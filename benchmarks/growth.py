"""Start, memory and pages with growing numbers of events, and a plot of them."""

import shutil
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from matplotlib.figure import Figure as Plot

from benchmarks.measure import Load
from benchmarks.requests import EVENTS, Request, get_json
from benchmarks.rows import PAGE_SIZE, pages
from benchmarks.servers import PROGRAM, Server, output_of, resident_megabytes, run_fieldgate

FIRST, DEEP, WARM = KINDS = "first pages", "last pages", "one page, warm"
WALK = 2000  # different pages, more than are cached


@dataclass
class Growth:
    """What was measured with one number of events: seconds, megabytes, and milliseconds by kind of page."""

    starts: list[float] = field(default_factory=list)
    memory: float = 0
    pages: dict[str, list[float]] = field(default_factory=lambda: {kind: [] for kind in KINDS})


def measure_growth(
    counts: Sequence[int], data: Path, cores: tuple[int, int], rounds: int, seconds: int
) -> dict[int, Growth]:
    """Measure Fieldgate with each number of events. The events of a folder are used if they are there."""
    growth = {count: Growth() for count in counts}
    for count in counts:
        _create_events(data / str(count), count)
    for _ in range(rounds):
        for count, measured in growth.items():
            started_at = time.perf_counter()
            with run_fieldgate("ours", PROGRAM, data / str(count), cores[0], {}):
                measured.starts.append(time.perf_counter() - started_at)
    with ExitStack() as stack:
        servers, loads = {}, {}
        for count, measured in growth.items():
            server = stack.enter_context(
                run_fieldgate(str(count), PROGRAM, data / str(count), cores[0], {})
            )
            for path in pages(f"{EVENTS}?", get_json(server, EVENTS)["count"])[:WALK]:
                get_json(server, path)
            measured.memory = resident_megabytes(server.pid)
            servers[count] = server
            loads[count] = {kind: Load(_request(kind, server), seconds, cores[1]) for kind in KINDS}
        for _ in range(rounds):
            for count, server in servers.items():
                for kind, load in loads[count].items():
                    growth[count].pages[kind].append(load(server).median / 1000)
    return growth


def draw(growth: dict[int, Growth], file: Path) -> None:
    """Draw the medians. Both axes are logarithmic, so that constant costs are flat."""
    plot = Plot(figsize=(8, 6), layout="constrained")
    axes = plot.subplots()
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="events",
        ylabel="milliseconds",
        title="Cost by the number of events",
    )
    starts = [median(each.starts) * 1000 for each in growth.values()]
    axes.plot(list(growth), starts, marker="o", label="start to first page")
    for kind in KINDS:
        axes.plot(
            list(growth),
            [median(each.pages[kind]) for each in growth.values()],
            marker="o",
            label=kind,
        )
    axes.grid(visible=True, alpha=0.3)
    axes.legend()
    plot.savefig(file)


def _create_events(folder: Path, count: int) -> None:
    if not folder.exists():
        unfinished = folder.with_suffix(".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        output_of([PROGRAM, "events", "demo", count, "--data", unfinished])
        unfinished.rename(folder)


def _request(kind: str, server: Server) -> Request:
    """A request with one connection, whose latency is the cost of a page."""
    if kind == WARM:
        return Request(path=EVENTS, connections=1)
    last = get_json(server, EVENTS)["count"] - PAGE_SIZE
    start = max(0, last - WALK) if kind == DEEP else 0
    lines = [
        f"{EVENTS}?limit={PAGE_SIZE}&offset={offset}"
        for offset in range(start, min(start + WALK, last))
    ]
    return Request(lines=lines, connections=1)
