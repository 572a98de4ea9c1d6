"""When to try again, and how long to wait. Pure functions over headers and numbers."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

import msgspec

RETRY_STATUSES = frozenset({408, 425, 429, *range(500, 600)})
MAX_RETRY_AFTER_SECONDS = 2 * 60  # a server that asks for more is tried again after this
_RATE_LIMIT_NUMBERS = re.compile(r";\s*(r|t)\s*=\s*(\d+)")


class RetryPolicy(msgspec.Struct, frozen=True):
    """How often a request is tried, and the pauses in between: doubled each time, with jitter."""

    attempts: int = 8
    first_pause: float = 0.5  # seconds
    longest_pause: float = 60

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ValueError("attempts must be at least 1.")

    def pause(self, attempt: int, retry_after: float | None) -> float:
        """Seconds to wait after this failed attempt, counted from 0. The server's own wish is honoured."""
        backoff = min(self.first_pause * 2.0**attempt, self.longest_pause) * random.uniform(0.5, 1)  # noqa: S311 -- jitter
        return (
            backoff
            if retry_after is None
            else min(retry_after, MAX_RETRY_AFTER_SECONDS) + backoff / 10
        )


def parse_retry_after(text: str, now: datetime | None = None) -> float | None:
    """Seconds to wait: the header is a number of seconds or a date."""
    text = text.strip()
    if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text):
        return float(text)
    date = parse_http_date(text)
    return (
        None
        if date is None
        else max(0.0, (date - (now or datetime.now(timezone.utc))).total_seconds())
    )


def parse_rate_limit(headers: Mapping[str, str]) -> float | None:
    """Seconds until the server accepts another request, or None if it still does: `RateLimit: "default";r=0;t=30`."""
    numbers = {
        name: int(number[:9])
        for name, number in _RATE_LIMIT_NUMBERS.findall(headers.get("ratelimit", ""))
    }
    if numbers.get("r", 1) > 0 or "t" not in numbers:
        return None
    return float(min(numbers["t"], MAX_RETRY_AFTER_SECONDS))


def parse_http_date(text: str) -> datetime | None:
    try:
        parsed = parsedate_to_datetime(text)
        return (
            parsed.replace(tzinfo=timezone.utc)
            if parsed.tzinfo is None
            else parsed.astimezone(timezone.utc)
        )
    except (ValueError, TypeError, OverflowError):
        return None
