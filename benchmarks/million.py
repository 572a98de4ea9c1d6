"""`python -m benchmarks.million`: cost of first and deep pages with a million events."""

import os
import signal
import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random

import click
import msgspec
from rich.console import Console

from benchmarks.demo_data import ensure_demo_events
from benchmarks.machine import this_machine
from benchmarks.memory import largest_resident_bytes
from benchmarks.million_report import MEGABYTE, Cost, Instance, Report, Stretch, SummaryCost, Walk, tables_of
from benchmarks.page_client import PageClient
from benchmarks.processes import exit_on_signal, two_cores
from benchmarks.report import write
from benchmarks.start import start_server
from benchmarks.targets import AT_MOST, Check
from benchmarks.walks import EVENTS, SUMMARY
from fieldgate.events.demo.profiles import DISASTER_PRONE_COUNTRIES

RESULTS = Path(__file__).parent / "results" / "million.json"

PAGE_SIZE = 50
LONG_PAGE_SIZE = 1000
PAGES_PER_STRETCH = 100  # long pages reported together
END_MARGIN = 1000  # deep pages start this many events before the last
MAX_REQUESTS = 300  # of each kind: every filter has enough full pages among 10,000 events
MAX_DEEP_RATIO, MAX_START_SECONDS = 1.5, 2  # targets
MILLION = 1_000_000
MAX_MILLION_MB, MAX_MEMORY_MB = 300, 450  # targets for a million events, and for more
MAX_SUMMARY_REQUESTS = 50
MAX_SUMMARY_MS, MAX_SMALL_SUMMARY_MS = 100, 20  # targets, of all events


class _CountOnly(msgspec.Struct):
    count: int


class _Record(msgspec.Struct):
    id: int


class _Page(msgspec.Struct):
    next: str | None
    results: list[_Record]


FilterFactory = Callable[[int], str]  # the filter of the n-th request


def make_filters(countries: Sequence[int]) -> dict[str, FilterFactory]:
    """The filters to measure, with countries that have many events."""

    def other_countries(number: int) -> str:
        return f"countries__in={_joined(Random(number).sample(countries, 5))}&"

    def other_regions_and_countries(number: int) -> str:
        random = Random(number)
        regions = _joined(random.sample(range(5), 4))
        return f"regions__in={regions}&countries__in={_joined(random.sample(countries, 12))}&"

    return {
        "no filter": lambda _: "",
        "regions__in": lambda _: "regions__in=0,2&",
        "countries__in": lambda _: f"countries__in={_joined(countries[:5])}&",
        "countries, always others": other_countries,
        "both, always others": other_regions_and_countries,
    }


def frequent_countries(client: PageClient) -> list[int]:
    """Ids of countries with many demo events."""
    return [
        msgspec.json.decode(client.get(f"/api/v2/country/?iso3={iso3}"), type=_Page).results[0].id
        for iso3 in DISASTER_PRONE_COUNTRIES.split()
    ]


def _joined(ids: Sequence[int]) -> str:
    return ",".join(map(str, sorted(ids)))


@click.command()
@click.argument("events", metavar="[N]", default=1_000_000, type=click.IntRange(10_000, 10_000_000))
@click.option(
    "--small", default=10_000, show_default=True, type=click.IntRange(10_000), help="Number of events to compare with."
)
@click.option(
    "--requests", default=200, show_default=True, type=click.IntRange(5, MAX_REQUESTS), help="Requests for each median."
)
@click.option("--data", type=click.Path(path_type=Path), help="Folder for the events; existing events are used.")
def main(events: int, small: int, requests: int, data: Path | None) -> None:
    """Measure Fieldgate with N events (default: a million), compared with an instance with few."""
    signal.signal(signal.SIGTERM, exit_on_signal)
    server_core, own_core = two_cores()
    console = Console()
    with ExitStack() as stack:
        folder = data or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="benchmarks-")))
        status = stack.enter_context(console.status("starting"))
        status.update(f"creating {small:,} and {events:,} events")
        few = stack.enter_context(instance(folder, small, server_core))
        many = stack.enter_context(instance(folder, events, server_core))
        os.sched_setaffinity(0, {own_core})
        costs = []
        for work, filters in make_filters(frequent_countries(few.client)).items():
            status.update(f"pages: {work}")
            costs.append(measure_cost(work, filters, few, many, requests))
        status.update("summaries")
        summaries = measure_summaries(few, many, min(requests, MAX_SUMMARY_REQUESTS))
        warm = largest_resident_bytes(few.pid), largest_resident_bytes(many.pid)
        status.update("reading all events")
        walked = walk_all_pages(many)
        after = largest_resident_bytes(many.pid)
        checks = checks_of(many.facts, costs[0], summaries[0], after)
        report = Report(this_machine(), few.facts, many.facts, *warm, costs, summaries, walked, after, checks)
    write(report, RESULTS)
    for table in tables_of(report):
        console.print(table)
    console.print(f"All of it is in {RESULTS.relative_to(Path.cwd())}")


class RunningInstance(msgspec.Struct, frozen=True):
    """An instance that is up."""

    facts: Instance
    pid: int
    client: PageClient


@contextmanager
def instance(folder: Path, events: int, core: int) -> Iterator[RunningInstance]:
    """Fieldgate with so many demo events, on one core."""
    made = ensure_demo_events(folder, events)
    with start_server(made.data, core) as server:
        facts = Instance(
            events=events,
            listed=count_of(server.first_body),
            load_seconds=made.seconds,
            database_bytes=made.bytes,
            first_answer_seconds=server.first_answer_seconds,
            resident_bytes=largest_resident_bytes(server.pid),
        )
        yield RunningInstance(facts, server.pid, server.client)


def checks_of(many: Instance, unfiltered: Cost, summary: SummaryCost, resident: int) -> list[Check]:
    """The targets. There are none for starts and summaries of more than a million events."""
    deep = f"a deep page of {many.events:,} by the first of few, no filter"
    is_million = many.events <= MILLION
    max_memory = MAX_MILLION_MB if is_million else MAX_MEMORY_MB
    checks = [
        Check.of(deep, unfiltered.deep / unfiltered.small_first, AT_MOST, MAX_DEEP_RATIO, "times"),
        Check.of("summary of all events, few", summary.small, AT_MOST, MAX_SMALL_SUMMARY_MS, "ms"),
        Check.of("memory after the walk", resident / MEGABYTE, AT_MOST, max_memory, "MB"),
    ]
    if is_million:
        checks += [
            Check.of(f"summary of all {many.events:,} events", summary.large, AT_MOST, MAX_SUMMARY_MS, "ms"),
            Check.of("start to first answer", many.first_answer_seconds, AT_MOST, MAX_START_SECONDS, "s"),
        ]
    return checks


def measure_cost(work: str, filters: FilterFactory, few: RunningInstance, many: RunningInstance, requests: int) -> Cost:
    """Measure pages of all kinds in turn, so that disturbances affect all of them."""
    # The counts are requested first, with other filters, so that no cached set helps the measured requests.
    apart = range(requests, 2 * requests)
    counts = [count_of(many.client.get(f"{EVENTS}?{filters(number)}limit=1")) for number in apart]
    small_first, first, deep, warm = [], [], [], []
    for number, count in enumerate(counts):
        # Each page starts one event after the last, so no page was requested before.
        top = f"{EVENTS}?{filters(number)}limit={PAGE_SIZE}&offset={number}"
        left = min(END_MARGIN, count // 2)
        end = f"{EVENTS}?{filters(apart[number])}limit={PAGE_SIZE}&offset={count - left + number % (left - PAGE_SIZE)}"
        small_first.append(page_seconds(few.client, top))
        first.append(page_seconds(many.client, top))
        deep.append(page_seconds(many.client, end))
        warm.append(page_seconds(many.client, top))
    return Cost(work, *(statistics.median(each) * 1000 for each in (small_first, first, deep, warm)))


def measure_summaries(few: RunningInstance, many: RunningInstance, requests: int) -> list[SummaryCost]:
    """Measure summaries of all events and of some, never cached, in turn."""
    costs = []
    for work, filters in make_filters(frequent_countries(few.client)).items():
        taken: tuple[list[float], list[float]] = [], []
        for number in range(requests):
            path = f"{SUMMARY}?{filters(number)}fresh={number}"
            for instance, seconds in zip((few, many), taken, strict=True):
                if not count_of(instance.client.get(path)):
                    raise click.ClickException(f"{path} has no events.")
                seconds.append(instance.client.last_seconds)
        costs.append(SummaryCost(work, *(statistics.median(each) * 1000 for each in taken)))
    return costs


def page_seconds(client: PageClient, path: str) -> float:
    """The time of a page, which must be full: a short one costs less."""
    found = len(msgspec.json.decode(client.get(path), type=_Page).results)
    if found != PAGE_SIZE:
        raise click.ClickException(f"{path} has {found} events, not {PAGE_SIZE}.")
    return client.last_seconds


def count_of(body: bytes) -> int:
    return msgspec.json.decode(body, type=_CountOnly).count


def walk_all_pages(many: RunningInstance) -> Walk:
    """Follow the links from the first page to the last. Every event must appear once."""
    seconds: list[float] = []
    seen: set[int] = set()
    path: str | None = f"{EVENTS}?limit={LONG_PAGE_SIZE}"
    while path is not None:
        page = msgspec.json.decode(many.client.get(path), type=_Page)
        seconds.append(many.client.last_seconds)
        seen.update(each.id for each in page.results)
        path = page.next and page.next[page.next.index("/api/") :]
    if len(seen) != many.facts.listed:
        raise click.ClickException(f"The pages have {len(seen)} of {many.facts.listed} events.")
    together = [seconds[start : start + PAGES_PER_STRETCH] for start in range(0, len(seconds), PAGES_PER_STRETCH)]
    return Walk(len(seen), sum(seconds), [Stretch(len(some), sum(some)) for some in together])


if __name__ == "__main__":
    main()
