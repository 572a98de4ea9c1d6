"""`python -m benchmarks.pages`: bytes and milliseconds of pages for people, next to the peer's browsable pages.

The pages show the same data: 50 events, one event, the permissions, and the start page. Both servers run on one core
and take turns. Every event page is another one. The peer does not compress, so its compressed size is what gzip makes
of it. "First visit" adds the compressed stylesheets, scripts and images of the page, which browsers keep.
"""

import gzip
import re
import signal
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path

import click
import msgspec
from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks import contenders
from benchmarks.event_data import ListedEvent, export_events
from benchmarks.import_data import add_imports
from benchmarks.machine import Machine, this_machine
from benchmarks.peer_environment import static_file
from benchmarks.processes import exit_on_signal, two_cores
from benchmarks.report import describe_machine, write
from benchmarks.walks import EVENTS, PERMISSIONS, spread_order

RESULTS = Path(__file__).parent / "results" / "pages.json"
TIMEOUT_SECONDS = 60
WARM_UPS = 3
BROWSER = {"Accept": "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8", "Accept-Language": "en"}
_FILES = re.compile(rb'<(?:link|script|use|img) [^>]*?(?:href|src)="([^"#]+\.(?:css|js|svg)[^"#]*)')

Paths = Callable[[int], str]  # the path of the n-th request


class PageFigures(msgspec.Struct, frozen=True):
    """The size of a page in bytes, and the median time of a request in milliseconds."""

    bytes: int
    compressed: int
    first_visit: int  # compressed, with stylesheets, scripts and images
    milliseconds: float


class PageCost(msgspec.Struct, frozen=True):
    page: str
    ours: PageFigures
    peer: PageFigures


class PageReport(msgspec.Struct, frozen=True):
    machine: Machine
    events: int
    requests: int
    pages: list[PageCost]


class Browser:
    """Requests pages of one server over one connection."""

    def __init__(self, port: int, read_file: Callable[[str], bytes] | None = None) -> None:
        """`read_file` reads the stylesheets and scripts of a server that does not send them."""
        self._connection = HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_SECONDS)
        self._read_file = read_file

    def get(self, path: str, encoding: str = "identity") -> tuple[bytes, HTTPResponse, float]:
        """The body, which must be a page or a file, and the seconds it took."""
        started_at = time.perf_counter()
        self._connection.request("GET", path, headers={**BROWSER, "Accept-Encoding": encoding})
        response = self._connection.getresponse()
        body = response.read()
        seconds = time.perf_counter() - started_at
        if response.status != 200:
            raise click.ClickException(f"{path} returned {response.status}.")
        return body, response, seconds

    def page(self, path: str) -> tuple[bytes, float]:
        body, response, seconds = self.get(path)
        if not response.headers.get_content_type() == "text/html":
            raise click.ClickException(f"{path} is no page: {response.headers.get_content_type()}.")
        return body, seconds

    def sizes(self, path: str) -> tuple[int, int, int]:
        """The size of a page as it is, compressed, and compressed with its files."""
        body, _ = self.page(path)
        compressed = self._compressed_bytes(path)
        files = {match.decode() for match in _FILES.findall(body)}
        return len(body), compressed, compressed + sum(map(self._file_bytes, files))

    def _compressed_bytes(self, path: str) -> int:
        body, response, _ = self.get(path, "gzip")
        return len(body) if response.headers.get("Content-Encoding") == "gzip" else len(gzip.compress(body))

    def _file_bytes(self, url: str) -> int:
        return len(gzip.compress(self._read_file(url))) if self._read_file else self._compressed_bytes(url)

    def close(self) -> None:
        self._connection.close()


def page_paths(listed: Sequence[ListedEvent]) -> dict[str, tuple[Paths, Paths]]:
    """The pages of both servers. Events differ in each request."""
    offsets, order = spread_order(len(listed) - 50), spread_order(len(listed))

    def list_page(number: int) -> str:
        return f"{EVENTS}?limit=50&offset={offsets[number]}"

    def event_page(number: int) -> str:
        return f"{EVENTS}{listed[order[number]].id}/"

    def permissions(_: int) -> str:
        return PERMISSIONS

    return {
        "50 events": (list_page, list_page),
        "one event": (event_page, event_page),
        "permissions": (permissions, permissions),
        "start page": (lambda _: "/", lambda _: "/api/v2/"),
    }


def measure_page(name: str, paths: tuple[Paths, Paths], browsers: tuple[Browser, Browser], requests: int) -> PageCost:
    """Measure a page of both servers in turn."""
    taken: tuple[list[float], list[float]] = [], []
    for number in range(WARM_UPS + requests):
        for path, browser, seconds in zip(paths, browsers, taken, strict=True):
            _, duration = browser.page(path(number))
            if number >= WARM_UPS:
                seconds.append(duration)
    figures = [
        PageFigures(*browser.sizes(path(0)), statistics.median(seconds) * 1000)
        for path, browser, seconds in zip(paths, browsers, taken, strict=True)
    ]
    return PageCost(name, *figures)


@click.command()
@click.option("--events", default=10_000, show_default=True, type=click.IntRange(500), help="Number of demo events.")
@click.option("--requests", default=100, show_default=True, type=click.IntRange(3, 400), help="Requests of each page.")
def main(events: int, requests: int) -> None:
    """Compare the pages of Fieldgate with the browsable pages of the peer."""
    signal.signal(signal.SIGTERM, exit_on_signal)
    core, _ = two_cores()
    console = Console()
    with ExitStack() as stack:
        status = stack.enter_context(console.status("starting"))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="benchmarks-")))
        ours = stack.enter_context(contenders.fieldgate(folder / "fieldgate", core, events))
        files = folder / "events.ndjson", folder / "imports.ndjson"
        listed = export_events(folder / "fieldgate", events, files[0])
        add_imports(f"sqlite:///{folder / 'fieldgate' / 'fieldgate.db'}", contenders.USER, files[1])
        peer = stack.enter_context(contenders.peer(folder, core, "granian", *files, is_browsable=True))
        browsers = (
            stack.enter_context(closing(Browser(ours.port))),
            stack.enter_context(closing(Browser(peer.port, static_file))),
        )
        costs = []
        for name, paths in page_paths(listed).items():
            status.update(f"pages: {name}")
            costs.append(measure_page(name, paths, browsers, requests))
    report = PageReport(this_machine(), events, requests, costs)
    write(report, RESULTS)
    console.print(table_of(report))
    console.print(f"Results are in {RESULTS.relative_to(Path.cwd())}")


def table_of(report: PageReport) -> Table:
    table = Table(
        title=f"Pages for people with {report.events:,} events: KB and milliseconds",
        caption=describe_machine(report.machine),
        box=box.HORIZONTALS,
        pad_edge=False,
    )
    table.add_column("page")
    table.add_column("")
    for heading in ("KB", "KB,\ncompressed", "KB,\nfirst visit", "ms"):
        table.add_column(heading, justify="right", no_wrap=True)
    for cost in report.pages:
        for name, figures in (("ours", cost.ours), ("peer", cost.peer)):
            sizes = (figures.bytes, figures.compressed, figures.first_visit)
            table.add_row(
                cost.page if name == "ours" else "",
                name,
                *(f"{size / 1000:.1f}" for size in sizes),
                f"{figures.milliseconds:.1f}",
            )
    return table


if __name__ == "__main__":
    main()
