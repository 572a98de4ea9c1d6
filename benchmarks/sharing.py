"""`python -m benchmarks.sharing`: bulk assignments, explanations, and lists with many hidden assets."""

import secrets
import shutil
import signal
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import click
import msgspec
from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks.contenders import Contender
from benchmarks.load import Sample, require_wrk
from benchmarks.machine import Machine, this_machine
from benchmarks.processes import PROGRAM, exit_on_signal, free_port, output_of, run_server, two_cores
from benchmarks.recorded_response import RecordedResponse
from benchmarks.report import describe_machine, write
from benchmarks.rounds import measure
from benchmarks.sharing_data import SHARED_ASSETS, VIEW_PERMISSION, add_assets, add_members, assignments_table
from benchmarks.single_request import send_request
from benchmarks.spread import Spread, format_cell, per_second, rates, ratios
from benchmarks.targets import AT_LEAST, AT_MOST, Check, checks_table_of
from benchmarks.walks import ASSETS, asset_pages
from benchmarks.work import Work

RESULTS = Path(__file__).parent / "results" / "sharing.json"

OWNER, READER = "owner", "reader"
MEMBER_COUNT = 1000  # assigned to in one request
HIDDEN_COUNT = 100_000  # assets that the reader may not see
BULK_REPEATS = 6  # requests of each kind
MIN_SHARE = 0.9  # target for the rate with hidden assets by the rate without; rounds differ by as much
MIN_LIST_RATE = 500  # pages in a second, another page each time
MIN_EXPLAIN_RATE = 3000
MAX_BULK_MILLISECONDS = 60
UNSUPPORTED_STATUSES = (404, 405)


class Bulk(msgspec.Struct, frozen=True):
    """Milliseconds of requests that set the assignments of many users."""

    what: str
    milliseconds: list[float]


class Lists(msgspec.Struct, frozen=True):
    """One list without and with many hidden assets, in the order of the rounds."""

    what: str
    without: list[Sample]
    among: list[Sample]

    @property
    def share(self) -> Spread:
        return ratios(self.among, self.without)


class Report(msgspec.Struct, frozen=True):
    machine: Machine
    bulks: list[Bulk]
    explain: list[Sample]
    lists: list[Lists]
    checks: list[Check]


@click.command()
@click.option("--rounds", default=3, show_default=True, type=click.IntRange(1, 100), help="Rounds for each list.")
@click.option("--quick", is_flag=True, help="One round and few rows, to check that everything runs.")
def main(rounds: int, quick: bool) -> None:
    """Measure assignments: 1,000 users in one request, explanations, and lists with many hidden assets."""
    signal.signal(signal.SIGTERM, exit_on_signal)
    console = Console()
    if assignments_table() is None:
        console.print("This Fieldgate has no permission assignments: nothing to measure.")
        return
    require_wrk()
    core, load_core = two_cores()
    shared, hidden = (500, 2000) if quick else (SHARED_ASSETS, HIDDEN_COUNT)
    rounds = 1 if quick else rounds
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="benchmarks-")))
        status = stack.enter_context(console.status("creating assets"))
        tokens, uid, names = prepare(folder / "without", shared)
        shutil.copytree(folder / "without", folder / "among")
        add_assets(folder / "among", OWNER, hidden)
        without = stack.enter_context(run_fieldgate(folder / "without", core))
        among = stack.enter_context(run_fieldgate(folder / "among", core))
        lists = []
        for work in list_works(shared):
            both = {name: Contender(name, port, tokens[READER]) for name, port in
                    (("without", without), ("among", among))}  # fmt: skip
            for contender in both.values():
                _check_count(send_request(work, contender), shared)
            samples = measure(work, both, rounds=rounds, seconds=2, core=load_core, on_progress=status.update)
            lists.append(Lists(work.name, samples["without"], samples["among"]))
        owner = Contender("fieldgate", without, tokens[OWNER])
        status.update("bulk")
        bulks = assign_in_bulk(owner, uid, names, 1 if quick else BULK_REPEATS)
        explained = Work(
            name="explain",
            path=f"{_assignments_path(uid)}explain/?user={names[0]}&permission={VIEW_PERMISSION}",
            signed_in=True,
        )
        explain: list[Sample] = []
        if send_request(explained, owner).status not in UNSUPPORTED_STATUSES:
            explain = measure(
                explained, {"ours": owner}, rounds=rounds, seconds=1, core=load_core, on_progress=status.update
            )["ours"]
    report = Report(this_machine(), bulks, explain, lists, checks_of(bulks, explain, lists, hidden))
    write(report, RESULTS)
    for table in tables_of(report, shared, hidden):
        console.print(table)
    console.print(f"Results are in {RESULTS.relative_to(Path.cwd())}")


def list_works(shared: int) -> list[Work]:
    """One page repeated, and another page each time."""
    common = Work(name="assets of a reader, one page", path=ASSETS, signed_in=True, connections=4)
    pages = replace(common, name="assets of a reader, another page each time", walk=asset_pages(50, shared))
    return [common, pages.with_walk([])]


def checks_of(bulks: list[Bulk], explain: list[Sample], lists: list[Lists], hidden: int) -> list[Check]:
    title = f"{{}}: with {hidden:,} hidden assets by without"
    checks = [Check.of(title.format(each.what), each.share.median, AT_LEAST, MIN_SHARE) for each in lists]
    checks.append(Check.of(lists[-1].what, rates(lists[-1].among).median, AT_LEAST, MIN_LIST_RATE, "/s"))
    if explain:
        checks.append(Check.of("explain", rates(explain).median, AT_LEAST, MIN_EXPLAIN_RATE, "/s"))
    slowest = [(statistics.median(bulk.milliseconds), bulk.what) for bulk in bulks]
    if slowest:
        taken, what = max(slowest)
        checks.append(Check.of(f"slowest bulk: {what}", taken, AT_MOST, MAX_BULK_MILLISECONDS, "ms"))
    return checks


def prepare(data: Path, shared: int) -> tuple[dict[str, str], str, list[str]]:
    """Create users, members and shared assets. Returns tokens by user, the uid of an asset, and the members' names."""
    tokens = {}
    for name in (OWNER, READER):
        password = secrets.token_urlsafe()
        output_of([PROGRAM, "user", "create", name, "--password-stdin", "--data", str(data)], stdin=password)
        tokens[name] = output_of([PROGRAM, "token", "create", name, "--data", str(data)])
    uid = add_assets(data, OWNER, shared, visible_to=READER)
    return tokens, uid, add_members(data, MEMBER_COUNT)


@contextmanager
def run_fieldgate(data: Path, core: int) -> Iterator[int]:
    """Run Fieldgate with this data. Yields its port."""
    port = free_port()
    command = [PROGRAM, "serve", "--host", "127.0.0.1", "--port", str(port), "--data", str(data), "--no-worker"]
    with run_server(command, port=port, core=core, environment={}):
        yield port


def _check_count(response: RecordedResponse, expected: int) -> None:
    """Check that the list has exactly the assets the reader may see."""
    if response.status != 200 or msgspec.json.decode(response.body)["count"] != expected:
        raise click.ClickException(f"The list is wrong: {response.status}, {response.body[:300].decode()}")


def assign_in_bulk(owner: Contender, uid: str, names: list[str], times: int) -> list[Bulk]:
    """Assign a permission to all members, then another one, then the same again."""
    kinds = {
        "all get view_asset alone": VIEW_PERMISSION,
        "all get change_asset as well": "change_asset",
        "all have it already": "change_asset",
    }
    taken: dict[str, list[float]] = {what: [] for what in kinds}
    for _ in range(times):
        for what, permission in kinds.items():
            started_at = time.perf_counter()
            response = _replace_all(owner, uid, names, permission)
            taken[what].append((time.perf_counter() - started_at) * 1000)
            if response.status in UNSUPPORTED_STATUSES:
                return []
            if response.status != 200:
                raise click.ClickException(
                    f"The bulk request returned {response.status}: {response.body[:500].decode()}"
                )
    return [Bulk(f"{what} ({len(names)} users)", milliseconds) for what, milliseconds in taken.items()]


def _replace_all(owner: Contender, uid: str, names: list[str], permission: str) -> RecordedResponse:
    assignments = [
        {"user": f"/api/v2/users/{name}/", "permission": f"/api/v2/permissions/{permission}/"} for name in names
    ]
    work = Work(
        name="bulk",
        path=f"{_assignments_path(uid)}bulk/",
        method="POST",
        headers={"Accept": "application/json", "Content-Type": "application/json"},
        body=msgspec.json.encode(assignments),
        signed_in=True,
    )
    return send_request(work, owner)


def _assignments_path(uid: str) -> str:
    return f"/api/v2/assets/{uid}/permission-assignments/"


def tables_of(report: Report, shared: int, hidden: int) -> list[Table]:
    figures = Table("work", title="Assignments, ours", caption=describe_machine(report.machine), box=box.HORIZONTALS)
    figures.add_column("median, and lowest to highest", justify="right")
    for bulk in report.bulks:
        median = statistics.median(bulk.milliseconds)
        low, high = min(bulk.milliseconds), max(bulk.milliseconds)
        figures.add_row(bulk.what, f"{median:.0f} ms ({low:.0f}..{high:.0f})")
    if not report.bulks:
        figures.add_row("bulk", "not supported")
    figures.add_row(
        "explain", f"{format_cell(rates(report.explain), per_second)} a second" if report.explain else "not supported"
    )
    lists = Table(
        "list", title=f"Requests per second: {shared:,} assets, and {hidden:,} hidden ones", box=box.HORIZONTALS
    )
    for heading in ("without", "with the hidden", "share"):
        lists.add_column(heading, justify="right")
    for each in report.lists:
        both = (format_cell(rates(samples), per_second) for samples in (each.without, each.among))
        lists.add_row(each.what, *both, format_cell(each.share, "{:.0%}".format))
    return [figures, lists, checks_table_of("Targets", report.checks)]


if __name__ == "__main__":
    main()
