"""`python -m benchmarks`: us, the peer and the floor at the same work, side by side."""

import os
import signal
import sys
import tempfile
from pathlib import Path
from types import FrameType

import click
from rich.console import Console

from benchmarks import contenders
from benchmarks.agreement import agreed_answer, check_floor
from benchmarks.load import require_wrk
from benchmarks.machine import this_machine
from benchmarks.report import report_of, table_of, write
from benchmarks.rounds import Outcome, measure
from benchmarks.work import WORKS

RESULTS = Path(__file__).parent / "results" / "latest.json"


@click.command()
@click.option("--rounds", default=5, show_default=True, type=click.IntRange(1, 100), help="Rounds for each work.")
@click.option("--seconds", default=3, show_default=True, type=click.IntRange(1, 600), help="Length of a round.")
@click.option("--quick", is_flag=True, help="One round of one second: to see that all works, not to quote.")
@click.option("--only", metavar="TEXT", default="", help="Only the work with this text in its name.")
@click.option(
    "--peer-server",
    default="granian",
    show_default=True,
    type=click.Choice(list(contenders.PEER_SERVERS)),
    help="What serves the peer.",
)
def main(rounds: int, seconds: int, quick: bool, only: str, peer_server: str) -> None:
    """Measure Fieldgate next to a Django REST framework peer and to the floor of its own server."""
    signal.signal(signal.SIGTERM, _leave)
    if quick:
        rounds, seconds = 1, 1
    chosen = [work for work in WORKS if only in work.name]
    if not chosen:
        raise click.BadParameter("no work is called so.", param_hint="--only")
    require_wrk()
    server_core, load_core = _two_cores()
    console = Console()
    outcomes: list[Outcome] = []
    with (
        tempfile.TemporaryDirectory(prefix="benchmarks-") as name,
        console.status("starting") as status,
        contenders.fieldgate(Path(name), server_core) as ours,
        contenders.peer(Path(name), server_core, peer_server) as peer,
    ):
        for work in chosen:
            answer = agreed_answer(work, ours, peer)
            with contenders.floor(Path(name), server_core, answer) as floor:
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
    report = report_of(outcomes, this_machine(), peer_server=peer_server, seconds=seconds)
    write(report, RESULTS)
    console.print(table_of(report))
    console.print(f"All of it is in {RESULTS.relative_to(Path.cwd())}")


def _two_cores() -> tuple[int, int]:
    """One core for the servers and another for the load, so that neither takes time from the other."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        raise click.ClickException("Two processor cores are needed: one for the servers and one for the load.")
    return cores[0], cores[1]


def _leave(_signal: int, _frame: FrameType | None) -> None:
    """Being told to end unwinds the stack, and so stops every server, like Ctrl-C does."""
    sys.exit(1)


if __name__ == "__main__":
    main()
