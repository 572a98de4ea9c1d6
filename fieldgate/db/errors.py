"""Tells errors of an unavailable database from errors in our code."""

import errno
import socket
import sqlite3
import sys

import sqlalchemy.exc

_NETWORK_ERRNOS = {errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN, errno.ENOENT}
_SQLITE_CODES = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_READONLY,
}
# Classes of PostgreSQL's error codes: connection exceptions, insufficient resources, operator intervention.
_POSTGRES_CLASSES = ("08", "53", "57")


def is_unavailable(error: BaseException | None) -> bool:
    """Whether a later attempt may succeed: the database cannot be reached, is full, read-only, or overloaded."""
    if error is None:
        return False
    if isinstance(error, ConnectionError | TimeoutError | socket.gaierror):
        return True
    # Not imported here: with SQLite it is not needed, and if no file can be opened the import itself would fail.
    asyncpg = sys.modules.get("asyncpg")
    if asyncpg is not None:
        if isinstance(error, asyncpg.InterfaceError):
            return True
        if isinstance(error, asyncpg.PostgresError):
            return str(error.sqlstate).startswith(_POSTGRES_CLASSES)
    if isinstance(error, sqlite3.Error):
        return getattr(error, "sqlite_errorcode", 0) & 0xFF in _SQLITE_CODES
    if isinstance(error, sqlalchemy.exc.TimeoutError):
        return True
    if isinstance(error, sqlalchemy.exc.DBAPIError):
        return error.connection_invalidated or is_unavailable(error.orig)
    if isinstance(error, OSError):
        return error.errno in _NETWORK_ERRNOS
    # SQLAlchemy raises its own error with the driver's error as the cause.
    return is_unavailable(error.__cause__)
