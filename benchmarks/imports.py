"""`python -m benchmarks.imports`: imports from POST to `complete`, compared with pyxform alone, and import lists."""

import json
import multiprocessing
import statistics
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import click
from pyxform.xls2xform import convert
from rich.console import Console
from rich.table import Table

from benchmarks.bare_pyxform import convert_workbook
from benchmarks.contenders import Contender
from benchmarks.forms import BOUNDARY, form, multipart
from benchmarks.import_data import add_imports
from benchmarks.load import require_wrk, run_load
from benchmarks.processes import PROGRAM, free_port, output_of, run_server
from benchmarks.spread import Spread
from benchmarks.targets import AT_LEAST, Check, checks_table_of
from benchmarks.work import Work
from fieldgate.imports.sandbox import runner
from fieldgate.settings import Settings

QUESTIONS = 2000
SMALL_FORMS = 100
SMALL_FORM_ROUNDS = 5
MIN_SMALL_FORMS_SHARE = 0.6  # target for imports by pyxform alone
LONG_LIST = 10_000
TIMEOUT_SECONDS = 5 * 60  # for one import


class ImportClient:
    """Uploads forms and waits for the results."""

    def __init__(self, contender: Contender) -> None:
        self._base = f"http://127.0.0.1:{contender.port}/api/v2/imports/"
        self._headers = {"Authorization": f"Token {contender.token}"}

    def send(self, book: bytes) -> str:
        headers = {**self._headers, "Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
        with urllib.request.urlopen(urllib.request.Request(self._base, multipart(book), headers)) as response:
            return str(json.load(response)["url"])

    def wait(self, url: str) -> None:
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while time.monotonic() < deadline:
            with urllib.request.urlopen(urllib.request.Request(url, headers=self._headers)) as response:
                record = json.load(response)
            if record["status"] == "complete":
                return
            if record["status"] == "error":
                raise click.ClickException(f"An import failed: {record['messages']}")
            time.sleep(0.005)
        raise click.ClickException(f"An import did not finish within {TIMEOUT_SECONDS} s.")


@contextmanager
def fieldgate(folder: Path, *, workers: int) -> Iterator[Contender]:
    """Run Fieldgate with one server process and this many import workers, on all cores."""
    data = ("--data", str(folder))
    output_of([PROGRAM, "user", "create", "bench", "--password-stdin", *data], stdin=uuid4().hex)
    token = output_of([PROGRAM, "token", "create", "bench", *data])
    port = free_port()
    command = [PROGRAM, "serve", "--port", str(port), *data]
    with run_server(command, port=port, core=None, environment={}):
        more = workers - 1
        if more:
            with run_server([PROGRAM, "worker", *data], port=port, core=None, environment={}):
                yield Contender("fieldgate", port, token)
        else:
            yield Contender("fieldgate", port, token)


def timed(work: Callable[[], object]) -> float:
    started_at = time.perf_counter()
    work()
    return time.perf_counter() - started_at


def large_form(client: ImportClient, folder: Path, rounds: int) -> tuple[float, float, float]:
    """Medians of interleaved rounds: seconds of pyxform alone, seconds of an import, and the ratio."""
    book = form(QUESTIONS)
    path = folder / "form.xlsx"
    path.write_bytes(book)
    bare, ours = [], []
    for _ in range(rounds):
        bare.append(timed(lambda: convert(xlsform=path)))
        ours.append(timed(lambda: client.wait(client.send(book))))
    ratios = [mine / theirs for mine, theirs in zip(ours, bare, strict=True)]
    return statistics.median(bare), statistics.median(ours), statistics.median(ratios)


def small_forms(client: ImportClient, rounds: int) -> tuple[Spread, Spread, Spread]:
    """Small forms per second in interleaved rounds: pyxform alone in the same sandbox, two at a time; from the first
    POST until the last import is complete, with two workers; and the ratio."""
    book = form(10)
    limits = runner.SandboxLimits(Settings().import_memory, Settings().import_seconds)
    multiprocessing.get_context("forkserver").set_forkserver_preload(
        [*runner.PRELOADED_MODULES, convert_workbook.__module__]
    )
    # With `python -m`, each sandbox process would import this module, as its main module, before it converts a form.
    vars(sys.modules["__main__"])["__spec__"] = None
    runner.start_fork_server()

    def convert_one(_: int) -> None:
        runner.run_in_process(convert_workbook, (book,), limits)

    def convert_all() -> None:
        with ThreadPoolExecutor(2) as pool:
            for _ in pool.map(convert_one, range(SMALL_FORMS)):
                pass

    def import_all() -> None:
        with ThreadPoolExecutor(8) as pool:
            for url in list(pool.map(client.send, [book] * SMALL_FORMS)):
                client.wait(url)

    bare, ours = [], []
    for _ in range(rounds):
        bare.append(SMALL_FORMS / timed(convert_all))
        ours.append(SMALL_FORMS / timed(import_all))
    return Spread.of(bare), Spread.of(ours), Spread.of([mine / theirs for mine, theirs in zip(ours, bare, strict=True)])


def _format_share(share: Spread) -> str:
    return f"{share.median:.0%} ({share.lowest:.0%}..{share.highest:.0%})"


@click.command()
@click.option("--rounds", default=9, show_default=True, type=click.IntRange(1, 50), help="Rounds of the large form.")
def main(rounds: int) -> None:
    """Measure imports: a large form compared with pyxform alone, many small forms, and long lists."""
    require_wrk()
    table = Table("work", "figure", title="Imports")
    with tempfile.TemporaryDirectory(prefix="benchmarks-") as name, fieldgate(Path(name), workers=2) as ours:
        client = ImportClient(ours)
        client.wait(client.send(form(3)))  # loads the libraries of the worker
        bare, mine, ratio = large_form(client, Path(name), rounds)
        table.add_row(f"{QUESTIONS} questions, bare pyxform", f"{bare:.2f} s")
        table.add_row(f"{QUESTIONS} questions, POST to complete", f"{mine:.2f} s ({ratio:.2f} times)")
        alone, small, share = small_forms(client, min(rounds, SMALL_FORM_ROUNDS))
        table.add_row(f"{SMALL_FORMS} small forms, bare pyxform in two sandboxes", f"{alone.median:.1f} forms/s")
        table.add_row(
            f"{SMALL_FORMS} small forms, two workers", f"{small.median:.1f} forms/s, {_format_share(share)} of pyxform"
        )
        work = Work(name="imports list", path="/api/v2/imports/", signed_in=True)
        few = run_load(work, ours, seconds=3, core=1).rate
        add_imports(f"sqlite:///{Path(name) / 'fieldgate.db'}", "bench", count=LONG_LIST)
        many = run_load(work, ours, seconds=3, core=1).rate
        table.add_row(f"list of {SMALL_FORMS + rounds + 1} imports, page of 50", f"{few:.0f} requests/s")
        table.add_row(f"list of {LONG_LIST + SMALL_FORMS + rounds + 1} imports, page of 50", f"{many:.0f} requests/s")
    console = Console()
    console.print(table)
    check = Check.of("small forms by bare pyxform", share.median, AT_LEAST, MIN_SMALL_FORMS_SHARE)
    console.print(checks_table_of("Targets", [check]))


if __name__ == "__main__":
    main()
