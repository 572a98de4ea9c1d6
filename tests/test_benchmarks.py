"""Parts of the benchmarks that could be wrong unnoticed: requests, comparisons and reports."""

import os
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest
from click import ClickException

from benchmarks.charts import draw_growth, draw_rates, draw_targets
from benchmarks.client import LOOP, TYPED, Comparison, ListWork, Server, fresh_filters, require_same_records
from benchmarks.client import checks_of as client_checks_of
from benchmarks.contenders import Contender
from benchmarks.core_monitor import slow_share
from benchmarks.event_data import ListedEvent, export_events
from benchmarks.import_data import add_imports
from benchmarks.latency import Latency, Round
from benchmarks.list_readers import READERS, Job, ReadResult, run
from benchmarks.load import Sample
from benchmarks.machine import this_machine
from benchmarks.memory import largest_resident_bytes, process_tree
from benchmarks.page_client import PageClient
from benchmarks.processes import free_port, output_of, run_server
from benchmarks.report import Report, Summary, checks_of
from benchmarks.response_checks import compare_responses, normalize
from benchmarks.rounds import Outcome
from benchmarks.sharing_data import add_assets, add_members
from benchmarks.single_request import send_request, with_etag
from benchmarks.start import StartResults
from benchmarks.targets import AT_LEAST, AT_MOST, Check
from benchmarks.walks import spread_order
from benchmarks.work import WORKS, Target, Work
from fieldgate.settings import Settings
from tests.processes import FIELDGATE_COMMAND

EVENTS = 2000
USER = "bench"
CACHE_BYTES = Settings().response_cache_size


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("benchmarks")
    output_of([str(FIELDGATE_COMMAND), "events", "demo", str(EVENTS), "--data", str(folder)])
    return folder


@pytest.fixture(scope="module")
def listed(folder: Path) -> list[ListedEvent]:
    return export_events(folder, EVENTS, folder / "events.ndjson")


@pytest.mark.parametrize("count", [1, 2, 10, 97, 9703])
def test_spread_order_has_each_number_once(count: int) -> None:
    assert sorted(spread_order(count)) == list(range(count))


def test_spread_order_covers_the_range_early() -> None:
    first = sorted(spread_order(9703)[:20])
    assert first[0] < 970
    assert first[-1] > 8733


def test_paths_of_cold_works_are_unique(listed: list[ListedEvent]) -> None:
    for work in WORKS:
        paths = work.with_walk(listed).paths
        assert len(set(paths)) == len(paths)


def test_peer_gets_our_event_records(folder: Path, listed: list[ListedEvent]) -> None:
    lines = [msgspec.json.decode(line) for line in (folder / "events.ndjson").read_bytes().splitlines()]
    given = {line["listed"]["id"]: line for line in lines}
    port = free_port()
    command = [str(FIELDGATE_COMMAND), "serve", "--port", str(port), "--data", str(folder), "--no-worker"]
    with run_server(command, port=port, core=None, environment={}) as pid:
        client = PageClient(port)
        page = msgspec.json.decode(client.get("/api/v2/event/?limit=1000&offset=100"))
        detail = msgspec.json.decode(client.get(f"/api/v2/event/{listed[7].id}/"))
        client.close()
        assert len(process_tree(pid)) > 1
        assert largest_resident_bytes(pid) > 10_000_000
    assert page["count"] == len(listed) == len(given)
    assert page["results"] == [given[each.id]["listed"] for each in listed[100:1100]]
    assert detail == given[listed[7].id]["alone"]


def test_walk_over_single_events_exceeds_the_response_cache(folder: Path, listed: list[ListedEvent]) -> None:
    lines = (folder / "events.ndjson").read_bytes().splitlines()
    sizes = [len(msgspec.json.encode(msgspec.json.decode(line)["alone"])) for line in lines]
    total_bytes = sum(sizes) / EVENTS * 10_000
    assert total_bytes > CACHE_BYTES


def test_normalized_links_ignore_port_and_parameter_order() -> None:
    ours = {"next": "http://127.0.0.1:1/api/v2/event/?regions__in=0,1&limit=50&offset=0", "implied": ["b", "a"]}
    peers = {"next": "http://127.0.0.1:2/api/v2/event/?limit=50&regions__in=0%2C1", "implied": ["a", "b"]}
    assert normalize(ours) == normalize(peers)
    assert normalize(ours) != normalize({**peers, "next": "http://127.0.0.1:2/api/v2/event/?limit=50"})


@pytest.fixture(scope="module")
def ours(folder: Path) -> Iterator[Contender]:
    """A service with imports, assets and members written directly to its database."""
    data = ("--data", str(folder))
    output_of([str(FIELDGATE_COMMAND), "user", "create", USER, "--password-stdin", *data], stdin="correct horse\n")
    token = output_of([str(FIELDGATE_COMMAND), "token", "create", USER, *data])
    add_imports(f"sqlite:///{folder / 'fieldgate.db'}", USER, folder / "imports.ndjson")
    add_assets(folder, USER, 30)
    add_members(folder, 5)
    port = free_port()
    command = [str(FIELDGATE_COMMAND), "serve", "--port", str(port), *data, "--no-worker"]
    with run_server(command, port=port, core=None, environment={}):
        yield Contender("ours", port, token)


def work(name: str) -> Work:
    return next(each for each in WORKS if each.name == name)


def test_peer_gets_our_import_records(folder: Path, ours: Contender) -> None:
    body = send_request(work("imports list, token checked"), ours).body
    page = msgspec.json.decode(body)
    given = [msgspec.json.decode(line) for line in (folder / "imports.ndjson").read_bytes().splitlines()]
    assert page["count"] == len(given) > 2 * len(page["results"])
    listed = [{name: value for name, value in each.items() if name != "url"} for each in page["results"]]
    assert listed == given[:50]
    pages = work("imports list, token checked, cold").with_walk([]).paths
    assert len(pages) * len(body) > CACHE_BYTES


def test_added_assets_are_listed(ours: Contender) -> None:
    page = msgspec.json.decode(send_request(Work(name="assets", path="/api/v2/assets/", signed_in=True), ours).body)
    assert page["count"] == 30


def test_conditional_work_sends_the_etag(ours: Contender) -> None:
    known = work("one 304")
    assert send_request(known, with_etag(known, ours)).status == 304
    assert compare_responses(known, with_etag(known, ours), with_etag(known, ours)).body == b""


def test_import_responses_are_compared_without_generated_fields(ours: Contender) -> None:
    response = compare_responses(work("POST an import"), ours, ours)
    assert response.status == 201


def test_all_readers_of_a_list_return_the_same_records(ours: Contender, listed: list[ListedEvent]) -> None:
    url = f"http://127.0.0.1:{ours.port}"
    results = {each: run(Job(each, url, next(fresh_filters()), is_verified=True)) for each in READERS}
    require_same_records(results)
    assert {result.records for result in results.values()} == {len(listed)}
    one_less = run(Job("dicts", url, {"id__in": ",".join(str(each.id) for each in listed[1:])}, is_verified=True))
    with pytest.raises(ClickException, match="dicts returned other records"):
        require_same_records({**results, "dicts": one_less})
    results["typed"] = msgspec.structs.replace(results["typed"], typed_digest="of other fields")
    with pytest.raises(ClickException, match="typed returned other records"):
        require_same_records(results)


def test_a_reading_in_a_process_of_its_own(ours: Contender, listed: list[ListedEvent]) -> None:
    server = Server(os.getpid(), f"http://127.0.0.1:{ours.port}")
    result = server.read(TYPED, filters={"ordering": "-id"}, is_repeated=True)
    assert result.records == len(listed)
    assert result.cpu_seconds > 0
    assert 20_000_000 < result.peak_bytes < 500_000_000


def test_targets_of_the_client() -> None:
    def work(name: str, seconds: float, peak: int) -> ListWork:
        loop = [ReadResult(100, 4.0, 1, 1, 50_000_000)]
        typed = [ReadResult(100, seconds, 1, 1, peak)]
        return ListWork(name, 100, [Comparison(LOOP.name, loop, loop), Comparison(TYPED.name, typed, loop)])

    checks = client_checks_of([work("few", 0.5, 60_000_000), work("again", 2, 0), work("many", 1, 75_000_000)])
    assert [(check.found, check.is_met) for check in checks] == [(8, True), (2, False), (4, True), (15, False)]


def sample(rate: int) -> Sample:
    return Sample(requests=rate, microseconds=1_000_000, refused=0, broken=0, late=0, p50=100, p99=400)


def outcome(name: str, ours: list[int], peer: list[int], floor: list[int]) -> Outcome:
    return Outcome(name, 32, *([sample(rate) for rate in rates] for rates in (ours, peer, floor)))


def test_targets_use_the_median() -> None:
    found = outcome("a work", [700, 900, 800], [100, 100, 100], [2000, 2000, 2000])
    summary = Summary.of(found, Target(8, 0.45))
    assert summary.times_the_peer is not None
    assert (summary.times_the_peer.median, summary.share_of_floor.median) == (8, 0.4)
    assert (summary.reaches_peer_target, summary.reaches_floor_target) == (True, False)


def test_summary_without_a_peer() -> None:
    summary = Summary.of(outcome("a work", [700], [], [2000]), Target(None, 0.35))
    assert (summary.peer, summary.times_the_peer, summary.reaches_peer_target) == (None, None, None)
    assert summary.reaches_floor_target


@pytest.mark.parametrize(("found", "at_least", "at_most"), [(4.9, False, True), (5, True, True), (5.1, True, False)])
def test_limit_is_inclusive(found: float, at_least: bool, at_most: bool) -> None:
    assert Check.of("it", found, AT_LEAST, 5).is_met is at_least
    assert Check.of("it", found, AT_MOST, 5).is_met is at_most


def test_charts_are_self_contained(tmp_path: Path) -> None:
    outcomes = [outcome("a work", [700], [100], [2000]), outcome("50 events, warm", [5000], [], [9000])]
    summaries = [Summary.of(each, Target(8, 0.45)) for each in outcomes]
    disturbed, undisturbed = Round(350.0, 100, 900, 0.1), Round(350.0, 100, 400, 0.0)
    latencies = [Latency("a work", 700, [disturbed, undisturbed, disturbed], [undisturbed])]
    checks = checks_of(summaries, latencies, StartResults(10_000, [1.5], 90_000_000, 110_000_000), [])
    assert [check.is_met for check in checks] == [True, True, True, True]
    report = Report(
        machine=this_machine(), peer_server="granian", events=10_000, rounds=1, seconds=1, summaries=summaries,
        outcomes=outcomes, exports=[], latencies=latencies, starts=None, databases=[], checks=checks, left_out=[],
    )  # fmt: skip
    draw_rates(report, tmp_path / "rates.svg")
    draw_targets(report, tmp_path / "targets.svg")
    draw_growth("Pages", "events", "ms", {"first": [(1000, 0.5), (1_000_000, 0.6)]}, tmp_path / "growth.svg")
    for file in tmp_path.iterdir():
        drawn = ElementTree.parse(file)
        assert {each.tag.rpartition("}")[2] for each in drawn.iter()} > {"svg", "text", "path"}
        assert "href" not in file.read_text()


def test_slow_share() -> None:
    assert slow_share([1.0, 1.1, 1.2, 1.3] * 10) == 0
    assert slow_share([1.0, 1.1, 1.2, 1.3] * 9 + [2.5, 3.0, 9.0, 20.0]) == pytest.approx(0.1)
