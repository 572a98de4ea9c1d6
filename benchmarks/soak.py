"""`python -m benchmarks.soak`: well-behaved callers at 40 % of capacity, with and without an attacker, in turn.

Four kinds of callers send requests on a schedule. Rounds without and with an attacker alternate, and the attacks take
turns. The server is one process on one core; callers, attacker and import worker are on the other.
"""

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import click
import msgspec

from benchmarks.machine import Machine, this_machine
from benchmarks.memory import process_tree, resident_bytes
from benchmarks.processes import CHECKOUT, PROGRAM, exit_on_signal, free_port, output_of, run_server, two_cores
from benchmarks.report import wide_console, write
from benchmarks.soak_attacks import ATTACKS
from benchmarks.soak_callers import IMPORTER, SHARES, CallerJob, CallSample
from benchmarks.soak_people import add_attacker, add_people
from benchmarks.soak_report import (
    ResourceSample,
    SoakReport,
    SoakRound,
    checks_of,
    draw,
    round_of,
    tables_of,
    write_docs,
)

RESULTS = Path(__file__).parent / "results" / "soak.json"
EVENTS = 10_000
LOAD_SHARE = 0.4
CAPACITY_SECONDS = 6
WARM_UP_SECONDS = 5
PAUSE_SECONDS = 3  # after each round, not counted
MIN_ROUND_SECONDS = 4
LONGEST_ROUND_SECONDS = 30
# Callers and attacker have loopback addresses here, which are exempt by default.
ENVIRONMENT = {"FIELDGATE_ACCESS_LOG": "false", "FIELDGATE_LOG_LEVEL": "error", "FIELDGATE_RATE_LIMIT_EXEMPT": "none"}


class ResourceMonitor(threading.Thread):
    """Memory and open descriptors of the largest process of the server, once a second."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._pid = pid
        self._is_over = threading.Event()
        self.samples: list[ResourceSample] = []

    def run(self) -> None:
        while not self._is_over.wait(1.0):
            largest = max(process_tree(self._pid), key=resident_bytes)
            try:
                descriptors = len(list(Path(f"/proc/{largest}/fd").iterdir()))
            except FileNotFoundError:  # it was replaced
                continue
            self.samples.append(ResourceSample(time.monotonic(), resident_bytes(largest), descriptors))

    def stop(self) -> None:
        self._is_over.set()
        self.join()


@click.command()
@click.option("--minutes", default=10.0, show_default=True, help="Length of the rounds together.")
@click.option("--events", default=EVENTS, show_default=True, help="Demo events.")
@click.option("--only", default="", help="Attacks to run, separated by commas; by default all.")
@click.option("--docs", is_flag=True, help="Write the figures and the plot into docs/.")
def main(minutes: float, events: int, only: str, docs: bool) -> None:
    """Measure latencies of well-behaved callers while an attacker runs, and memory and descriptors of the server."""
    signal.signal(signal.SIGTERM, exit_on_signal)
    console = wide_console()
    attacks = [name.strip() for name in only.split(",")] if only else list(ATTACKS)
    core, load_core = two_cores()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="benchmarks-")))
        status = stack.enter_context(console.status("creating events and users"))
        output_of([PROGRAM, "events", "demo", str(events), "--data", str(folder)], timeout=600)
        job = CallerJob(0, add_people(folder), events, str(folder / "calls.json"))
        token = add_attacker(folder)
        pid, port = stack.enter_context(run_soaked_server(folder, core, load_core))
        job = msgspec.structs.replace(job, port=port)
        status.update("measuring the capacity")
        capacity = measure_capacity(job, load_core)
        rate = LOAD_SHARE * capacity
        plan = plan_rounds(minutes * 60, attacks)
        total = sum(seconds + PAUSE_SECONDS for _, seconds in plan)
        job = msgspec.structs.replace(job, rate=rate, seconds=WARM_UP_SECONDS + total)
        monitor = ResourceMonitor(pid)
        monitor.start()
        calling = start_callers(job, load_core)
        stack.callback(calling.kill)
        time.sleep(WARM_UP_SECONDS)
        rounds = run_rounds(plan, port, token, load_core, status.update)
        status.update("waiting for the last responses")
        calling.wait(60)
        monitor.stop()
        calls = read_calls(job)
    report = summarize(this_machine(), capacity, rate, rounds, calls, monitor.samples)
    write(report, RESULTS)
    draw(report, RESULTS.parent)
    for table in tables_of(report):
        console.print(table)
    if docs:
        write_docs(report)
    console.print(f"Results are in {RESULTS.relative_to(CHECKOUT)}, plots beside it.")


@contextmanager
def run_soaked_server(folder: Path, core: int | None, load_core: int | None) -> Iterator[tuple[int, int]]:
    """Run the server on one core and the import worker on the other. Yields the server's process id and port."""
    port = free_port()
    data = ("--data", str(folder))
    serve = [PROGRAM, "serve", "--port", str(port), *data, "--no-worker"]
    work = ["nice", PROGRAM, "worker", *data]
    with (
        run_server(serve, port=port, core=core, environment=ENVIRONMENT) as pid,
        run_server(work, port=port, core=load_core, environment=ENVIRONMENT),  # a worker has no port of its own
    ):
        yield pid, port


def plan_rounds(seconds: float, attacks: Sequence[str]) -> list[tuple[str, float]]:
    """Rounds of equal length: without an attacker, then with one, and so on. The name is empty without an attacker."""
    pairs = len(attacks)
    while seconds / (2 * pairs) > LONGEST_ROUND_SECONDS + PAUSE_SECONDS:
        pairs += len(attacks)
    each = max(MIN_ROUND_SECONDS, seconds / (2 * pairs) - PAUSE_SECONDS)
    return [(name, each) for number in range(pairs) for name in ("", attacks[number % len(attacks)])]


def run_rounds(
    plan: Sequence[tuple[str, float]], port: int, token: str, core: int | None, on_progress: Callable[[str], None]
) -> list[SoakRound]:
    """Run the attacks of the plan. The callers run meanwhile, in another process."""
    rounds = []
    for number, (attack, seconds) in enumerate(plan, 1):
        on_progress(f"round {number} of {len(plan)}: {attack or 'no attacker'}")
        began = time.monotonic()
        seen: Counter[str] = Counter()
        if attack:
            command = [sys.executable, "-m", "benchmarks.soak_attacks", attack, str(port), str(seconds), token]
            finished = subprocess.run(
                command,
                cwd=CHECKOUT,
                stdout=subprocess.PIPE,
                timeout=seconds + 60,
                check=True,
                preexec_fn=None if core is None else partial(os.sched_setaffinity, 0, {core}),
            )
            seen.update(json.loads(finished.stdout))
        else:
            time.sleep(seconds)
        rounds.append(SoakRound(attack=attack, began=began, ended=time.monotonic(), seen=dict(seen)))
        time.sleep(PAUSE_SECONDS)
    return rounds


def measure_capacity(job: CallerJob, core: int) -> float:
    """Requests per second with the callers as they are: what they and the server reach together."""
    figures = []
    for _ in range(3):
        job = msgspec.structs.replace(job, rate=0.0, seconds=CAPACITY_SECONDS / 3)
        process = start_callers(job, core)
        if process.wait(60):
            raise click.ClickException("The callers failed.")
        figures.append(msgspec.json.decode(Path(job.results).read_bytes(), type=float))
    return statistics.median(figures)


def start_callers(job: CallerJob, core: int) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.soak_callers"],
        cwd=CHECKOUT,
        stdin=subprocess.PIPE,
        preexec_fn=partial(os.sched_setaffinity, 0, {core}),
    )
    assert process.stdin is not None
    process.stdin.write(msgspec.json.encode(job))
    process.stdin.close()
    return process


def read_calls(job: CallerJob) -> list[CallSample]:
    return msgspec.json.decode(Path(job.results).read_bytes(), type=list[CallSample])


def summarize(
    machine: Machine, capacity: float, rate: float, rounds: list[SoakRound], calls: list[CallSample],
    resources: list[ResourceSample],
) -> SoakReport:  # fmt: skip
    measured = [round_of(each, calls) for each in rounds]
    return SoakReport(
        machine=machine, capacity=capacity, rate=rate, rounds=measured, kinds=[*SHARES, IMPORTER],
        resources=resources, checks=checks_of(measured, resources),
    )  # fmt: skip


if __name__ == "__main__":
    main()
