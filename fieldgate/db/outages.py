"""Reasons why the database cannot be used, each with a message for callers and one for the log.

reason = outage_of(error)  # None: an error in our code
"""

import errno
import socket
import sqlite3
import sys
from enum import Enum
from typing import Any

import sqlalchemy.exc

from fieldgate.errors import DatabaseUnavailable, ServiceUnavailable
from fieldgate.i18n.messages import Message


class Outage(Enum):
    """A reason: its name in `/readyz`, seconds for `Retry-After`, what callers read, what the log says."""

    UNREACHABLE = (
        "unreachable",
        5,
        Message("The database cannot be reached. Please try again in a few seconds."),
        "the database cannot be reached",
    )
    STARTING = (
        "starting",
        2,
        Message("The database is starting or stopping. Please try again in a few seconds."),
        "the database server is starting, stopping or recovering",
    )
    TOO_MANY_CONNECTIONS = (
        "too_many_connections",
        2,
        Message("The database has too many connections. Please try again in a few seconds."),
        "the database refuses more connections; raise its limit or run fewer processes",
    )
    LOCKED = (
        "locked",
        1,
        Message("The database is busy with other writes. Please try again in a few seconds."),
        "the database is locked by another program",
    )
    BUSY = (
        "busy",
        5,
        Message("The service is busy. Please try again in a few seconds."),
        "the database took too long to answer a request",
    )
    OUT_OF_RESOURCES = (
        "out_of_resources",
        5,
        Message("The database is out of memory or of open files. Please try again in a few seconds."),
        "the database is out of memory or of file descriptors",
    )
    DISK_FULL = (
        "disk_full",
        30,
        Message("The disk of the database is full, so nothing can be saved. Please try again later."),
        "the disk of the database is full; free some space, nothing else is needed",
    )
    READ_ONLY = (
        "read_only",
        10,
        Message("The database is read-only at the moment, so nothing can be saved. Please try again later."),
        "the database is read-only; check its permissions, the mount, or whether it is a standby",
    )
    DISK_ERROR = (
        "disk_error",
        30,
        Message("The disk of the database does not work properly. Please try again later."),
        "the disk of the database fails to read or write; check it before anything else",
    )
    CANNOT_OPEN = (
        "cannot_open",
        5,
        Message("The database cannot be opened. Please try again in a few seconds."),
        "the file of the database cannot be opened; check its permissions and the limit of open files",
    )
    MISSING = (
        "missing",
        30,
        Message("The database is missing, so nothing can be read or saved. Please try again later."),
        "the database was deleted or moved while in use; put it back, or stop the service and restore a backup",
    )
    REPLACED = (
        "replaced",
        30,
        Message("The database was replaced by another one, so nothing can be read or saved. Please try again later."),
        "the database was replaced by another one while in use; put it back, or restart to use the other one",
    )
    LOG_REPLACED = (
        "log_replaced",
        5,
        Message("A file of the database was deleted while in use. Please try again in a few seconds."),
        "the -wal file of the database was deleted or replaced while in use; opening the database again",
    )
    SCHEMA = (
        "schema",
        5,
        Message("The database is not ready."),
        "the database does not have the schema of this release; run: fieldgate migrate",
    )

    def __init__(self, code: str, retry_seconds: int, message: Message, log_text: str) -> None:
        self.code = code
        self.retry_seconds = retry_seconds
        self.message = message
        self.log_text = log_text

    @property
    def affects_writes_only(self) -> bool:
        """Whether reads work: only a write can tell that it is over."""
        return self in (Outage.DISK_FULL, Outage.READ_ONLY, Outage.LOCKED, Outage.DISK_ERROR)

    @property
    def needs_operator(self) -> bool:
        """Whether it usually ends only if the operator does something."""
        return self in _FOR_THE_OPERATOR

    def problem(self) -> ServiceUnavailable:
        """The response of a request that failed for this reason."""
        if self in (Outage.BUSY, Outage.LOCKED):  # the database works
            return ServiceUnavailable(self.message, self.retry_seconds)
        return DatabaseUnavailable(self.message, self.retry_seconds, needs_operator=self.needs_operator)


_FOR_THE_OPERATOR = {
    Outage.DISK_FULL,
    Outage.READ_ONLY,
    Outage.DISK_ERROR,
    Outage.CANNOT_OPEN,
    Outage.MISSING,
    Outage.REPLACED,
    Outage.SCHEMA,
}


class DatabaseGone(Exception):
    """The database that was opened is no longer the one at its address."""

    def __init__(self, outage: Outage) -> None:
        super().__init__(outage.log_text)
        self.outage = outage


_SQLITE_OUTAGES = {
    sqlite3.SQLITE_BUSY: Outage.LOCKED,
    sqlite3.SQLITE_LOCKED: Outage.LOCKED,
    sqlite3.SQLITE_CANTOPEN: Outage.CANNOT_OPEN,
    sqlite3.SQLITE_IOERR: Outage.DISK_ERROR,
    sqlite3.SQLITE_FULL: Outage.DISK_FULL,
    sqlite3.SQLITE_READONLY: Outage.READ_ONLY,
}
# PostgreSQL's error codes, and their first two characters for all others of a class.
_POSTGRES_OUTAGES = {
    "08": Outage.UNREACHABLE,
    "25006": Outage.READ_ONLY,
    "3D000": Outage.MISSING,
    "53": Outage.OUT_OF_RESOURCES,
    "53100": Outage.DISK_FULL,
    "53300": Outage.TOO_MANY_CONNECTIONS,
    "55P03": Outage.BUSY,
    "57": Outage.UNREACHABLE,
    "57014": Outage.BUSY,  # cancelled, usually by a timeout
    "57P03": Outage.STARTING,
    "58030": Outage.DISK_ERROR,
}
_OS_OUTAGES = {
    errno.ENETUNREACH: Outage.UNREACHABLE,
    errno.EHOSTUNREACH: Outage.UNREACHABLE,
    errno.ENETDOWN: Outage.UNREACHABLE,
    errno.EHOSTDOWN: Outage.UNREACHABLE,
    errno.ENOENT: Outage.UNREACHABLE,  # the socket of PostgreSQL
    errno.ENOSPC: Outage.DISK_FULL,
    errno.EDQUOT: Outage.DISK_FULL,
    errno.EROFS: Outage.READ_ONLY,
    errno.EIO: Outage.DISK_ERROR,
}


def outage_of(error: BaseException | None) -> Outage | None:
    """Why the database cannot be used, if that is what an error means. A later attempt may then succeed."""
    if error is None:
        return None
    if isinstance(error, DatabaseGone):
        return error.outage
    if isinstance(error, ConnectionError | socket.gaierror):
        return Outage.UNREACHABLE
    if isinstance(error, TimeoutError):
        return Outage.UNREACHABLE
    if isinstance(error, sqlalchemy.exc.TimeoutError):  # all connections are in use
        return Outage.BUSY
    if isinstance(error, sqlite3.Error):
        return _sqlite_outage(error)
    if isinstance(error, sqlalchemy.exc.DBAPIError):
        return outage_of(error.orig) or (Outage.UNREACHABLE if error.connection_invalidated else None)
    if isinstance(error, OSError):
        return _OS_OUTAGES.get(error.errno or 0)
    # Not imported here: with SQLite it is not needed, and if no file can be opened the import itself would fail.
    asyncpg = sys.modules.get("asyncpg")
    if asyncpg is not None:
        if isinstance(error, asyncpg.PostgresError):
            return _postgres_outage(str(error.sqlstate))
        if is_broken_connection(error):
            return Outage.UNREACHABLE
    # SQLAlchemy raises its own error with the driver's error as the cause.
    return outage_of(error.__cause__)


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


def _sqlite_outage(error: Any) -> Outage | None:
    return _SQLITE_OUTAGES.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)


def _postgres_outage(code: str) -> Outage | None:
    return _POSTGRES_OUTAGES.get(code) or _POSTGRES_OUTAGES.get(code[:2])
