"""The log: who did what, on what, when, from where. It is written in the transaction of the change.

    await write_log(connection, user, LogEntry(log_type=PROJECT, action="delete", object=LogObject("asset", uid, name)))
    write_log_sync(connection, user, entries)  # in functions passed to `AsyncDatabase.write`
    await count_in_log(database, user, entry)  # downloads and logins: one row per minute and origin, whose count rises

Entries are never changed or deleted one by one. They have no foreign keys, and names are copied: an entry can be read
after the user and the object are gone. When an account is deleted, `blank_names` removes the copied names of its user.
Never in an entry: passwords, tokens, contents of forms.

The number of entries of each type is kept in `log_counts`, so that the newest page of a long log is as fast as that of
a short one.
"""

import hashlib
import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.engine import Connection
from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.db.async_database import AsyncDatabase
from fieldgate.db.log_entries import LogEntry as LogEntry  # also for others
from fieldgate.db.log_entries import LogObject as LogObject
from fieldgate.db.log_entries import LogUser as LogUser
from fieldgate.db.log_entries import add_to_counts, insert_log_entries, log_row
from fieldgate.db.outages import is_unavailable
from fieldgate.db.tables import Timestamp, log_counts, now
from fieldgate.db.tables import log as log  # also for others
from fieldgate.db.upsert import upsert
from fieldgate.identity import CREDENTIAL_KINDS, Caller
from fieldgate.runtime.client_networks import network_of

ACCESS, PROJECT, USERS, EVENTS = "access", "project-history", "user-management", "event-management"
LOG_TYPES = (ACCESS, PROJECT, USERS, EVENTS)
PURGE_BATCH = 500  # entries deleted in one transaction
# Addresses and credentials of one user or name, or of all without a name, for the same action on the same object.
MAX_ORIGINS_PER_MINUTE = 100
_LOWEST_DIGEST = "0" * 32
_HIGHEST_DIGEST = "f" * 32

logger = logging.getLogger(__name__)


async def write_log(connection: AsyncConnection, by: Caller, *entries: LogEntry) -> None:
    """Add entries in the transaction of the change."""
    await connection.run_sync(write_log_sync, by, entries)


def write_log_sync(connection: Connection, by: Caller, entries: Iterable[LogEntry]) -> None:
    """The same for functions passed to `AsyncDatabase.write`."""
    insert_log_entries(connection, [(by, entry) for entry in entries])


async def count_in_log(database: AsyncDatabase, by: Caller, entry: LogEntry) -> None:
    """Add an entry, or raise the count of that minute and origin. If that fails, the caller's work goes on."""
    if by.origin.method == "HEAD":  # nothing is sent
        return
    try:
        await database.write(lambda connection: _count_entry(connection, by, entry))
    except Exception as error:
        if not is_unavailable(
            error
        ):  # an outage is logged once, by the requests that need the database
            logger.exception("could not write an entry of the log")


def _count_entry(connection: Connection, by: Caller, entry: LogEntry) -> None:
    timestamp = now()
    row = log_row(entry, by, Timestamp.pack(timestamp))
    minute = f"{Timestamp.pack(timestamp) // 60_000_000:08x}"
    group = minute + _digest(
        by.id, row["username"], entry.action, entry.object.model_name, entry.object.uid
    )
    # One customer has many IPv6 addresses, and must not fill the log.
    key = group + _digest(network_of(by.origin.address), row["credential"])
    raised = log.update().where(log.c.minute_key == key).values(times=log.c.times + 1)
    if connection.execute(raised).rowcount:
        return
    is_in_group = log.c.minute_key.between(group + _LOWEST_DIGEST, group + _HIGHEST_DIGEST)
    origins = select(log.c.id).where(is_in_group).limit(MAX_ORIGINS_PER_MINUTE).subquery()
    if (
        connection.execute(select(func.count()).select_from(origins)).scalar_one()
        == MAX_ORIGINS_PER_MINUTE
    ):
        # A flood of addresses must not fill the log either: the rest are one entry.
        key = group + _HIGHEST_DIGEST
        row |= {"credential": "", "ip_address": "", "source": "", "request_id": ""}
    values = row | {"made_at": timestamp, "details": dict(entry.details), "minute_key": key}
    # Another process may have added it since.
    added = upsert(
        connection.dialect, log, {"times": log.c.times + 1}, key=log.c.minute_key
    ).returning(log.c.times)
    if connection.execute(added, values).scalar_one() == 1:
        add_to_counts(connection, {entry.log_type: 1})


def _digest(*parts: object) -> str:
    """Hexadecimal, so that every collation of a database sorts keys in the same way."""
    return hashlib.blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


# The number of entries


async def count_entries(connection: AsyncConnection, log_types: Sequence[str]) -> int:
    """Return how many entries of these types there are."""
    total = select(func.sum(log_counts.c.entries)).where(log_counts.c.log_type.in_(log_types))
    return int((await connection.execute(total)).scalar() or 0)


# Removal of old entries, and of the names of a user who left


async def purge_log(database: AsyncDatabase, before: datetime) -> int:
    """Delete entries that were made before a time, in small transactions. Return their number."""
    # Of the first ones by id: a search by time would read the whole log to find that nothing is left.
    first = select(log.c.id, log.c.made_at).order_by(log.c.id).limit(PURGE_BATCH).subquery()
    oldest = select(first.c.id).where(first.c.made_at < before)

    def purge(connection: Connection) -> int:
        deleted = connection.execute(
            log.delete().where(log.c.id.in_(oldest)).returning(log.c.log_type)
        ).scalars()
        by_type = Counter(deleted)
        add_to_counts(connection, {log_type: -count for log_type, count in by_type.items()})
        return by_type.total()

    total = 0
    while deleted := await database.write(purge):
        total += deleted
    return total


async def blank_names(connection: AsyncConnection, user: LogUser) -> None:
    """Remove the copied names of a user who left and of the user's tokens, also from failed logins. The uids stay."""
    is_failed_login = log.c.user_id.is_(None) & (
        func.lower(log.c.username) == user.username.lower()
    )
    is_about_user = (log.c.model_name == "user") & (log.c.object_uid == user.uid)
    is_about_token = (log.c.model_name == "token") & (log.c.subject_id == user.id)
    by_token = (log.c.user_id == user.id) & log.c.credential.not_in(CREDENTIAL_KINDS)
    for condition, values in (
        (by_token, {"credential": ""}),
        (
            log.c.user_id == user.id,
            {"username": "", "minute_key": None},
        ),  # the key is made from the names
        (is_failed_login, {"username": "", "minute_key": None}),
        (log.c.subject_id == user.id, {"subject_name": ""}),
        (is_about_user | is_about_token, {"object_name": ""}),
    ):
        await connection.execute(log.update().where(condition).values(values))
