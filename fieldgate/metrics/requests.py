"""What operators see: a log line and a measurement for every request, tied together by its id.

Log lines are JSON, one a line. They hold the path but never the query, headers or bodies: no secret gets there.
"""

import logging
import os
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import accumulate
from pathlib import Path
from time import perf_counter
from typing import NamedTuple, Protocol

from prometheus_client import generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from fieldgate.metrics.access_log import write_log_line
from fieldgate.metrics.shared_counters import (
    METRICS_DIR_VARIABLE,
    CounterKey,
    CounterSample,
    SharedCounters,
    SlotsExhausted,
)
from fieldgate.settings import Settings

_REQUEST_ID_PATTERN = re.compile(rb"[A-Za-z0-9._:+/=-]{1,128}")
_REQUESTS, _SECONDS, _LAG = "fieldgate_requests", "fieldgate_request_seconds", "fieldgate_index_lag_seconds"
BUCKETS_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_SUM = len(BUCKETS_SECONDS) + 1

access_logger = logging.getLogger("fieldgate.access")
log = logging.getLogger("fieldgate.error")


class HasAddress(Protocol):
    @property
    def address(self) -> str: ...


class LoggedRequest(Protocol):
    """What is told of a request."""

    @property
    def method(self) -> str: ...

    @property
    def path(self) -> bytes: ...

    @property
    def client(self) -> HasAddress: ...


class _RequestSlots(NamedTuple):
    """Where the numbers of a kind of request are: how many there were, and how long they took."""

    requests: int
    durations: int  # a slot for each bucket, one for what took longer, and one for the sum


class RequestMetrics:
    def __init__(self, settings: Settings) -> None:
        self._access_log_enabled = settings.access_log
        self._counters = SharedCounters(
            Path(os.environ[METRICS_DIR_VARIABLE]) if METRICS_DIR_VARIABLE in os.environ else None
        )
        self._slots: dict[tuple[str, str, int], _RequestSlots] = {}
        self._duration_slots: dict[str, int] = {}
        self._counts_all = True

    def request_id(self, headers: Mapping[bytes, bytes], *, is_trusted: bool) -> bytes:
        """The id a trusted proxy gave the request, else a new one."""
        given = headers.get(b"x-request-id", b"")
        if given and is_trusted and _REQUEST_ID_PATTERN.fullmatch(given):
            return given
        return os.urandom(8).hex().encode()

    def record_request(
        self, request: LoggedRequest, template: str, status: int, started: float, request_id: bytes, username: str
    ) -> None:
        """Count and log one answered request. The template bounds the number of series; the path is logged."""
        seconds = perf_counter() - started
        self.count_request(request.method, template, status, seconds)
        if self._access_log_enabled:
            write_log_line(
                {
                    "time": datetime.now(UTC),
                    "level": "info",
                    "event": "request",
                    "request_id": request_id.decode("latin-1"),
                    "method": request.method,
                    "path": request.path.decode("latin-1"),
                    "status": status,
                    "ms": round(seconds * 1000, 2),
                    "client": request.client.address,
                    "user": username,
                }
            )

    def count_request(self, method: str, template: str, status: int, seconds: float) -> None:
        """Count a request, unless there is no slot for it: that is no reason to answer it differently."""
        key = (method if method in _KNOWN_METHODS else "OTHER", template, status)
        try:
            at = self._slots.get(key) or self._allocate(key)
        except (SlotsExhausted, OSError) as error:
            if self._counts_all:
                self._counts_all = False
                log.error("some requests are not counted", exc_info=error)
            return
        slots = self._counters.slots
        slots[at.requests] += 1
        slots[at.durations + bisect_left(BUCKETS_SECONDS, seconds)] += 1
        slots[at.durations + _SUM] += seconds

    def _allocate(self, key: tuple[str, str, int]) -> _RequestSlots:
        method, template, status = key
        if template not in self._duration_slots:
            bounds = [*map(str, BUCKETS_SECONDS), "+Inf", "sum"]
            self._duration_slots[template] = self._counters.allocate(*((_SECONDS, template, bound) for bound in bounds))
        answered = self._counters.allocate((_REQUESTS, method, template, str(status)))
        self._slots[key] = _RequestSlots(answered, self._duration_slots[template])
        return self._slots[key]

    def lag_setter(self, data: str) -> Callable[[float], None]:
        """Where to tell for how long answers have been of an earlier state of some data."""
        return partial(self._counters.slots.__setitem__, self._counters.allocate((_LAG, data)))

    def to_prometheus(self) -> bytes:
        """The measurements in Prometheus' text format, of all processes of this server together."""
        return generate_latest(_SampleCollector(list(self._counters.samples())))


class _SampleCollector(Collector):
    """What the processes have written down, added up; of their lags the longest is told."""

    def __init__(self, samples: Sequence[CounterSample]) -> None:
        self._samples = samples

    def collect(self) -> Iterable[Metric]:
        requests = CounterMetricFamily(_REQUESTS, "Requests answered.", labels=["method", "path", "status"])
        seconds = HistogramMetricFamily(_SECONDS, "Time to answer.", labels=["path"])
        lags = GaugeMetricFamily(
            _LAG, "For how long answers have been of an earlier state of the data.", labels=["data"]
        )
        counts: defaultdict[CounterKey, float] = defaultdict(float)
        times: defaultdict[str, dict[str, float]] = defaultdict(dict)
        longest: defaultdict[str, float] = defaultdict(float)
        for (family, first, *others), number, is_alive in self._samples:
            if family == _REQUESTS:
                counts[first, *others] += number
            elif family == _SECONDS:
                times[first][others[0]] = times[first].get(others[0], 0.0) + number
            elif is_alive:
                longest[first] = max(longest[first], number)
        for labels, count in counts.items():
            requests.add_metric(labels, count)
        for path, found in times.items():
            total = found.pop("sum")
            seconds.add_metric([path], list(zip(found, accumulate(found.values()), strict=True)), total)
        for data, lag in longest.items():
            lags.add_metric([data], lag)
        return [requests, seconds, lags]


_KNOWN_METHODS = {"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"}
