"""`python -m benchmarks`: us, the peer and the floor at the same work, side by side."""

import signal
import tempfile
from contextlib import ExitStack
from pathlib import Path

import click
from rich.console import Console

from benchmarks import contenders
from benchmarks.agreement import agreed_answer, check_floor
from benchmarks.event_data import export
from benchmarks.exports import FORMATS, Export, download
from benchmarks.load import require_wrk
from benchmarks.machine import this_machine
from benchmarks.processes import leave, two_cores
from benchmarks.report import exports_table_of, report_of, table_of, write
from benchmarks.rounds import Outcome, measure
from benchmarks.work import WORKS

RESULTS = Path(__file__).parent / "results" / "latest.json"
DOWNLOADS = 3  # of each file


@click.command()
@click.option("--rounds", default=5, show_default=True, type=click.IntRange(1, 100), help="Rounds for each work.")
@click.option("--seconds", default=2, show_default=True, type=click.IntRange(1, 600), help="Least length of a round.")
@click.option("--quick", is_flag=True, help="One round of one second: to see that all works, not to quote.")
@click.option("--only", metavar="TEXT", default="", help="Only the work with this text in its name.")
@click.option("--events", default=10_000, show_default=True, type=click.IntRange(2000), help="Demo events to make.")
@click.option(
    "--peer-server",
    default="granian",
    show_default=True,
    type=click.Choice(list(contenders.PEER_SERVERS)),
    help="What serves the peer.",
)
def main(rounds: int, seconds: int, quick: bool, only: str, events: int, peer_server: str) -> None:
    """Measure Fieldgate next to a Django REST framework peer and to the floor of its own server."""
    signal.signal(signal.SIGTERM, leave)
    if quick:
        rounds, seconds = 1, 1
    chosen = [work for work in WORKS if only in work.name]
    if not chosen:
        raise click.BadParameter("no work is called so.", param_hint="--only")
    require_wrk()
    server_core, load_core = two_cores()
    console = Console()
    outcomes: list[Outcome] = []
    exports: list[Export] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="benchmarks-")))
        status = stack.enter_context(console.status("starting"))
        ours = stack.enter_context(contenders.fieldgate(folder / "fieldgate", server_core, events))
        listed = export(folder / "fieldgate", events, folder / "events.ndjson")
        peer = stack.enter_context(contenders.peer(folder, server_core, peer_server, folder / "events.ndjson"))
        for work in (each.over(listed) for each in chosen):
            answer = agreed_answer(work, ours, peer)
            with contenders.floor(folder, server_core, answer) as floor:
                check_floor(work, floor, answer)
                outcomes.append(
                    measure(
                        work,
                        (ours, peer, floor),
                        rounds=rounds,
                        seconds=seconds,
                        core=load_core,
                        tell=status.update,
                    )
                )
            agreed_answer(work, ours, peer)
        for kind in FORMATS if not only else ():
            status.update(f"all events as {kind}")
            exports.append(download(ours, kind, events=len(listed), times=min(rounds, DOWNLOADS)))
    report = report_of(outcomes, exports, this_machine(), peer_server=peer_server, events=events)
    write(report, RESULTS)
    console.print(table_of(report))
    if exports:
        console.print(exports_table_of(report))
    console.print(f"All of it is in {RESULTS.relative_to(Path.cwd())}")


if __name__ == "__main__":
    main()
