"""Request metrics, and the lines of the access log.

Lines contain the path but never the query, headers or bodies, which may hold secrets. Of a path with a secret they
contain the template.
"""

import os
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from time import perf_counter
from typing import NamedTuple

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from fieldgate.metrics.access_log import write_log_line
from fieldgate.metrics.metrics_folder import FOLDER_VARIABLE
from fieldgate.settings import Settings

_REQUEST_ID_PATTERN = re.compile(rb"[A-Za-z0-9._:+/=-]{1,128}")
BUCKETS_SECONDS = (
    0.0005,
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
)

_KNOWN_METHODS = {"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"}


class _Series(NamedTuple):
    """The counters of one combination of method, path and status."""

    requests: Counter
    seconds: Histogram


disable_created_metrics()  # type: ignore[no-untyped-call]  # processes that share their metrics have none


class RequestMetrics:
    """Counts with prometheus-client. Processes of `fieldgate serve` share the folder of `FOLDER_VARIABLE`."""

    def __init__(self, settings: Settings) -> None:
        self._access_log_enabled = settings.access_log
        self._registry = registry = CollectorRegistry()
        self._requests = Counter(
            "fieldgate_requests",
            "Number of requests.",
            ["method", "path", "status"],
            registry=registry,
        )
        self._seconds = Histogram(
            "fieldgate_request_seconds",
            "Duration of requests.",
            ["path"],
            buckets=BUCKETS_SECONDS,
            registry=registry,
        )
        self._refusals = Counter(
            "fieldgate_rate_limited",
            "Requests that a rate limit refused.",
            ["policy"],
            registry=registry,
        )
        self._series: dict[tuple[str, str, int], _Series] = {}

    def request_id(self, headers: Mapping[bytes, bytes], *, is_trusted: bool) -> bytes:
        """The request id from a trusted proxy, or a new one."""
        given = headers.get(b"x-request-id", b"")
        if given and is_trusted and _REQUEST_ID_PATTERN.fullmatch(given):
            return given
        return os.urandom(8).hex().encode()

    def record_request(
        self,
        method: str,
        path: bytes,
        template: str,
        status: int,
        started: float,
        request_id: bytes,
        client_address: str,
        username: str,
    ) -> None:
        """Count and log a request: counted by path template, which limits the number of series; logged by path."""
        seconds = perf_counter() - started
        self.count_request(method, template, status, seconds)
        if self._access_log_enabled:
            write_log_line(
                {
                    "time": datetime.now(UTC),
                    "level": "info",
                    "event": "request",
                    "request_id": request_id.decode("latin-1"),
                    "method": method,
                    "path": path.decode("latin-1"),
                    "status": status,
                    "ms": round(seconds * 1000, 2),
                    "client": client_address,
                    "user": username,
                }
            )

    def count_request(self, method: str, template: str, status: int, seconds: float) -> None:
        key = (method if method in _KNOWN_METHODS else "OTHER", template, status)
        series = self._series.get(key)
        if series is None:
            requests = self._requests.labels(key[0], template, str(status))
            series = self._series[key] = _Series(requests, self._seconds.labels(template))
        series.requests.inc()
        series.seconds.observe(seconds)

    def count_refusal(self, policy: str) -> None:
        """Count a request that a rate limit refused."""
        self._refusals.labels(policy).inc()

    def to_prometheus(self, *, is_ready: bool | None = None) -> bytes:
        """The metrics of all processes of this server in Prometheus' text format; `is_ready` if it was checked."""
        registry = self._registry
        if FOLDER_VARIABLE in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        text = generate_latest(registry)
        return text if is_ready is None else text + generate_latest(_ReadyCollector(is_ready))


class _ReadyCollector(Collector):
    def __init__(self, is_ready: bool) -> None:
        self._is_ready = is_ready

    def collect(self) -> Iterable[Metric]:
        text = "Whether the database can be used: 1, or 0."
        return [GaugeMetricFamily("fieldgate_ready", text, float(self._is_ready))]
