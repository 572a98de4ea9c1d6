"""Measurements: counted in shared numbers, told as Prometheus' own library would, of all processes together."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from fieldgate.http.measuring import NAMES, SHARED_IN, Numbers
from fieldgate.http.observation import BUCKETS, Observer
from fieldgate.settings import Settings

requests = st.tuples(
    st.sampled_from(["GET", "POST"]),
    st.sampled_from(["/a/", '/b/{"id"}/']),
    st.sampled_from([200, 404]),
    st.one_of(st.sampled_from(BUCKETS), st.floats(0, 20)),
)


def told(exposition: bytes) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Every number of an exposition, but when the library began to count."""
    return {
        (sample.name, frozenset(sample.labels.items())): round(sample.value, 9)
        for family in text_string_to_metric_families(exposition.decode())
        for sample in family.samples
        if not sample.name.endswith("_created")
    }


def own_exposition(observed: list[tuple[str, str, int, float]]) -> bytes:
    """The same requests, counted and told by the library itself."""
    registry = CollectorRegistry()
    answered = Counter("fieldgate_requests", "Requests.", ["method", "path", "status"], registry=registry)
    times = Histogram("fieldgate_request_seconds", "Times.", ["path"], buckets=BUCKETS, registry=registry)
    for method, path, status, seconds in observed:
        answered.labels(method, path, str(status)).inc()
        times.labels(path).observe(seconds)
    return generate_latest(registry)


@given(st.lists(requests))
def test_requests_are_told_as_by_the_library(observed: list[tuple[str, str, int, float]]) -> None:
    observer = Observer(Settings())
    for method, path, status, seconds in observed:
        observer.measure(method, path, status, seconds)
    assert told(observer.exposition()) == told(own_exposition(observed))


_ANOTHER = """
from fieldgate.http.observation import Observer
from fieldgate.settings import Settings
observer = Observer(Settings())
observer.measure("GET", "/a/", 200, 0.003)
observer.lag_of("events")(9.0)
"""


def test_what_another_process_counted_stays_when_it_ends_and_its_lag_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SHARED_IN, str(tmp_path))
    subprocess.run([sys.executable, "-c", _ANOTHER], check=True)
    observer = Observer(Settings())
    observer.measure("GET", "/a/", 200, 0.003)
    lag = observer.lag_of("events")
    lag(2.5)
    found = told(observer.exposition())
    lags = {("fieldgate_index_lag_seconds", frozenset({("data", "events")})): 2.5}
    assert found == told(own_exposition([("GET", "/a/", 200, 0.003)] * 2)) | lags
    lag(0.0)
    assert told(observer.exposition()) == found | dict.fromkeys(lags, 0.0)


def test_the_longest_lag_is_told(tmp_path: Path) -> None:
    ours = Numbers(tmp_path)
    ours.places[ours.take(("a",))] = 1.0
    # A process of somebody else, which is there for sure: the first of all.
    for file in list(tmp_path.iterdir()):
        file.with_stem("1").write_bytes(file.read_bytes())
    assert [(each.number, each.is_alive) for each in ours.all()] == [(1.0, True), (1.0, True)]


def test_a_name_that_is_not_yet_written_whole_is_not_read(tmp_path: Path) -> None:
    numbers = Numbers(tmp_path)
    numbers.places[numbers.take(("a",))] = 1.0
    with (tmp_path / f"{os.getpid()}{NAMES}").open("ab") as file:
        file.write(b'["b')
    assert [(each.name, each.number) for each in numbers.all()] == [(("a",), 1.0)]
