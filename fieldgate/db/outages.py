"""Reasons why the database cannot be used, each with a message for callers and one for the log.

reason = outage_of(error)  # None: an error in our code
"""

import errno
import socket
import sqlite3
import sys
from enum import Enum
from pathlib import Path

import sqlalchemy.exc

from fieldgate.errors import DatabaseUnavailable, ServiceUnavailable
from fieldgate.i18n.messages import Message
from fieldgate.runtime.work_threads import NoFreeThread


class Outage(Enum):
    """A reason: its name in `/readyz`, seconds for `Retry-After`, what callers read, what the log says."""

    UNREACHABLE = (
        "unreachable",
        5,
        Message("The database cannot be reached. Please try again in a few seconds."),
        "the database cannot be reached or opened",
    )
    BUSY = (
        "busy",
        5,
        Message("The service is busy. Please try again in a few seconds."),
        "the database took too long to answer a request",
    )
    READ_ONLY = (
        "read_only",
        10,
        Message(
            "The database is read-only at the moment, so nothing can be saved. Please try again later."
        ),
        "the database cannot be written to; check its disk, its permissions, or whether it is a standby",
    )
    MISSING = (
        "missing",
        30,
        Message(
            "The database is missing, so nothing can be read or saved. Please try again later."
        ),
        "the database is missing, or is another one",
    )

    def __init__(self, code: str, retry_seconds: int, message: Message, log_text: str) -> None:
        self.code = code
        self.retry_seconds = retry_seconds
        self.message = message
        self.log_text = log_text

    def problem(self) -> ServiceUnavailable:
        """The response of a request that failed for this reason."""
        if self is Outage.BUSY:  # the database works
            return ServiceUnavailable(self.message, self.retry_seconds)
        needs_operator = (
            self is not Outage.UNREACHABLE
        )  # the others usually do not end by themselves
        return DatabaseUnavailable(self.message, self.retry_seconds, needs_operator=needs_operator)


class DatabaseGone(Exception):
    """The database that was opened is no longer the one at its address. The text says what to do."""


class UnexpectedPooler(Exception):
    """There is a connection pooler in front of PostgreSQL, and the setting does not say so."""

    def __init__(self) -> None:
        super().__init__(
            "A connection pooler is in front of PostgreSQL. Set FIELDGATE_DATABASE_POOLER=true, or connect directly."
        )


_SQLITE_OUTAGES = {
    sqlite3.SQLITE_BUSY: Outage.BUSY,
    sqlite3.SQLITE_LOCKED: Outage.BUSY,
    sqlite3.SQLITE_CANTOPEN: Outage.UNREACHABLE,
    sqlite3.SQLITE_IOERR: Outage.READ_ONLY,
    sqlite3.SQLITE_FULL: Outage.READ_ONLY,
    sqlite3.SQLITE_READONLY: Outage.READ_ONLY,
}
# PostgreSQL's error codes, and their first two characters for all others of a class.
_POSTGRES_OUTAGES = {
    "08": Outage.UNREACHABLE,
    "25006": Outage.READ_ONLY,
    "3D000": Outage.MISSING,
    "53": Outage.UNREACHABLE,  # out of memory, too many connections
    "53100": Outage.READ_ONLY,  # the disk is full
    "55P03": Outage.BUSY,
    "57": Outage.UNREACHABLE,  # starting, stopping
    "57014": Outage.BUSY,  # cancelled, usually by a timeout
    "58030": Outage.READ_ONLY,  # the disk fails
}
_OS_OUTAGES = {
    errno.ENETUNREACH: Outage.UNREACHABLE,
    errno.EHOSTUNREACH: Outage.UNREACHABLE,
    errno.ENETDOWN: Outage.UNREACHABLE,
    errno.EHOSTDOWN: Outage.UNREACHABLE,
    errno.ENOENT: Outage.UNREACHABLE,  # the socket of PostgreSQL
    errno.ENOSPC: Outage.READ_ONLY,
    errno.EDQUOT: Outage.READ_ONLY,
    errno.EROFS: Outage.READ_ONLY,
    errno.EIO: Outage.READ_ONLY,
}


def outage_of(error: BaseException | None) -> Outage | None:
    """Why the database cannot be used, if that is what an error means. A later attempt may then succeed."""
    if error is None:
        return None
    if isinstance(error, DatabaseGone):
        return Outage.MISSING
    if isinstance(error, ConnectionError | socket.gaierror):
        return Outage.UNREACHABLE
    if isinstance(error, TimeoutError):
        return Outage.UNREACHABLE
    if isinstance(error, sqlalchemy.exc.TimeoutError | NoFreeThread):  # all connections are in use
        return Outage.BUSY
    if isinstance(error, sqlite3.Error):
        return _SQLITE_OUTAGES.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)
    if isinstance(error, sqlalchemy.exc.DBAPIError):
        return outage_of(error.orig) or (
            Outage.UNREACHABLE if error.connection_invalidated else None
        )
    if isinstance(error, OSError):
        return _OS_OUTAGES.get(error.errno or 0)
    # Not imported here: with SQLite they are not needed, and if no file can be opened the import itself would fail.
    psycopg = sys.modules.get("psycopg")
    if psycopg is not None and isinstance(error, psycopg.Error):
        return _postgres_outage(error.sqlstate, is_lost=isinstance(error, psycopg.OperationalError))
    asyncpg = sys.modules.get("asyncpg")
    if asyncpg is not None:
        if isinstance(error, asyncpg.PostgresError):
            return _postgres_outage(error.sqlstate, is_lost=False)
        if is_broken_connection(error):
            return Outage.UNREACHABLE
    # SQLAlchemy raises its own error with the driver's error as the cause.
    return outage_of(error.__cause__)


def _postgres_outage(code: str | None, *, is_lost: bool) -> Outage | None:
    """`is_lost`: an error without a code is that of a connection that could not be opened or broke."""
    if code is None:
        return Outage.UNREACHABLE if is_lost else None
    return _POSTGRES_OUTAGES.get(code) or _POSTGRES_OUTAGES.get(code[:2])


def is_unavailable(error: BaseException | None) -> bool:
    """Whether a later attempt may succeed: the database cannot be reached or written to, or is overloaded."""
    return outage_of(error) is not None


def damage_message(file: Path, error: sqlite3.Error) -> str | None:
    """What an error says about an SQLite file if that is damaged, and what to do. None for other errors."""
    if getattr(error, "sqlite_errorcode", 0) & 0xFF not in {
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
    }:
        return None
    return (
        f"{file} is damaged or not an SQLite database: {error}. Restore the last backup with `fieldgate restore`, "
        "which keeps this file under another name."
    )


def is_broken_connection(error: BaseException | None) -> bool:
    """Whether asyncpg lost track of what a connection is doing. Nothing but closing the connection helps.

    `InterfaceError` is also raised for invalid arguments, which are a `ValueError`, and wrapped by SQLAlchemy.
    """
    asyncpg = sys.modules.get("asyncpg")
    if asyncpg is None or error is None:
        return False
    if isinstance(error, asyncpg.InternalClientError | asyncpg.InterfaceError):
        return not isinstance(error, ValueError)
    return is_broken_connection(error.__cause__)
