"""What changed since a time: `client.events(since=…)`, what was deleted meanwhile, and from when to ask next time."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import msgspec

from fieldgate_client.errors import FieldgateError
from fieldgate_client.filters import format_timestamp

if TYPE_CHECKING:
    from fieldgate_client.list_query import ListQuery
    from fieldgate_client.pages import Page

CHANGED_SINCE = "updated_at__gte"
DELETED_PATH = "event/deleted/"
# Requested again next time: pages can be a little old (a second on PostgreSQL, longer while a large index is
# rebuilt), clocks tell seconds, and a write is dated before it is committed.
SINCE_MARGIN = timedelta(minutes=5)
# A server that copies events from another one dates them by the clock of the other. What it copies later was changed
# after the newest event that it had, except for what changed during its own run.
COPIED_MARGIN = timedelta(days=1)
_OFFSET_WITHOUT_COLON = re.compile(r"([+-]\d\d)(\d\d)$")
_FRACTION = re.compile(r"\.(\d+)")


class ChangesUnknown(FieldgateError):
    """The server cannot tell what changed since a time."""


def parse_since(value: str | date | datetime) -> datetime:
    """A time in UTC. Without a time of day it is midnight, without a zone UTC."""
    if isinstance(value, str):
        value = _parse_timestamp(value)
    elif not isinstance(value, datetime):
        if not isinstance(value, date):
            raise TypeError(f"since must be a text, date or datetime, not {type(value).__name__}.")
        value = datetime(value.year, value.month, value.day)
    return value.replace(tzinfo=timezone.utc) if value.tzinfo is None else value.astimezone(timezone.utc)


def _parse_timestamp(text: str) -> datetime:
    """ISO 8601, also the forms that Python 3.10 does not read: Z, offsets without a colon, any number of digits."""
    wanted = text.strip()
    if wanted[-1:] in ("Z", "z"):
        wanted = wanted[:-1] + "+00:00"
    elif "T" in wanted or " " in wanted:
        wanted = _OFFSET_WITHOUT_COLON.sub(r"\1:\2", wanted)
    wanted = _FRACTION.sub(lambda found: "." + found[1][:6].ljust(6, "0"), wanted)
    try:
        return datetime.fromisoformat(wanted)
    except ValueError:
        raise ValueError(f"{text!r} is not a time. Write it such as 2026-11-01 or 2026-11-01T06:30:00Z.") from None


def next_since(clock: datetime | None) -> datetime:
    """From when to ask for changes next time, if the first page was sent at this time of the server's clock."""
    if clock is None:
        raise FieldgateError("next_since is known after the first page, from servers that tell the time.")
    return clock - SINCE_MARGIN


def next_since_of_copy(clock: datetime | None, newest: str) -> datetime | None:
    """The same for a copy that is kept up to date, whose last changed record has this `updated_at`."""
    if clock is None:
        return None
    try:
        copied = parse_since(newest) - COPIED_MARGIN if newest else clock
        return min(clock - SINCE_MARGIN, copied)
    except (ValueError, OverflowError):
        return None  # not a time: nothing is known about it


def since_parameters(since: datetime | None) -> list[tuple[str, str]]:
    return [] if since is None else [(CHANGED_SINCE, format_timestamp(since))]


def check_page_of_changes(page: Page, server: str) -> None:
    """A server that does not know the filter returns everything, which must not pass for what changed."""
    if not page.is_fieldgate or CHANGED_SINCE in page.ignored_parameters:
        raise ChangesUnknown(
            f"{server} cannot tell what changed since a time. Leave out since=, or keep a copy with update(path), "
            "which then reads the complete list."
        )


def deleted_query(query: ListQuery[Any], record_type: Any) -> ListQuery[Any]:
    """The list of events that were deleted, merged or hidden since then."""
    if query.since is None:
        raise FieldgateError("deleted() is for lists of changes, such as client.events(since=…).")
    return msgspec.structs.replace(
        query,
        path=DELETED_PATH,
        parameters=(("since", format_timestamp(query.since)),),
        record_type=record_type,
        since=None,
        start=0,
        stop=None,
        resolve_names=None,
    )
