"""Log lines in JSON on standard error."""

import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec


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
        "handlers": {
            "stderr": {
                "class": "logging.StreamHandler",
                "formatter": "json",
                "stream": "ext://sys.stderr",
            }
        },
        "root": {"level": level.upper(), "handlers": ["stderr"]},
        "loggers": {
            **{name: {"level": "WARNING"} for name in QUIET_LOGGERS},
            _RETRYING_LOGGER: {"level": "ERROR"},
        },
    }


def write_log_line(line: Mapping[str, Any]) -> None:
    """Write a line at once, so that lines of several processes do not mix."""
    sys.stderr.buffer.write(msgspec.json.encode(line) + b"\n")
    sys.stderr.buffer.flush()
