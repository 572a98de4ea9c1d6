"""Checks inside the database: schema, clock, imports that wait, stored formats."""

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

from sqlalchemy import func, select, text
from sqlalchemy.exc import DBAPIError

from fieldgate.db import IDENTITY_TOPIC, AsyncDatabase, DataVersions, is_unavailable
from fieldgate.db.outages import UnexpectedPooler, outage_of
from fieldgate.db.schema import read_state
from fieldgate.db.tables import now
from fieldgate.doctor.findings import Finding, error, ok, warning
from fieldgate.imports.tables import imports

TIMEOUT_SECONDS = 10
LONG_WAIT = timedelta(minutes=10)  # of an import
MAX_CLOCK_OFFSET = timedelta(seconds=2)
MIN_YEAR, MAX_YEAR = 2024, 2100
MIN_POSTGRES_VERSION = 14


async def check_database(database: AsyncDatabase) -> list[Finding]:
    """Everything that needs a connection. If it fails, the last finding says so."""
    findings: list[Finding] = []
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            async for finding in _check_content(database):
                findings.append(finding)
    except Exception as found:
        if not is_unavailable(found) and not isinstance(found, DBAPIError | UnexpectedPooler):
            raise
        outage = outage_of(found)
        reason = str(getattr(found, "orig", None) or found) or (
            outage.log_text if outage else "no reason is known"
        )
        advice = "Check that it runs, FIELDGATE_DATABASE_URL, the network and the password."
        if database.is_sqlite:
            advice = "Check the file and its folder. If it is damaged, restore a backup."
        findings.append(error("database", f"The database cannot be used: {reason}", advice))
    return findings


async def _check_content(database: AsyncDatabase) -> AsyncIterator[Finding]:
    schema = await read_state(database)
    yield ok("database", "The database can be reached.")
    if not schema.is_usable:
        yield error("schema", *schema.problem)
        return
    yield ok("schema", f"The schema is {schema.revision}, that of this release.")
    for check in (_check_identity, _check_clock, _check_imports):
        async for finding in check(database):
            yield finding
    if not database.is_sqlite:
        async for finding in _check_postgres(database):
            yield finding


async def _check_identity(database: AsyncDatabase) -> AsyncIterator[Finding]:
    versions = await DataVersions(database).versions((IDENTITY_TOPIC,))
    if versions[0]:
        yield ok("identity", f"The id of the database is {versions[0]:016x}.")
    else:
        yield error(
            "identity",
            "The database has no id.",
            "Restore a backup: the table `changes` is damaged.",
        )


async def _check_clock(database: AsyncDatabase) -> AsyncIterator[Finding]:
    """The clock of this machine, against that of PostgreSQL, or against what was written to SQLite."""
    if not MIN_YEAR <= now().year < MAX_YEAR:
        yield error(
            "clock", f"The clock says {now():%Y-%m-%d %H:%M} UTC.", "Set it, for example with NTP."
        )
        return
    async with database.read_transaction() as connection:
        if database.is_sqlite:
            newest = (await connection.execute(select(func.max(imports.c.created_at)))).scalar()
            offset = (newest or now()) - now()
            message = (
                f"The database has data from {newest:%Y-%m-%d %H:%M} UTC, later than the clock."
                if newest
                else ""
            )
            is_wrong = offset > MAX_CLOCK_OFFSET
        else:
            began = time.time()
            epoch = (
                await connection.execute(text("SELECT extract(epoch FROM clock_timestamp())"))
            ).scalar_one()
            middle = (began + time.time()) / 2
            offset = datetime.fromtimestamp(float(epoch), UTC) - datetime.fromtimestamp(middle, UTC)
            message = (
                f"The clock differs by {offset.total_seconds():.1f} s from that of PostgreSQL."
            )
            is_wrong = abs(offset) > MAX_CLOCK_OFFSET + timedelta(seconds=(time.time() - began) / 2)
    if is_wrong:
        yield warning("clock", message, "Synchronise the clocks of all machines with NTP.")
    else:
        yield ok("clock", f"The clock says {now():%Y-%m-%d %H:%M} UTC.")


async def _check_imports(database: AsyncDatabase) -> AsyncIterator[Finding]:
    """Whether workers take imports: how long the oldest one waits."""
    is_waiting = imports.c.status == "processing"
    is_leased = imports.c.lease.is_not(None) & (imports.c.lease_until > database.current_time())
    async with database.read_transaction() as connection:
        working = (
            await connection.execute(select(func.count()).where(is_waiting, is_leased))
        ).scalar_one()
        query = select(func.count(), func.min(imports.c.created_at)).where(
            is_waiting,
            imports.c.lease.is_(None)
            | imports.c.lease_until.is_(None)
            | (imports.c.lease_until <= database.current_time()),
        )
        waiting, oldest = (await connection.execute(query)).one()
    if waiting and now() - oldest > LONG_WAIT:
        minutes = (now() - oldest) // timedelta(minutes=1)
        advice = "Start `fieldgate worker`, or more of them, and read their log."
        yield warning(
            "worker",
            f"{waiting} imports wait, the oldest for {minutes} minutes; {working} are read.",
            advice,
        )
    else:
        yield ok("worker", f"{waiting} imports wait, {working} are being read.")


async def _check_postgres(database: AsyncDatabase) -> AsyncIterator[Finding]:
    async with database.read_transaction() as connection:
        number = int((await connection.execute(text("SHOW server_version_num"))).scalar_one())
        is_replica = (await connection.execute(text("SELECT pg_is_in_recovery()"))).scalar_one()
        limit = int((await connection.execute(text("SHOW max_connections"))).scalar_one())
        used = (
            await connection.execute(text("SELECT count(*) FROM pg_stat_activity"))
        ).scalar_one()
    major, shown = number // 10_000, f"PostgreSQL {number // 10_000}.{number % 10_000}"
    if major < MIN_POSTGRES_VERSION:
        yield warning("versions", f"{shown} no longer gets corrections.", "Upgrade it.")
    else:
        yield ok("versions", f"{shown}.")
    if is_replica:
        yield error(
            "database",
            "The database is a read-only replica.",
            "Set FIELDGATE_DATABASE_URL to the primary.",
        )
    if used > limit * 0.8:
        yield warning(
            "database",
            f"{used} of {limit} connections of PostgreSQL are used.",
            "Raise max_connections.",
        )
