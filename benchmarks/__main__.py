"""`python -m benchmarks`: measure Fieldgate next to a peer and a bare server, and print one table."""

import os
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click
import msgspec
from rich.console import Console

from benchmarks.data import QUICK_SIZES, Sizes, create_data, read_list, write_peer_files
from benchmarks.growth import DEEP, FIRST, draw, measure_growth
from benchmarks.measure import measure
from benchmarks.report import WIDTH, Result, print_results
from benchmarks.requests import EVENTS, Request, check_responses
from benchmarks.rows import Row, Target, rows_of
from benchmarks.servers import (
    CHECKOUT,
    PROGRAM,
    Server,
    output_of,
    run_fieldgate,
    run_floor,
    run_peer,
)

RESULTS = Path(__file__).parent / "results"
AT_MOST = partial(Target, "ours", is_most=True)
# Of the start in seconds and the memory in megabytes, by the number of events.
GROWTH_TARGETS = {10_000: (AT_MOST(2), AT_MOST(130)), 1_000_000: (AT_MOST(12), AT_MOST(300))}
DEEP_TARGET = AT_MOST(1.5)  # of the last pages, by the first pages of few events


@click.command()
@click.option(
    "--only", multiple=True, metavar="TEXT", help="Only rows with this text in their name."
)
@click.option(
    "--rounds", default=5, show_default=True, type=click.IntRange(1), help="Rounds of each row."
)
@click.option(
    "--seconds", default=1, show_default=True, type=click.IntRange(1), help="Length of a round."
)
@click.option(
    "--events", default=0, help="Measure start, memory and pages with as many events, too: 1000000."
)
@click.option(
    "--baseline",
    type=click.Path(exists=True, path_type=Path),
    help="Another checkout to compare with.",
)
@click.option(
    "--data", type=click.Path(path_type=Path), help="Folder that keeps the events of --events."
)
@click.option(
    "--results",
    default=RESULTS,
    type=click.Path(path_type=Path),
    help="Folder of the table and the plot.",
)
@click.option(
    "--quick", is_flag=True, help="Little data and one round, to see that everything runs."
)
def main(
    only: Sequence[str], rounds: int, seconds: int, events: int, baseline: Path | None, data: Path | None,
    results: Path, quick: bool,
) -> None:  # fmt: skip
    """Measure Fieldgate next to a Django REST framework peer and a bare server (the floor)."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # stops the servers, as Ctrl-C does
    output_of([CHECKOUT / "scripts" / "need", "wrk", "wrk"])
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        raise click.ClickException(
            "Two processor cores are needed: one for the servers and one for the load."
        )
    sizes, rounds = (QUICK_SIZES, 1) if quick else (Sizes(), rounds)
    run = Run((cores[0], cores[1]), sizes, rounds, seconds, only)
    results.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="benchmarks-") as folder:
        found = list(run.compare_servers(Path(folder), baseline))
        found += run.measure_growth(data or Path(folder), events, results / "growth.svg")
    if not found:
        raise click.ClickException("No row has this text in its name.")
    with (results / "table.md").open("w") as file:
        for console in (Console(width=WIDTH), Console(file=file, width=WIDTH)):
            print_results(found, console)


@dataclass(frozen=True)
class Run:
    """The settings of a run. One core is for the servers, one for the load."""

    cores: tuple[int, int]
    sizes: Sizes
    rounds: int
    seconds: int
    only: Sequence[str]

    def _is_chosen(self, name: str) -> bool:
        return not self.only or any(text in name for text in self.only)

    def compare_servers(self, folder: Path, baseline: Path | None) -> Iterator[Result]:
        """Measure all rows on Fieldgate, the peer, the floor, and another checkout of Fieldgate."""
        with ExitStack() as stack:
            servers = {}
            programs = {"ours": PROGRAM} | (
                {"baseline": baseline / ".venv/bin/fieldgate"} if baseline else {}
            )
            for name, program in programs.items():
                tokens = create_data(program.absolute(), folder / name, self.cores[0], self.sizes)
                running = run_fieldgate(
                    name, program.absolute(), folder / name, self.cores[0], tokens
                )
                servers[name] = stack.enter_context(running)
            events = read_list(servers["ours"], f"{EVENTS}?limit=1000")
            rows = [row for row in rows_of(self.sizes, events) if self._is_chosen(row.name)]
            if not rows:
                return
            write_peer_files(servers["ours"], folder / "peer", self.sizes, events)
            servers["peer"] = stack.enter_context(run_peer(folder / "peer", self.cores[0]))
            for row in rows:
                click.echo(row.name, err=True)
                yield self._measure_row(row, servers, folder / "response")

    def _measure_row(self, row: Row, servers: dict[str, Server], recorded: Path) -> Result:
        has_peer = row.has_peer and isinstance(row.work, Request)
        compared = {name: server for name, server in servers.items() if name != "peer" or has_peer}
        with ExitStack() as stack:
            if isinstance(row.work, Request):
                others = [server for name, server in compared.items() if name != "ours"]
                response = check_responses(row.work, compared["ours"], others)
                recorded.write_bytes(msgspec.json.encode(response))
                compared["floor"] = stack.enter_context(run_floor(recorded, self.cores[0]))
            figures = measure(row.figure_of(self.seconds, self.cores[1]), compared, self.rounds)
        return Result(row.name, row.unit, row.target, figures)

    def measure_growth(self, data: Path, events: int, plot: Path) -> Iterator[Result]:
        """Measure start, memory and pages with few and with many events."""
        few, many = self.sizes.events, max(events, self.sizes.events)
        deep = f"deep page with {many:,} events by first page with {few:,}"
        names = [
            deep,
            *(
                f"{what} with {count:,} events"
                for what in ("start", "memory")
                for count in (few, many)
            ),
        ]
        if not any(map(self._is_chosen, names)):
            return
        counts = sorted({count for count in (1000, 10_000, 100_000, few, many) if count <= many})
        growth = measure_growth(counts, data / "events", self.cores, self.rounds, self.seconds)
        draw(growth, plot)
        for count in sorted({few, many}):
            start, memory = GROWTH_TARGETS.get(count, (None, None))
            yield Result(f"start with {count:,} events", "s", start, {"ours": growth[count].starts})
            yield Result(
                f"memory with {count:,} events", "MB", memory, {"ours": [growth[count].memory]}
            )
        if many > few:
            rounds = zip(growth[many].pages[DEEP], growth[few].pages[FIRST], strict=True)
            ratios = [last / first for last, first in rounds]
            yield Result(deep, "times", DEEP_TARGET, {"ours": ratios})


if __name__ == "__main__":
    main()
