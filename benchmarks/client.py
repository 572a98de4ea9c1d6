"""`python -m benchmarks.client`: the client library, the usual loop and the server's export at the same list."""

import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import date, timedelta
from itertools import count, repeat
from pathlib import Path
from typing import Any

import click
import msgspec
from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks.demo_data import ensure_demo_events
from benchmarks.list_readers import Job, ReadResult
from benchmarks.machine import Machine, this_machine
from benchmarks.memory import process_tree
from benchmarks.processes import exit_on_signal, output_of, two_cores
from benchmarks.report import describe_machine, write
from benchmarks.spread import Spread, format_cell
from benchmarks.start import start_server
from benchmarks.targets import AT_LEAST, AT_MOST, Check, checks_table_of

RESULTS = Path(__file__).parent / "results"
MEGABYTE = 1_000_000
READ_TIMEOUT_SECONDS = 60 * 60
FIRST_DATE = date(1800, 1, 1)  # all events are later
MIN_TIMES_THE_LOOP, MAX_GROWTH_MB = 4, 10  # targets


class ListContender(msgspec.Struct, frozen=True):
    name: str
    reader: str
    concurrency: int = 1
    is_compressed: bool = False
    is_in_long_form: bool = False


LOOP = ListContender("requests", "requests", is_compressed=True, is_in_long_form=True)
TYPED = ListContender("client: typed", "typed", 4, is_in_long_form=True)
CONTENDERS = (
    LOOP,
    ListContender("requests, no gzip", "requests"),
    ListContender("export", "export", is_in_long_form=True),
    TYPED,
    ListContender("client: typed, 1 at a time", "typed"),
    ListContender("client: typed, 8 at a time", "typed", 8),
    ListContender("client: typed, gzip", "typed", 4, is_compressed=True),
    ListContender("client: dicts", "dicts", 4),
    ListContender("client: JSON", "json", 4),
    ListContender("client: to_ndjson", "ndjson", 4, is_in_long_form=True),
)


class Comparison(msgspec.Struct, frozen=True):
    """The readings of one contender, in the order of the rounds, and those of the loop."""

    name: str
    readings: list[ReadResult]
    loop_readings: list[ReadResult]

    @property
    def rates(self) -> Spread:
        return Spread.of(each.rate for each in self.readings)

    @property
    def times_the_loop(self) -> Spread:
        """Ratios within each round: a slow minute of the machine slows both."""
        pairs = zip(self.readings, self.loop_readings, strict=True)
        return Spread.of(mine.rate / loop.rate for mine, loop in pairs)

    @property
    def cpu(self) -> Spread:
        """Processor time of the reader, in microseconds a record."""
        return Spread.of(each.cpu_seconds / each.records * 1e6 for each in self.readings)

    @property
    def server_cpu(self) -> Spread:
        return Spread.of(each.server_seconds / each.records * 1e6 for each in self.readings)

    @property
    def peak(self) -> Spread:
        return Spread.of(each.peak_bytes / MEGABYTE for each in self.readings)


class ListWork(msgspec.Struct, frozen=True):
    """One list read by all contenders."""

    name: str
    records: int
    comparisons: list[Comparison]

    def named(self, name: str) -> Comparison:
        return next(each for each in self.comparisons if each.name == name)


class ClientReport(msgspec.Struct, frozen=True):
    machine: Machine
    works: list[ListWork]
    checks: list[Check]


class Server(msgspec.Struct, frozen=True):
    pid: int
    url: str

    def read(self, contender: ListContender, **options: Any) -> ReadResult:
        """Read all events in a new process, on the core of this process."""
        job = Job(
            contender.reader,
            self.url,
            concurrency=contender.concurrency,
            is_compressed=contender.is_compressed,
            server_pids=process_tree(self.pid),
            **options,
        )
        command = [sys.executable, "-m", "benchmarks.list_readers", msgspec.json.encode(job).decode()]
        return msgspec.json.decode(output_of(command, timeout=READ_TIMEOUT_SECONDS), type=ReadResult)


@click.command()
@click.option("--rounds", default=3, show_default=True, type=click.IntRange(1, 100), help="Rounds with few events.")
@click.option("--events", default=10_000, show_default=True, type=click.IntRange(100), help="Number of events.")
@click.option("--many", type=click.IntRange(100), help="Read so many events as well, once, and compare the memory.")
@click.option("--data", type=click.Path(path_type=Path), help="Folder for the events; existing events are used.")
@click.option("--quick", is_flag=True, help="One round, to check that everything runs.")
def main(rounds: int, events: int, many: int | None, data: Path | None, quick: bool) -> None:
    """Compare the client library with the usual loop and the server's export."""
    signal.signal(signal.SIGTERM, exit_on_signal)
    server_core, own_core = two_cores()
    console = Console()
    rounds = 1 if quick else rounds
    with ExitStack() as stack:
        folder = data or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="benchmarks-")))
        status = stack.enter_context(console.status("creating events"))
        works = []
        with serve(folder, events, server_core) as server:
            os.sched_setaffinity(0, {own_core})
            status.update("comparing the records")
            require_same_records({each.name: server.read(each, is_verified=True) for each in CONTENDERS})
            filters = fresh_filters()
            for name, is_repeated in {"new to the server": False, "read again": True}.items():
                jobs = ({"filters": each, "is_repeated": is_repeated} for each in filters)
                title = f"{events:,} events, {name}"
                works.append(measure(title, server, CONTENDERS, jobs, rounds, status.update))
        if many:
            os.sched_setaffinity(0, {server_core, own_core})
            status.update(f"creating {many:,} events")
            chosen = [contender for contender in CONTENDERS if contender.is_in_long_form]
            with serve(folder, many, server_core) as server:
                os.sched_setaffinity(0, {own_core})
                works.append(measure(f"{many:,} events", server, chosen, repeat({}), 1, status.update))
    report = ClientReport(this_machine(), works, checks_of(works))
    results = RESULTS / ("client-many.json" if many else "client.json")
    write(report, results)
    for work in works:
        console.print(table_of(work))
    console.print(checks_table_of("Targets", report.checks))
    console.print(describe_machine(report.machine))
    console.print(f"Results are in {results.relative_to(Path.cwd())}")


@contextmanager
def serve(folder: Path, events: int, core: int) -> Iterator[Server]:
    """Fieldgate with so many demo events, on one core."""
    made = ensure_demo_events(folder, events)
    with start_server(made.data, core) as server:
        yield Server(server.pid, server.url)


def fresh_filters() -> Iterator[dict[str, str]]:
    """Filters that select all events. Each is new to the server, so that it has no response ready."""
    for days in count():
        yield {"disaster_start_date__gte": str(FIRST_DATE + timedelta(days=days))}


def require_same_records(results: Mapping[str, ReadResult]) -> None:
    """Check that all contenders returned the same records. The first returned all fields."""
    expected, *_ = results.values()
    for name, result in results.items():
        is_same = result.digest in ("", expected.digest) and result.typed_digest == expected.typed_digest
        if not is_same or result.records != expected.records or not expected.digest:
            raise click.ClickException(f"{name} returned other records: {result.records} of {expected.records}.")


def measure(
    title: str, server: Server, contenders: Sequence[ListContender], jobs: Iterator[dict[str, Any]], rounds: int,
    on_progress: Callable[[str], None],
) -> ListWork:  # fmt: skip
    """Let the contenders read the list in turn, for several rounds."""
    readings: dict[str, list[ReadResult]] = {each.name: [] for each in contenders}
    for number in range(1, rounds + 1):
        for contender in contenders:
            on_progress(f"{title}: round {number} of {rounds}, {contender.name}")
            readings[contender.name].append(server.read(contender, **next(jobs)))
    counts = {reading.records for taken in readings.values() for reading in taken}
    if len(counts) != 1:
        raise click.ClickException(f"The contenders returned different numbers of records: {sorted(counts)}.")
    loop = readings[LOOP.name]
    return ListWork(title, counts.pop(), [Comparison(name, taken, loop) for name, taken in readings.items()])


def checks_of(works: Sequence[ListWork]) -> list[Check]:
    first, _, *large = works
    checks = [
        Check.of(
            f"typed records by the loop: {work.name}",
            work.named(TYPED.name).times_the_loop.median,
            AT_LEAST,
            MIN_TIMES_THE_LOOP,
        )
        for work in works
    ]
    for work in large:
        for each in work.comparisons:
            if each.name.startswith("client"):
                growth = each.peak.median - first.named(each.name).peak.highest
                checks.append(
                    Check.of(f"more memory for {work.name}: {each.name}", growth, AT_MOST, MAX_GROWTH_MB, "MB")
                )
    return checks


def table_of(work: ListWork) -> Table:
    table = Table("", title=f"{work.name}: {work.records:,} records", box=box.HORIZONTALS, pad_edge=False)
    for heading in ("records/s", "times\nthe loop", "processor,\nµs/record", "server's,\nµs/record", "peak\nMB"):
        table.add_column(heading, justify="right", no_wrap=True)
    for each in work.comparisons:
        table.add_row(
            each.name,
            format_cell(each.rates, "{:,.0f}".format),
            format_cell(each.times_the_loop, "{:.2f}".format),
            format_cell(each.cpu, "{:.1f}".format),
            format_cell(each.server_cpu, "{:.1f}".format),
            format_cell(each.peak, "{:.0f}".format),
        )
    return table


if __name__ == "__main__":
    main()
