"""Request metrics and the access log.

Access log lines are JSON. They contain the path but never the query, headers or bodies, which may hold secrets. Of a
path with a secret they contain the template.
"""

import fcntl
import logging
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple, Protocol

import msgspec
from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from fieldgate.settings import Settings

_REQUEST_ID_PATTERN = re.compile(rb"[A-Za-z0-9._:+/=-]{1,128}")
BUCKETS_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

_KNOWN_METHODS = {"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"}


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
            "fieldgate_requests", "Number of requests.", ["method", "path", "status"], registry=registry
        )
        self._seconds = Histogram(
            "fieldgate_request_seconds", "Duration of requests.", ["path"], buckets=BUCKETS_SECONDS, registry=registry
        )
        self._refusals = Counter(
            "fieldgate_rate_limited", "Requests that a rate limit refused.", ["policy"], registry=registry
        )
        self._series: dict[tuple[str, str, int], _Series] = {}

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


class JSONFormatter(logging.Formatter):
    """Formats log records as JSON lines."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.now(UTC),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            "logger": record.name,
        }
        for name in ("request_id", "path"):
            if hasattr(record, name):
                line[name] = getattr(record, name)
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line).decode()


# Libraries that log every step; lines of httpcore would contain request headers.
QUIET_LOGGERS = ("_granian", "aiosqlite", "httpcore")
# Logs a traceback for each attempt to connect during an outage, which has its own line in the log.
_RETRYING_LOGGER = "asyncpg.pool"


def logging_config(level: str) -> dict[str, Any]:
    """Configuration of `logging`: everything as JSON lines on standard error."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": {"()": JSONFormatter}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json", "stream": "ext://sys.stderr"}},
        "root": {"level": level.upper(), "handlers": ["stderr"]},
        "loggers": {**{name: {"level": "WARNING"} for name in QUIET_LOGGERS}, _RETRYING_LOGGER: {"level": "ERROR"}},
    }


def write_log_line(line: Mapping[str, Any]) -> None:
    """Write a line at once, so that lines of several processes do not mix."""
    sys.stderr.buffer.write(msgspec.json.encode(line) + b"\n")
    sys.stderr.buffer.flush()


FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"  # read by prometheus-client, when it is imported
FOLDER_PREFIX = "fieldgate-metrics-"
_MIN_AGE_SECONDS = 60  # a server that is starting may not have locked its folder yet


def create_metrics_folder() -> Path:
    """Create a folder for this server, locked until it ends, and delete those of servers that were killed."""
    for other in Path(tempfile.gettempdir()).glob(f"{FOLDER_PREFIX}*"):
        with suppress(OSError):  # in use, or not ours
            _delete_stale(other)
    folder = Path(tempfile.mkdtemp(prefix=FOLDER_PREFIX))
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)  # stays open: the kernel releases the lock at the end
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    os.environ[FOLDER_VARIABLE] = str(folder)
    return folder


def _delete_stale(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        status = os.fstat(descriptor)
        if status.st_uid == os.geteuid() and status.st_mtime < time.time() - _MIN_AGE_SECONDS:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder)  # follows no links
    finally:
        os.close(descriptor)
