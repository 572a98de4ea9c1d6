"""What operators see: a log line and a measurement for every request, tied together by its id.

Log lines are JSON, one a line. They hold the path but never the query, headers or bodies: no secret gets there.
"""

import logging
import os
import re
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from time import perf_counter
from typing import Any, Protocol

import msgspec

from fieldgate.settings import Settings

_GIVEN_ID = re.compile(rb"[A-Za-z0-9._:+/=-]{1,128}")
_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

access = logging.getLogger("fieldgate.access")


class Machine(Protocol):
    @property
    def address(self) -> str: ...


class Observed(Protocol):
    """What is told of a request."""

    @property
    def method(self) -> str: ...

    @property
    def path(self) -> bytes: ...

    @property
    def client(self) -> Machine: ...


class Observer:
    def __init__(self, settings: Settings) -> None:
        # Imported here: the library looks once, when it is loaded, whether it shall share numbers between processes.
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

        self._writes_access = settings.access_log
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "fieldgate_requests", "Requests answered.", ["method", "path", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "fieldgate_request_seconds",
            "Time to answer.",
            ["path"],
            buckets=_BUCKETS,
            registry=self._registry,
        )
        # Set by whoever keeps a copy of data; of several processes the one that lags most is told.
        self.lag = Gauge(
            "fieldgate_index_lag_seconds",
            "For how long answers have been of an earlier state of the data.",
            ["data"],
            multiprocess_mode="livemax",
            registry=self._registry,
        )
        self._counters: dict[tuple[str, str, int], Any] = {}
        self._timers: dict[str, Any] = {}

    def request_id(self, headers: Mapping[bytes, bytes], *, is_trusted: bool) -> bytes:
        """The id a trusted proxy gave the request, else a new one."""
        given = headers.get(b"x-request-id", b"")
        if given and is_trusted and _GIVEN_ID.fullmatch(given):
            return given
        return os.urandom(8).hex().encode()

    def observe(
        self, request: Observed, template: str, status: int, started: float, request_id: bytes, username: str
    ) -> None:
        """Count and log one answered request. The template bounds the number of series; the path is logged."""
        seconds = perf_counter() - started
        key = (request.method if request.method in _KNOWN_METHODS else "OTHER", template, status)
        counter = self._counters.get(key)
        if counter is None:
            counter = self._counters[key] = self._requests.labels(key[0], template, str(status))
            self._timers.setdefault(template, self._seconds.labels(template))
        counter.inc()
        self._timers[template].observe(seconds)
        if self._writes_access:
            write_line(
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

    def exposition(self) -> bytes:
        """The measurements in Prometheus' text format, of all processes of this server together."""
        from prometheus_client import CollectorRegistry, generate_latest, multiprocess

        registry = self._registry
        if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
            registry = CollectorRegistry()
            multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)


_KNOWN_METHODS = {"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"}


class JsonLines(logging.Formatter):
    """Log records of the standard library as JSON lines."""

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


# Libraries that write a line for all they do; httpcore's hold the headers of what it fetches.
QUIET = ("_granian", "aiosqlite", "httpcore")


def logging_config(level: str) -> dict[str, Any]:
    """The standard library's logging, all of it as JSON lines on standard error."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": {"()": JsonLines}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json", "stream": "ext://sys.stderr"}},
        "root": {"level": level.upper(), "handlers": ["stderr"]},
        "loggers": {name: {"level": "WARNING"} for name in QUIET},
    }


def write_line(line: Mapping[str, Any]) -> None:
    """One line, written whole: the lines of several processes do not mix."""
    sys.stderr.buffer.write(msgspec.json.encode(line) + b"\n")
    sys.stderr.buffer.flush()
