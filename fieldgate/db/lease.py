"""A lease: work that only one process does at a time, and that another takes over if it dies.

lease = Lease(database, "events sync")
if await lease.acquire():
    ...
    await lease.renew(connection)  # in the transaction of each piece of work, so that it commits only while we hold it
    await lease.release()
"""

import secrets
from datetime import timedelta

from sqlalchemy import delete, update
from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.db.database import Database
from fieldgate.db.tables import leases
from fieldgate.db.upsert import upsert

LEASE_DURATION = timedelta(seconds=30)


class LeaseExpired(Exception):
    """Another process may hold the lease by now: this one must stop."""


class Lease:
    def __init__(self, database: Database, name: str, duration: timedelta = LEASE_DURATION) -> None:
        self._database = database
        self._name = name
        self._duration = duration
        self._holder = secrets.token_hex(16)

    async def acquire(self) -> bool:
        """Take the lease, if no other process holds it."""
        clock = self._database.current_time
        values = {"holder": self._holder, "expires": clock(self._duration)}
        is_free = (leases.c.expires <= clock()) | (leases.c.holder == self._holder)
        statement = upsert(self._database.dialect, leases, update=values, where=is_free)
        statement = statement.values(name=self._name, **values).returning(leases.c.name)
        async with self._database.transaction() as connection:
            return (await connection.execute(statement)).first() is not None

    async def renew(self, connection: AsyncConnection) -> None:
        """Extend the lease as part of a transaction. Raises `LeaseExpired` if it has run out."""
        clock = self._database.current_time
        is_held = leases.c.name == self._name, leases.c.holder == self._holder, leases.c.expires > clock()
        statement = update(leases).where(*is_held).values(expires=clock(self._duration))
        if not (await connection.execute(statement)).rowcount:
            raise LeaseExpired(self._name)

    async def release(self) -> None:
        """Give the lease back, if this process still holds it."""
        is_held = leases.c.name == self._name, leases.c.holder == self._holder
        async with self._database.transaction() as connection:
            await connection.execute(delete(leases).where(*is_held))
