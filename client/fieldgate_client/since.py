"""What changed since a time: `client.events(since=…)`, and from when to ask next time."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone

import msgspec

from fieldgate_client.errors import FieldgateError
from fieldgate_client.filters import format_timestamp
from fieldgate_client.pages import Page

CHANGED_SINCE = "updated_at__gte"
# Asked for again next time: pages can be a little old, clocks tell seconds, and writes are dated before their commit.
SINCE_MARGIN = timedelta(minutes=5)
_DATE_CHARS = 10


class ChangesUnknown(FieldgateError):
    """The server cannot tell what changed since a time."""


def parse_since(value: str | date | datetime) -> datetime:
    """A time in UTC. Without a time of day it is midnight, without a zone UTC."""
    if isinstance(value, str):
        text = value.strip()
        try:
            value = msgspec.convert(f"{text}T00:00:00" if len(text) == _DATE_CHARS else text, datetime)
        except msgspec.ValidationError:
            raise ValueError(f"{text!r} is not a time. Write it such as 2026-11-01 or 2026-11-01T06:30:00Z.") from None
    elif not isinstance(value, datetime):
        if not isinstance(value, date):
            raise TypeError(f"since must be a text, date or datetime, not {type(value).__name__}.")
        value = datetime(value.year, value.month, value.day)
    return value.replace(tzinfo=timezone.utc) if value.tzinfo is None else value.astimezone(timezone.utc)


def next_since(clock: datetime | None) -> datetime:
    """From when to ask for changes next time, if the first page was sent at this time of the server's clock."""
    if clock is None:
        raise FieldgateError("next_since is known after the first page, from servers that tell the time.")
    return clock - SINCE_MARGIN


def since_parameters(since: datetime | None) -> list[tuple[str, str]]:
    return [] if since is None else [(CHANGED_SINCE, format_timestamp(since))]


def check_page_of_changes(page: Page, server: str) -> None:
    """A server that does not know the filter returns everything, which must not pass for what changed."""
    if not page.is_fieldgate or CHANGED_SINCE in page.ignored_parameters:
        raise ChangesUnknown(f"{server} cannot tell what changed since a time. Leave out since= to read everything.")
