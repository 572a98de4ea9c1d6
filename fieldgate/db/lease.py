"""A lease: what one process has taken, and another can take when it has run out."""

import secrets
from datetime import timedelta

from fieldgate.db.database import Database
from fieldgate.db.tables import leases
from fieldgate.db.upsert import upsert

LEASE_DURATION = timedelta(seconds=30)


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
