"""Which errors mean that the database is out of reach for now, and which that something is wrong with us."""

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
    """Whether another try later may succeed: the database is away, full, not to be written, or has no time for us."""
    if error is None:
        return False
    if isinstance(error, ConnectionError | TimeoutError | socket.gaierror):
        return True
    # Not imported: who has SQLite never loads it, and where no file can be opened that would be a second error.
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
    # SQLAlchemy wraps the driver's error in one of its own, and keeps the first as the cause.
    return is_unavailable(error.__cause__)
