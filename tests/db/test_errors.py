"""`is_unavailable` for errors that the databases really raise."""

import sqlite3

import asyncpg
import pytest
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from fieldgate.db import AsyncDatabase, is_unavailable
from fieldgate.db.outages import DatabaseGone, Outage, outage_of


async def error_of(database: AsyncDatabase, statement: str) -> Exception:
    with pytest.raises(
        (SQLAlchemyError, OSError, asyncpg.PostgresError, asyncpg.InterfaceError)
    ) as raised:
        async with database.transaction() as connection:
            await connection.execute(
                text(statement), {"secret": "hunter2"} if ":secret" in statement else {}
            )
    error: Exception = raised.value
    return error


async def test_invalid_sql_is_not_unavailability_and_hides_parameters(
    database: AsyncDatabase,
) -> None:
    error = await error_of(database, "SELECT nope FROM changes WHERE topic = :secret")
    assert not is_unavailable(error)
    assert "hunter2" not in str(error)


@pytest.mark.parametrize(
    "address", ["postgresql://u@127.0.0.1:9/d", "postgresql://u@nowhere.invalid/d"]
)
async def test_unreachable_server(address: str) -> None:
    database = AsyncDatabase(address)
    assert is_unavailable(await error_of(database, "SELECT 1"))
    await database.close()


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
async def test_terminated_connection_is_replaced(database: AsyncDatabase) -> None:
    terminate = text("SELECT pg_terminate_backend(pg_backend_pid())")
    with pytest.raises((SQLAlchemyError, asyncpg.PostgresError)) as raised:
        async with database.transaction() as connection:
            await connection.execute(terminate)
    assert is_unavailable(raised.value)
    async with database.read_transaction() as connection:
        assert (await connection.execute(text("SELECT 1"))).scalar_one() == 1, (
            "the next transaction has a new connection"
        )


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
async def test_url_options_of_postgresql_are_accepted(database: AsyncDatabase) -> None:
    with_options = AsyncDatabase(f"{database.postgres_url.text}&sslmode=prefer")
    async with with_options.read_transaction() as connection:
        assert (await connection.execute(text("SELECT 1"))).scalar_one() == 1
    pool = await with_options.postgres_pool()
    assert await pool.fetchval("SELECT 2") == 2
    await with_options.close()


def test_other_errors() -> None:
    assert not is_unavailable(ValueError())
    assert not is_unavailable(None)
    assert is_unavailable(asyncpg.TooManyConnectionsError())
    assert not is_unavailable(asyncpg.UndefinedColumnError())
    assert is_unavailable(TimeoutError())
    assert is_unavailable(OSError(113, "No route to host"))
    assert not is_unavailable(OSError(13, "Permission denied"))
    wrapped = RuntimeError()
    wrapped.__cause__ = ConnectionResetError()
    assert is_unavailable(wrapped)


def sqlite_error(code: int) -> sqlite3.Error:
    error = sqlite3.OperationalError()
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("error", "outage"),
    [
        (sqlite_error(sqlite3.SQLITE_FULL), Outage.READ_ONLY),
        (sqlite_error(sqlite3.SQLITE_READONLY_DBMOVED), Outage.READ_ONLY),
        (sqlite_error(sqlite3.SQLITE_IOERR_FSYNC), Outage.READ_ONLY),
        (sqlite_error(sqlite3.SQLITE_BUSY_SNAPSHOT), Outage.BUSY),
        (sqlite_error(sqlite3.SQLITE_CANTOPEN), Outage.UNREACHABLE),
        (sqlite_error(sqlite3.SQLITE_CORRUPT), None),
        (asyncpg.DiskFullError(), Outage.READ_ONLY),
        (asyncpg.OutOfMemoryError(), Outage.UNREACHABLE),
        (asyncpg.TooManyConnectionsError(), Outage.UNREACHABLE),
        (asyncpg.CannotConnectNowError(), Outage.UNREACHABLE),
        (asyncpg.AdminShutdownError(), Outage.UNREACHABLE),
        (asyncpg.QueryCanceledError(), Outage.BUSY),
        (asyncpg.ReadOnlySQLTransactionError(), Outage.READ_ONLY),
        (asyncpg.InvalidCatalogNameError(), Outage.MISSING),
        (asyncpg.PostgresIOError(), Outage.READ_ONLY),
        (asyncpg.UniqueViolationError(), None),
        (asyncpg.InternalClientError("cannot switch to state 12"), Outage.UNREACHABLE),
        (asyncpg.InterfaceError("another operation is in progress"), Outage.UNREACHABLE),
        (OSError(28, "No space left on device"), Outage.READ_ONLY),
        (DatabaseGone("deleted"), Outage.MISSING),
    ],
    ids=lambda value: type(value).__name__,
)
def test_reasons_are_told_apart(error: Exception, outage: Outage | None) -> None:
    assert outage_of(error) is outage
    wrapped = RuntimeError()
    wrapped.__cause__ = error
    assert outage_of(wrapped) is outage
