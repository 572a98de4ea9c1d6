"""Entries of the log about events: those that people write, and the runs of commands."""

from fieldgate.db import Database
from fieldgate.db.log import EVENTS, LogEntry, LogObject
from fieldgate.identity import OPERATOR


def event_entry(action: str, event_id: int | None = None, **details: int) -> LogEntry:
    """`action`: create, update, delete; or about many events: load, sync, demo, export."""
    event = LogObject("event", "" if event_id is None else str(event_id))
    return LogEntry(log_type=EVENTS, action=action, object=event, details=details)


def log_run(database: Database, action: str, **counts: int) -> None:
    """Log the run of a command that writes events, with their numbers, unless nothing changed."""
    if not any(counts.get(name) for name in ("created", "changed", "deleted")):
        return
    entry = event_entry(action, **{name: count for name, count in counts.items() if count})
    database.write(lambda transaction: transaction.log(OPERATOR, entry))
