"""`python -m benchmarks`: compare Fieldgate with the peer and with the floor."""

import signal
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import click
from rich.console import Console
from rich.status import Status

from benchmarks import contenders
from benchmarks.assignment_data import add_assignments, export_assignments
from benchmarks.charts import draw_rates, draw_targets
from benchmarks.contenders import Contender
from benchmarks.databases import Comparison, compare_with_sqlite, fieldgate_on_postgresql
from benchmarks.event_data import ListedEvent, export_events
from benchmarks.exports import FORMATS, Export, download
from benchmarks.import_data import add_imports
from benchmarks.latency import Latency, measure_half_load
from benchmarks.load import require_wrk
from benchmarks.machine import this_machine
from benchmarks.processes import exit_on_signal, two_cores
from benchmarks.report import (
    Report,
    checks_of,
    databases_table_of,
    exports_table_of,
    latencies_table_of,
    summaries_of,
    table_of,
    wide_console,
    write,
)
from benchmarks.response_checks import check_floor, compare_responses, is_supported
from benchmarks.rounds import Outcome, compare
from benchmarks.rounds import measure as measure_rounds
from benchmarks.sharing_data import add_shared_assets
from benchmarks.single_request import with_etag
from benchmarks.spread import rates, ratios
from benchmarks.start import StartResults, measure_starts
from benchmarks.targets import AT_LEAST, Check, checks_table_of
from benchmarks.work import WORKS, Work

RESULTS = Path(__file__).parent / "results"
MAX_REPEATS = 3  # of downloads, starts, and rounds of the database comparison
HALF_LOAD_ROUNDS = 9  # many short rounds, so that some are undisturbed
HALF_LOAD_WORKS = ("permission list", "50 events, warm", "50 events, cold", "imports list, token checked")
LIMITED_WORK = "permission list"  # the cheapest one shows best what counting requests costs
LIMITED_EVENTS = 2000
MIN_LIMITED_SHARE = 0.9  # of the rate without limits; rounds differ by as much
DATABASE_WORKS = (
    "permission list",
    "50 events, warm",
    "50 events, cold",
    "50 events of some regions and countries, cold",
)


@dataclass
class Run:
    """The settings of one run, and its results so far."""

    folder: Path
    cores: tuple[int, int]  # for the servers, and for the load
    events: int
    rounds: int
    seconds: int
    status: Status
    outcomes: list[Outcome] = field(default_factory=list)
    exports: list[Export] = field(default_factory=list)
    latencies: list[Latency] = field(default_factory=list)
    databases: list[Comparison] = field(default_factory=list)
    limit_checks: list[Check] = field(default_factory=list)
    start_results: StartResults | None = None
    skipped: list[str] = field(default_factory=list)

    @property
    def repeats(self) -> int:
        return min(self.rounds, MAX_REPEATS)

    def compare(self, works: Sequence[Work], ours: Contender, peer: Contender, *, is_full_run: bool) -> None:
        """Measure each work with Fieldgate, the peer and the floor, and latencies for `HALF_LOAD_WORKS`."""
        for work in works:
            if not is_supported(work, ours):
                self.skipped.append(work.name)
                continue
            we, they = with_etag(work, ours), with_etag(work, peer) if work.has_peer else None
            response = compare_responses(work, we, they)
            with contenders.floor(self.folder, self.cores[0], response) as floor:
                check_floor(work, floor, response)
                self.outcomes.append(
                    compare(
                        work, we, they, floor, rounds=self.rounds, seconds=self.seconds, core=self.cores[1],
                        on_progress=self.status.update,
                    )
                )  # fmt: skip
                if is_full_run and work.name in HALF_LOAD_WORKS:
                    self.add_half_load(work, we, floor)
            compare_responses(work, we, they)

    def add_half_load(self, work: Work, ours: Contender, floor: Contender) -> None:
        """Measure latencies at half of the rate just measured."""
        self.status.update(f"{work.name}: half load")
        full = self.outcomes[-1]
        self.latencies.append(
            measure_half_load(
                work, ours, rates(full.ours).median, floor, rates(full.floor).median,
                rounds=HALF_LOAD_ROUNDS if self.rounds > 1 else 1, core=self.cores[1],
            )
        )  # fmt: skip

    def add_exports(self, ours: Contender, listed: int) -> None:
        """Measure exports, which the peer does not have."""
        for kind in FORMATS:
            self.status.update(f"all events as {kind}")
            self.exports.append(download(ours, kind, events=listed, times=self.repeats))

    def compare_databases(self, works: Sequence[Work], ours: Contender) -> None:
        self.status.update("filling PostgreSQL")
        with fieldgate_on_postgresql(self.folder / "postgresql", *self.cores, self.events) as other:
            for work in works:
                if work.name in DATABASE_WORKS:
                    compare_responses(work, ours, other)
                    self.databases.append(
                        compare_with_sqlite(
                            work, ours, other, rounds=self.repeats, seconds=self.seconds, core=self.cores[1],
                            on_progress=self.status.update,
                        )
                    )  # fmt: skip

    def compare_rate_limits(self, works: Sequence[Work], ours: Contender) -> None:
        """Measure one work with rate limits on. All others are measured with limits off."""
        self.status.update("starting Fieldgate with rate limits")
        with contenders.fieldgate(
            self.folder / "limited", self.cores[0], LIMITED_EVENTS, name="fieldgate with limits",
            limits=contenders.RATE_LIMITS,
        ) as limited:  # fmt: skip
            for work in works:
                if work.name == LIMITED_WORK:
                    samples = measure_rounds(
                        work, {"limits off": ours, "limits on": limited}, rounds=self.rounds, seconds=self.seconds,
                        core=self.cores[1], on_progress=self.status.update,
                    )  # fmt: skip
                    share = ratios(samples["limits on"], samples["limits off"]).median
                    what = f"{work.name}: rate limits on by off"
                    self.limit_checks.append(Check.of(what, share, AT_LEAST, MIN_LIMITED_SHARE))

    def add_starts(self, data: Path, listed: int) -> None:
        self.status.update("measuring starts")
        self.start_results = measure_starts(data, self.events, listed, self.cores[0], self.repeats)

    def report(self, peer_server: str) -> Report:
        summaries = summaries_of(self.outcomes, {work.name: work.target for work in WORKS})
        return Report(
            machine=this_machine(),
            peer_server=peer_server,
            events=self.events,
            rounds=self.rounds,
            seconds=self.seconds,
            summaries=summaries,
            outcomes=self.outcomes,
            exports=self.exports,
            latencies=self.latencies,
            starts=self.start_results,
            databases=self.databases,
            checks=[
                *checks_of(summaries, self.latencies, self.start_results, self.databases),
                *self.limit_checks,
            ],
            left_out=self.skipped,
        )


@click.command()
@click.option("--rounds", default=5, show_default=True, type=click.IntRange(1, 100), help="Rounds for each work.")
@click.option("--seconds", default=1, show_default=True, type=click.IntRange(1, 600), help="Minimum length of a round.")
@click.option("--quick", is_flag=True, help="One round of one second, to check that everything runs.")
@click.option("--only", metavar="TEXT", default="", help="Only works with this text in the name.")
@click.option("--events", default=10_000, show_default=True, type=click.IntRange(2000), help="Number of demo events.")
@click.option(
    "--peer-server",
    default="granian",
    show_default=True,
    type=click.Choice(list(contenders.PEER_SERVERS)),
    help="Server of the peer.",
)
def main(rounds: int, seconds: int, quick: bool, only: str, events: int, peer_server: str) -> None:
    """Compare Fieldgate with a Django REST framework peer and with the bare server (the floor)."""
    signal.signal(signal.SIGTERM, exit_on_signal)
    if quick:
        rounds, seconds = 1, 1
    chosen = [work for work in WORKS if only in work.name]
    if not chosen:
        raise click.BadParameter("no work has this text in its name.", param_hint="--only")
    require_wrk()
    console = wide_console()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="benchmarks-")))
        status = stack.enter_context(console.status("starting"))
        run = Run(folder, two_cores(), events, rounds, seconds, status)
        measure(run, stack, chosen, peer_server, is_full_run=not only)
    report = run.report(peer_server)
    name = "only" if only else "latest"  # a partial run does not overwrite the results of a full one
    write(report, RESULTS / f"{name}.json")
    draw_rates(report, RESULTS / f"{name}-rates.svg")
    draw_targets(report, RESULTS / f"{name}-targets.svg")
    show(report, console)
    console.print(f"Results are in {RESULTS.relative_to(Path.cwd())}: {name}.json and {name}-*.svg")


def measure(run: Run, stack: ExitStack, chosen: Sequence[Work], peer_server: str, *, is_full_run: bool) -> None:
    data, core = run.folder / "fieldgate", run.cores[0]
    files = [run.folder / f"{what}.ndjson" for what in ("events", "imports", "assignments")]
    ours = stack.enter_context(contenders.fieldgate(data, core, run.events))
    listed: list[ListedEvent] = export_events(data, run.events, files[0])
    add_imports(f"sqlite:///{data / 'fieldgate.db'}", contenders.USER, files[1])
    add_shared_assets(data, contenders.USER)
    add_assignments(data, contenders.USER)
    export_assignments(ours, files[2])
    peer = stack.enter_context(contenders.peer(run.folder, core, peer_server, *files))
    works = [work.with_walk(listed) for work in chosen]
    run.compare(works, ours, peer, is_full_run=is_full_run)
    if is_full_run:
        run.add_exports(ours, len(listed))
        run.compare_databases(works, ours)
        run.compare_rate_limits(works, ours)
        run.add_starts(data, len(listed))


def show(report: Report, console: Console) -> None:
    console.print(table_of(report))
    if report.latencies:
        console.print(latencies_table_of(report))
    if report.databases:
        console.print(databases_table_of(report))
    if report.checks:
        console.print(checks_table_of("Other targets", report.checks))
    if report.exports:
        console.print(exports_table_of(report))
    for name in report.left_out:
        console.print(f"Skipped, because this version of Fieldgate does not support it: {name}")
    console.print("Deep pages, start and memory with a million events: make bench-full.")
    if report.peer_server == "granian":
        console.print("The peer runs on Granian, which is faster for it than gunicorn (--peer-server gunicorn).")


if __name__ == "__main__":
    main()
