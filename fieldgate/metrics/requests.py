"""Request metrics and the access log.

Access log lines are JSON. They contain the path but never the query, headers or bodies, which may hold secrets. Of a
path with a secret they contain the template.
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
from time import perf_counter
from typing import NamedTuple, Protocol

from prometheus_client import generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from fieldgate.metrics.access_log import write_log_line
from fieldgate.metrics.shared_counters import (
    CounterKey,
    CounterSample,
    SharedCounters,
    SlotsExhausted,
    metrics_folder,
)
from fieldgate.settings import Settings

_REQUEST_ID_PATTERN = re.compile(rb"[A-Za-z0-9._:+/=-]{1,128}")
_REQUESTS, _SECONDS, _LAG = "fieldgate_requests", "fieldgate_request_seconds", "fieldgate_index_lag_seconds"
_REFUSALS, _READY = "fieldgate_rate_limited", "fieldgate_ready"
_BROKEN_OFF_EXPORTS = "fieldgate_exports_broken_off"
BUCKETS_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_SUM = len(BUCKETS_SECONDS) + 1

access_logger = logging.getLogger("fieldgate.access")
log = logging.getLogger("fieldgate.error")


class HasAddress(Protocol):
    @property
    def address(self) -> str: ...


class LoggedRequest(Protocol):
    """The parts of a request that are logged."""

    @property
    def method(self) -> str: ...

    @property
    def path(self) -> bytes: ...

    @property
    def client(self) -> HasAddress: ...


class _RequestSlots(NamedTuple):
    """The slots of one combination of method, path and status."""

    requests: int
    durations: int  # first slot: one for each bucket, one for +Inf and one for the sum


class RequestMetrics:
    def __init__(self, settings: Settings) -> None:
        self._access_log_enabled = settings.access_log
        self._counters = SharedCounters(metrics_folder())
        self._slots: dict[tuple[str, str, int], _RequestSlots] = {}
        self._duration_slots: dict[str, int] = {}
        self._refusal_slots: dict[str, int] = {}
        self._counts_all = True

    def request_id(self, headers: Mapping[bytes, bytes], *, is_trusted: bool) -> bytes:
        """The request id from a trusted proxy, or a new one."""
        given = headers.get(b"x-request-id", b"")
        if given and is_trusted and _REQUEST_ID_PATTERN.fullmatch(given):
            return given
        return os.urandom(8).hex().encode()

    def record_request(
        self, request: LoggedRequest, template: str, status: int, started: float, request_id: bytes, username: str
    ) -> None:
        """Count and log a request: counted by path template, which limits the number of series; logged by path."""
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
        """Count a request. If there is no slot left, an error is logged once and the request is not counted."""
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

    def count_refusal(self, policy: str) -> None:
        """Count a request that a rate limit refused. If there is no slot left, only its status is counted."""
        if policy not in self._refusal_slots:
            try:
                self._refusal_slots[policy] = self._counters.allocate((_REFUSALS, policy))
            except (SlotsExhausted, OSError):
                return
        self._counters.slots[self._refusal_slots[policy]] += 1

    def broken_off_counter(self) -> Callable[[], None]:
        """A function that counts an export that was broken off because its client was slow and others waited."""
        slots, slot = self._counters.slots, self._counters.allocate((_BROKEN_OFF_EXPORTS, "all"))

        def count() -> None:
            slots[slot] += 1

        return count

    def _allocate(self, key: tuple[str, str, int]) -> _RequestSlots:
        method, template, status = key
        if template not in self._duration_slots:
            bounds = [*map(str, BUCKETS_SECONDS), "+Inf", "sum"]
            self._duration_slots[template] = self._counters.allocate(*((_SECONDS, template, bound) for bound in bounds))
        requests = self._counters.allocate((_REQUESTS, method, template, str(status)))
        self._slots[key] = _RequestSlots(requests, self._duration_slots[template])
        return self._slots[key]

    def lag_setter(self, data: str) -> Callable[[float], None]:
        """A function that sets for how long responses have been based on an earlier version of some data."""
        return partial(self._counters.slots.__setitem__, self._counters.allocate((_LAG, data)))

    def to_prometheus(self, *, is_ready: bool | None = None) -> bytes:
        """The metrics of all processes of this server in Prometheus' text format; `is_ready` if it was checked."""
        return generate_latest(_SampleCollector(list(self._counters.samples()), is_ready))


class _SampleCollector(Collector):
    """Adds up the samples of all processes; the lag is the maximum of all live processes."""

    def __init__(self, samples: Sequence[CounterSample], is_ready: bool | None) -> None:
        self._samples = samples
        self._is_ready = is_ready

    def collect(self) -> Iterable[Metric]:
        requests = CounterMetricFamily(_REQUESTS, "Number of requests.", labels=["method", "path", "status"])
        seconds = HistogramMetricFamily(_SECONDS, "Duration of requests.", labels=["path"])
        lags = GaugeMetricFamily(
            _LAG, "For how long responses have been based on an earlier version of the data.", labels=["data"]
        )
        refusals = CounterMetricFamily(_REFUSALS, "Requests that a rate limit refused.", labels=["policy"])
        counts: defaultdict[CounterKey, float] = defaultdict(float)
        times: defaultdict[str, dict[str, float]] = defaultdict(dict)
        refused: defaultdict[str, float] = defaultdict(float)
        broken_off: float | None = None
        longest: defaultdict[str, float] = defaultdict(float)
        for (family, first, *others), number, is_alive in self._samples:
            if family == _REQUESTS:
                counts[first, *others] += number
            elif family == _SECONDS:
                times[first][others[0]] = times[first].get(others[0], 0.0) + number
            elif family == _REFUSALS:
                refused[first] += number
            elif family == _BROKEN_OFF_EXPORTS:
                broken_off = (broken_off or 0.0) + number
            elif is_alive:
                longest[first] = max(longest[first], number)
        for labels, count in counts.items():
            requests.add_metric(labels, count)
        for path, found in times.items():
            total = found.pop("sum")
            seconds.add_metric([path], list(zip(found, accumulate(found.values()), strict=True)), total)
        for data, lag in longest.items():
            lags.add_metric([data], lag)
        for policy, count in refused.items():
            refusals.add_metric([policy], count)
        exports = CounterMetricFamily(
            _BROKEN_OFF_EXPORTS, "Exports that were broken off: slow clients, while others waited.", broken_off
        )
        families: list[Metric] = [requests, seconds, lags, refusals, exports]
        if self._is_ready is not None:
            families.append(
                GaugeMetricFamily(_READY, "Whether the database can be used: 1, or 0.", float(self._is_ready))
            )
        return families


_KNOWN_METHODS = {"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"}
