"""Metrics of several processes; the output equals that of prometheus-client."""

import logging
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from fieldgate.metrics.requests import BUCKETS_SECONDS, RequestMetrics
from fieldgate.metrics.shared_counters import (
    MAX_SLOTS,
    METRICS_DIR_VARIABLE,
    NAMES_SUFFIX,
    SLOTS_SUFFIX,
    SharedCounters,
)
from fieldgate.settings import Settings

requests = st.tuples(
    st.sampled_from(["GET", "POST"]),
    st.sampled_from(["/a/", '/b/{"id"}/']),
    st.sampled_from([200, 404]),
    st.one_of(st.sampled_from(BUCKETS_SECONDS), st.floats(0, 20)),
)


def samples_of(exposition: bytes) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """All samples of an exposition, without those of creation times."""
    return {
        (sample.name, frozenset(sample.labels.items())): round(sample.value, 9)
        for family in text_string_to_metric_families(exposition.decode())
        for sample in family.samples
        if not sample.name.endswith("_created")
    }


def own_exposition(observed: list[tuple[str, str, int, float]]) -> bytes:
    """The same requests, counted by prometheus-client."""
    registry = CollectorRegistry()
    requests = Counter("fieldgate_requests", "Requests.", ["method", "path", "status"], registry=registry)
    times = Histogram("fieldgate_request_seconds", "Times.", ["path"], buckets=BUCKETS_SECONDS, registry=registry)
    for method, path, status, seconds in observed:
        requests.labels(method, path, str(status)).inc()
        times.labels(path).observe(seconds)
    return generate_latest(registry)


@given(st.lists(requests))
def test_output_equals_that_of_prometheus_client(observed: list[tuple[str, str, int, float]]) -> None:
    metrics = RequestMetrics(Settings())
    for method, path, status, seconds in observed:
        metrics.count_request(method, path, status, seconds)
    assert samples_of(metrics.to_prometheus()) == samples_of(own_exposition(observed))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the processes of a server share."""
    monkeypatch.setenv(METRICS_DIR_VARIABLE, str(tmp_path))
    return tmp_path


def lag(seconds: float) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    return {("fieldgate_index_lag_seconds", frozenset({("data", "events")})): seconds}


_ANOTHER = """
from fieldgate.metrics.requests import RequestMetrics
from fieldgate.settings import Settings
metrics = RequestMetrics(Settings())
metrics.count_request("GET", "/a/", 200, 0.003)
metrics.lag_setter("events")(9.0)
"""


@pytest.mark.usefixtures("folder")
def test_counts_of_an_ended_process_stay_and_its_lag_does_not() -> None:
    subprocess.run([sys.executable, "-c", _ANOTHER], check=True)
    metrics = RequestMetrics(Settings())
    metrics.count_request("GET", "/a/", 200, 0.003)
    tell_lag = metrics.lag_setter("events")
    tell_lag(2.5)
    counted = samples_of(own_exposition([("GET", "/a/", 200, 0.003)] * 2))
    assert samples_of(metrics.to_prometheus()) == counted | lag(2.5)
    tell_lag(0.0)
    assert samples_of(metrics.to_prometheus()) == counted | lag(0.0)


@pytest.mark.usefixtures("folder")
def test_lag_of_another_process_is_reported_until_it_is_killed() -> None:
    waiting = _ANOTHER + "print(flush=True)\ninput()"
    metrics = RequestMetrics(Settings())
    counted = samples_of(own_exposition([("GET", "/a/", 200, 0.003)]))
    with subprocess.Popen([sys.executable, "-c", waiting], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as another:
        assert another.stdout
        another.stdout.readline()
        assert samples_of(metrics.to_prometheus()) == counted | lag(9.0)
        another.kill()
    assert samples_of(metrics.to_prometheus()) == counted


def test_process_ids_may_be_reused(folder: Path) -> None:
    subprocess.run([sys.executable, "-c", _ANOTHER], check=True)
    for file in list(folder.iterdir()):
        file.rename(file.with_stem(f"{os.getpid()}{file.stem.lstrip('0123456789')}"))
    metrics = RequestMetrics(Settings())
    metrics.count_request("GET", "/a/", 200, 0.003)
    assert samples_of(metrics.to_prometheus()) == samples_of(own_exposition([("GET", "/a/", 200, 0.003)] * 2)), (
        "and no lag"
    )


@pytest.mark.usefixtures("folder")
def test_longest_lag_is_reported() -> None:
    one, other = RequestMetrics(Settings()), RequestMetrics(Settings())
    tell_one, tell_other = one.lag_setter("events"), other.lag_setter("events")
    # Either may be read first; so the longer one is, once.
    for of_one, of_other in ((1.0, 5.0), (5.0, 1.0)):
        tell_one(of_one)
        tell_other(of_other)
        assert samples_of(one.to_prometheus()) == lag(5.0)


@contextmanager
def no_file_longer_than(size: int) -> Iterator[None]:
    """Like a full disk: the last write is incomplete, and the next ones fail."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_full_disk_only_loses_counts(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    metrics = RequestMetrics(Settings())
    metrics.count_request("GET", "/a/", 200, 0.003)
    names = next(folder.glob(f"*{NAMES_SUFFIX}"))
    for _ in range(MAX_SLOTS // len(BUCKETS_SECONDS)):  # if each of them took slots, none were left
        with no_file_longer_than(names.stat().st_size + 10):
            metrics.count_request("GET", "/b/", 200, 0.003)
    assert samples_of(metrics.to_prometheus()) == samples_of(own_exposition([("GET", "/a/", 200, 0.003)]))
    assert [record.getMessage() for record in caplog.records] == ["some requests are not counted"]
    counted = [("GET", path, 200, 0.003) for path in ("/a/", "/c/", "/b/")]
    for each in counted[1:]:
        metrics.count_request(*each)
    assert samples_of(metrics.to_prometheus()) == samples_of(own_exposition(counted))


def test_exhausted_slots_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    metrics = RequestMetrics(Settings())
    with caplog.at_level(logging.ERROR):
        for number in range(MAX_SLOTS // len(BUCKETS_SECONDS)):
            metrics.count_request("GET", f"/{number}/", 200, 0.003)
    metrics.count_request("GET", "/0/", 200, 0.003)
    labels = {"method": "GET", "path": "/0/", "status": "200"}
    assert samples_of(metrics.to_prometheus())["fieldgate_requests_total", frozenset(labels.items())] == 2.0
    assert [record.getMessage() for record in caplog.records] == ["some requests are not counted"]


# Ends before it opens the given one of the files it shares.
_STARTING = """
import os, sys
from fieldgate.metrics.shared_counters import METRICS_DIR_VARIABLE
left = int(sys.argv[1])

def count_down(event, arguments):
    global left
    if event == "open" and str(arguments[0]).startswith(os.environ[METRICS_DIR_VARIABLE]):
        left -= 1
        if left == 0:
            os._exit(9)

sys.addaudithook(count_down)
"""


@pytest.mark.usefixtures("folder")
def test_metrics_can_be_read_while_a_process_starts() -> None:
    metrics = RequestMetrics(Settings())
    metrics.count_request("GET", "/a/", 200, 0.003)
    for opened in range(1, 10):
        command = [sys.executable, "-c", _STARTING + _ANOTHER, str(opened)]
        has_started = subprocess.run(command, check=False).returncode == 0
        counted = samples_of(metrics.to_prometheus())
        if has_started:
            break
    assert has_started
    assert opened > 2, "there was something to end before"
    assert counted["fieldgate_request_seconds_count", frozenset({("path", "/a/")})] > 1.0


def test_incomplete_names_are_skipped(folder: Path) -> None:
    metrics = RequestMetrics(Settings())
    metrics.count_request("GET", "/é/", 200, 0.003)
    counted = samples_of(metrics.to_prometheus())
    names, slots = next(folder.glob(f"*{NAMES_SUFFIX}")), next(folder.glob(f"*{SLOTS_SUFFIX}"))
    names.with_stem("another").write_bytes(whole := names.read_bytes())
    slots.with_stem("another").write_bytes(bytes(slots.stat().st_size))
    for cut in range(len(whole)):
        names.with_stem("another").write_bytes(whole[:cut])
        assert samples_of(metrics.to_prometheus()) == counted


def test_invalid_line_is_skipped(folder: Path) -> None:
    ledger = SharedCounters(folder)
    ledger.slots[ledger.allocate(("a",))] = 1.0
    with next(folder.glob(f"*{NAMES_SUFFIX}")).open("ab") as file:
        file.write(b'\n[1,[["b\xff"]]]\n{}\n[1,[["c"')
    ledger.slots[ledger.allocate(("d",), ("e",)) + 1] = 2.0
    assert [(each.key, each.value) for each in ledger.samples()] == [(("a",), 1.0), (("d",), 0.0), (("e",), 2.0)]
