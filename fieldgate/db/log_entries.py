"""Entries of the log, and how they are written: see `log.py`."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from sqlalchemy import bindparam, select
from sqlalchemy.engine import Connection

from fieldgate.db.tables import Timestamp, log, log_counts, now
from fieldgate.db.upsert import insert_rows_sync
from fieldgate.identity import Caller

_FREE_ROW = (
    select(log_counts.c.id)
    .where(log_counts.c.log_type == bindparam("of_type"))
    .order_by(log_counts.c.id)
    .limit(1)
    .with_for_update(skip_locked=True)  # no writer waits for another one
)
_RAISE_COUNT = (
    log_counts.update()
    .where(log_counts.c.id == _FREE_ROW.scalar_subquery())
    .values(entries=log_counts.c.entries + bindparam("more"))
)


class LogUser(msgspec.Struct, frozen=True):
    """A user in an entry."""

    id: int
    uid: str
    username: str


class LogObject(msgspec.Struct, frozen=True):
    """What was changed. The owner is that of an asset."""

    model_name: str
    uid: str
    name: str = ""
    owner_id: int | None = None


class LogEntry(msgspec.Struct, frozen=True, kw_only=True):
    """What was done. Who did it and from where is in the caller's `origin`."""

    log_type: str
    action: str
    object: LogObject
    subject: LogUser | None = None
    details: Mapping[str, Any] = {}
    effect_count: int = 0


def insert_log_entries(connection: Connection, entries: Iterable[tuple[Caller, LogEntry]]) -> None:
    """Add entries in the transaction of the change, each with the user who made it."""
    timestamp = Timestamp.pack(now())
    rows = [log_row(entry, by, timestamp) for by, entry in entries]
    insert_rows_sync(connection, log, rows)
    add_to_counts(connection, Counter(str(row["log_type"]) for row in rows))


def _clean(text: str, most: int) -> str:
    """What callers choose, as one line of text that every database can store."""
    text = text[:most]
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text
    )


def log_row(entry: LogEntry, by: Caller, timestamp: int) -> dict[str, object]:
    """The values as the drivers take them."""
    changed, about, origin = entry.object, entry.subject, by.origin
    return {
        "made_at": timestamp,
        "log_type": entry.log_type,
        "action": entry.action,
        "user_id": by.id,
        "user_uid": by.uid,
        "username": _clean(by.username, 150),
        "credential": _clean(by.credential, 120),
        "ip_address": origin.address[:45],
        "source": _clean(origin.source, 200),
        "request_id": _clean(origin.request_id, 64),
        "model_name": changed.model_name,
        "object_uid": changed.uid,
        "object_name": changed.name[:255],
        "subject_id": None if about is None else about.id,
        "subject_uid": "" if about is None else about.uid,
        "subject_name": "" if about is None else about.username,
        "owner_id": changed.owner_id,
        "details": msgspec.json.encode(entry.details).decode(),
        "effect_count": entry.effect_count,
        "times": 1,
        "minute_key": None,
    }


def add_to_counts(connection: Connection, added: Mapping[str, int]) -> None:
    """Change the numbers of entries of log types."""
    for log_type, more in added.items():
        raised = connection.execute(_RAISE_COUNT, {"of_type": log_type, "more": more})
        if not raised.rowcount:
            connection.execute(log_counts.insert().values(log_type=log_type, entries=more))
