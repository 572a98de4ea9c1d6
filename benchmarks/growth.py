"""`python -m benchmarks.growth`: how costs grow with events, offsets, filters, assets and form rows, as plots."""

import os
import signal
import statistics
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from random import Random

import click
import msgspec
from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks.charts import draw_growth
from benchmarks.demo_data import DemoData, ensure_demo_events
from benchmarks.forms import form
from benchmarks.growth_plots import MIN_REQUESTS, Line, PathFactory, Plot, measure_interleaved
from benchmarks.imports import ImportClient, fieldgate
from benchmarks.machine import Machine, this_machine
from benchmarks.page_client import PageClient
from benchmarks.processes import exit_on_signal, two_cores
from benchmarks.report import describe_machine, write
from benchmarks.sharing_growth import sharing_plots
from benchmarks.start import StartedServer, start_server
from benchmarks.walks import EVENTS, SUMMARY

RESULTS = Path(__file__).parent / "results"

EVENT_COUNTS = (1000, 10_000, 100_000, 1_000_000, 3_000_000)
LIMITS = (1, 10, 50, 100, 200, 500, 1000)
COUNTRY_COUNTS = (1, 2, 5, 10, 20, 50, 100, 150)
FORM_ROW_COUNTS = (10, 100, 500, 1000, 2000, 5000)
START_REPEATS = 3  # for each number of events
FORM_REPEATS = 3  # for each length
PAGE_SIZE = 50
# Each request of a point starts one event after the last, and each plot elsewhere: only the warm page was requested
# before.
REQUESTS_PER_POINT = 200
LIMIT_OFFSET = 200
OFFSETS = (400, 1000, 3000, 10_000, 30_000, 100_000, 300_000)
END_MARGIN = 300  # the deepest pages start this many events before the last
WARM_UP_SECONDS = 3.0


class Growth(msgspec.Struct, frozen=True):
    machine: Machine
    plots: list[Plot]


class _Record(msgspec.Struct):
    id: int


class _Page(msgspec.Struct):
    count: int
    results: list[_Record]


class _Server(msgspec.Struct, frozen=True):
    """A running server, with its number of listed events and its countries."""

    events: int
    client: PageClient
    listed: int
    countries: list[int]


@click.command()
@click.option(
    "--most", default=1_000_000, show_default=True, type=click.IntRange(10_000), help="Largest number of events."
)
@click.option("--data", type=click.Path(path_type=Path), help="Folder for the events; existing events are used.")
@click.option("--quick", is_flag=True, help="Few requests, to check that everything runs.")
def main(most: int, data: Path | None, quick: bool) -> None:
    """Measure how the costs of pages, lists of assets, imports and starts grow."""
    signal.signal(signal.SIGTERM, exit_on_signal)
    core, own_core = two_cores()
    numbers = [number for number in EVENT_COUNTS if number <= most]
    requests = MIN_REQUESTS if quick else REQUESTS_PER_POINT
    console = Console()
    with ExitStack() as stack:
        status = stack.enter_context(console.status("starting"))
        folder = data or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="benchmarks-")))
        made = {}
        for number in numbers:
            status.update(f"creating {number:,} events")
            made[number] = ensure_demo_events(folder, number)
        status.update("starts")
        plots = [_start_plot(made, core, 1 if quick else START_REPEATS), _loading_plot(made)]
        status.update("imports")
        plots.append(_import_plot(FORM_ROW_COUNTS[:3] if quick else FORM_ROW_COUNTS, 1 if quick else FORM_REPEATS))
        os.sched_setaffinity(0, {own_core})
        status.update("assets and assignments")
        plots += sharing_plots(core, requests, is_quick=quick)
        servers = [
            _describe_server(number, stack.enter_context(start_server(made[number].data, core))) for number in numbers
        ]
        status.update("warming up")
        for server in servers:
            _warm_up(server)
        for draw in (_by_events, _by_offset, _by_limit, _by_countries, _by_summary):
            status.update(f"pages: {draw.__name__.removeprefix('_by_')}")
            plots.append(draw(servers, requests))
    growth = Growth(this_machine(), plots)
    write(growth, RESULTS / "growth.json")
    for plot in plots:
        title = f"{plot.title}\n{describe_machine(growth.machine)}"
        lines = {line.name: line.points for line in plot.lines}
        draw_growth(title, plot.across, plot.up, lines, RESULTS / f"growth-{plot.name}.svg")
        console.print(_table(plot))
    console.print(f"Results are in {RESULTS.relative_to(Path.cwd())}: growth.json and growth-*.svg")


def _describe_server(number: int, server: StartedServer) -> _Server:
    listed = msgspec.json.decode(server.first_body, type=_Page).count
    countries = msgspec.json.decode(server.client.get("/api/v2/country/?limit=1000"), type=_Page).results
    return _Server(number, server.client, listed, [each.id for each in countries])


def _warm_up(server: _Server) -> None:
    """Request pages until the index is built: the server answers before that."""
    deadline = time.monotonic() + WARM_UP_SECONDS
    for number in count():
        if time.monotonic() > deadline:
            return
        server.client.get(_country_filter_path(server, 3, f"settling {number}"))


def _by_events(servers: Sequence[_Server], requests: int) -> Plot:
    """A page of 50 by the number of events."""

    def kinds(server: _Server) -> dict[str, PathFactory]:
        return {
            "first pages, cold": lambda number: f"{EVENTS}?limit={PAGE_SIZE}&offset={number}",
            "last pages, cold": lambda number: f"{EVENTS}?limit={PAGE_SIZE}&offset={_deepest_offset(server) + number}",
            "of 20 countries, always others": lambda number: _country_filter_path(server, 20, f"events {number}"),
            "warm": lambda _: f"{EVENTS}?limit={PAGE_SIZE}",
        }

    lines = []
    for kind in kinds(servers[0]):
        requested = {server.events: (server.client, kinds(server)[kind]) for server in servers}
        lines.append(Line(kind, measure_interleaved(requested, requests)))
    return Plot("events", "A page of 50 events", "events", "milliseconds", lines)


def _by_offset(servers: Sequence[_Server], requests: int) -> Plot:
    server = servers[-1]
    deepest = _deepest_offset(server) - END_MARGIN
    offsets = [*(offset for offset in OFFSETS if offset < deepest - LIMIT_OFFSET), deepest]

    def at(offset: int) -> PathFactory:
        return lambda number: f"{EVENTS}?limit={PAGE_SIZE}&offset={offset + number}"

    requested = {offset: (server.client, at(offset)) for offset in offsets}
    title = f"A cold page of 50 of {server.events:,} events"
    return Plot(
        "offset", title, "offset", "milliseconds", [Line("a page of 50", measure_interleaved(requested, requests))]
    )


def _by_limit(servers: Sequence[_Server], requests: int) -> Plot:
    lines = []
    for server in (servers[0], servers[-1]):

        def of(limit: int) -> PathFactory:
            return lambda number: f"{EVENTS}?limit={limit}&offset={LIMIT_OFFSET + number}"

        requested = {limit: (server.client, of(limit)) for limit in LIMITS if limit < server.listed}
        lines.append(Line(f"of {server.events:,} events", measure_interleaved(requested, requests)))
    return Plot("limit", "A cold page", "limit", "milliseconds", lines)


def _by_countries(servers: Sequence[_Server], requests: int) -> Plot:
    """Different countries in each request, so that no cached set helps."""
    lines = []
    for server in servers:

        def of(some: int, server: _Server = server) -> PathFactory:
            return lambda number: _country_filter_path(server, some, f"{some} {number}")

        requested = {some: (server.client, of(some)) for some in COUNTRY_COUNTS if some <= len(server.countries)}
        lines.append(Line(f"of {server.events:,} events", measure_interleaved(requested, requests)))
    title = "The first 50 events of some countries, always others"
    return Plot("countries", title, "countries in the filter", "milliseconds", lines)


def _by_summary(servers: Sequence[_Server], requests: int) -> Plot:
    """Summaries by the number of events. A parameter that does nothing keeps responses from being cached."""

    def kinds(server: _Server) -> dict[str, PathFactory]:
        def of_countries(number: int) -> str:
            path = _country_filter_path(server, 20, f"summary {number}")
            return path.replace(EVENTS, SUMMARY).partition("&limit=")[0]

        return {
            "all events, cold": lambda number: f"{SUMMARY}?fresh={number}",
            "of 20 countries, always others": of_countries,
            "warm": lambda _: SUMMARY,
        }

    lines = []
    for kind in kinds(servers[0]):
        requested = {server.events: (server.client, kinds(server)[kind]) for server in servers}
        lines.append(Line(kind, measure_interleaved(requested, requests)))
    return Plot("summary", "A summary of events", "events", "milliseconds", lines)


def _start_plot(made: dict[int, DemoData], core: int, times: int) -> Plot:
    taken: dict[int, list[float]] = {number: [] for number in made}
    for _ in range(times):
        for number, each in made.items():
            with start_server(each.data, core) as server:
                taken[number].append(server.first_answer_seconds)
    points = [(float(number), statistics.median(seconds)) for number, seconds in taken.items()]
    line = Line("to the first page", points)
    return Plot("start", "From the start of the program to its first answer", "events", "seconds", [line])


def _loading_plot(made: dict[int, DemoData]) -> Plot:
    line = Line("made and loaded", [(float(number), each.seconds) for number, each in made.items()])
    return Plot("loading", "Loading events", "events", "seconds", [line])


def _import_plot(rows: Sequence[int], times: int) -> Plot:
    """Forms from POST to `complete`, on all cores."""
    taken: dict[int, list[float]] = {number: [] for number in rows}
    with tempfile.TemporaryDirectory(prefix="benchmarks-") as name, fieldgate(Path(name), workers=1) as ours:
        client = ImportClient(ours)
        client.wait(client.send(form(3)))  # loads the libraries of the worker
        books = {number: form(number) for number in rows}
        for _ in range(times):
            for number, book in books.items():
                started_at = time.perf_counter()
                client.wait(client.send(book))
                taken[number].append(time.perf_counter() - started_at)
    line = Line("POST to complete", [(float(number), statistics.median(each)) for number, each in taken.items()])
    return Plot("imports", "Importing a form", "rows of its survey sheet", "seconds", [line])


def _deepest_offset(server: _Server) -> int:
    return server.listed - END_MARGIN


def _country_filter_path(server: _Server, number: int, seed: str) -> str:
    chosen = sorted(Random(seed).sample(server.countries, number))
    return f"{EVENTS}?countries__in={','.join(map(str, chosen))}&limit={PAGE_SIZE}"


def _table(plot: Plot) -> Table:
    table = Table(title=plot.title, caption=plot.up, box=box.HORIZONTALS, pad_edge=False)
    table.add_column(plot.across, justify="right")
    for line in plot.lines:
        table.add_column(line.name, justify="right")
    figures = [dict(line.points) for line in plot.lines]
    for place in sorted({place for line in figures for place in line}):
        table.add_row(f"{place:,.0f}", *(f"{line[place]:.3g}" if place in line else "" for line in figures))
    return table


if __name__ == "__main__":
    main()
