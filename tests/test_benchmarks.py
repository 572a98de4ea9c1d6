"""The rig, as far as it can be wrong without anybody noticing: what it asks for, and what it takes for the same."""

from pathlib import Path

import msgspec
import pytest

from benchmarks.agreement import comparable
from benchmarks.asking import Asking
from benchmarks.contenders import KEPT_ANSWERS
from benchmarks.event_data import Listed, export
from benchmarks.memory import family, largest
from benchmarks.processes import free_port, output_of, serving
from benchmarks.walks import spread
from benchmarks.work import WORKS
from tests.processes import FIELDGATE

EVENTS = 2000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("benchmarks")
    output_of([str(FIELDGATE), "events", "demo", str(EVENTS), "--data", str(folder)])
    return folder


@pytest.fixture(scope="module")
def listed(folder: Path) -> list[Listed]:
    return export(folder, EVENTS, folder / "events.ndjson")


@pytest.mark.parametrize("count", [1, 2, 10, 97, 9703])
def test_a_spread_walk_comes_by_everything_once(count: int) -> None:
    assert sorted(spread(count)) == list(range(count))


def test_the_first_steps_of_a_walk_reach_all_of_the_list() -> None:
    first = sorted(spread(9703)[:20])
    assert first[0] < 970
    assert first[-1] > 8733


def test_cold_work_never_asks_for_the_same_twice(listed: list[Listed]) -> None:
    for work in WORKS:
        paths = work.over(listed).paths
        assert len(set(paths)) == len(paths)


def test_the_peer_is_given_what_we_answer(folder: Path, listed: list[Listed]) -> None:
    lines = [msgspec.json.decode(line) for line in (folder / "events.ndjson").read_bytes().splitlines()]
    given = {line["listed"]["id"]: line for line in lines}
    port = free_port()
    command = [str(FIELDGATE), "serve", "--port", str(port), "--data", str(folder), "--no-worker"]
    with serving(command, port=port, core=None, environment={}) as pid:
        asking = Asking(port)
        page = msgspec.json.decode(asking.get("/api/v2/event/?limit=1000&offset=100"))
        alone = msgspec.json.decode(asking.get(f"/api/v2/event/{listed[7].id}/"))
        asking.close()
        assert len(family(pid)) > 1
        assert largest(pid) > 10_000_000
    assert page["count"] == len(listed) == len(given)
    assert page["results"] == [given[each.id]["listed"] for each in listed[100:1100]]
    assert alone == given[listed[7].id]["alone"]


def test_a_walk_over_the_smallest_answers_is_longer_than_the_memory_for_them(
    folder: Path, listed: list[Listed]
) -> None:
    lines = (folder / "events.ndjson").read_bytes().splitlines()
    sizes = [len(msgspec.json.encode(msgspec.json.decode(line)["alone"])) for line in lines]
    of_ten_thousand = sum(sizes) / EVENTS * 10_000
    assert of_ten_thousand > int(KEPT_ANSWERS.removesuffix("MiB")) * 1024 * 1024


def test_links_mean_the_same_whatever_the_port_and_the_order_of_the_query() -> None:
    ours = {"next": "http://127.0.0.1:1/api/v2/event/?regions__in=0,1&limit=50&offset=0", "implied": ["b", "a"]}
    peers = {"next": "http://127.0.0.1:2/api/v2/event/?limit=50&regions__in=0%2C1", "implied": ["a", "b"]}
    assert comparable(ours) == comparable(peers)
    assert comparable(ours) != comparable({**peers, "next": "http://127.0.0.1:2/api/v2/event/?limit=50"})
