"""Keys that can be used once, in whichever process. A used key is a row of `leases`, until it expires."""

import hashlib
import secrets
from datetime import timedelta

from sqlalchemy import delete

from fieldgate.db.async_database import AsyncDatabase
from fieldgate.db.tables import leases
from fieldgate.db.upsert import upsert

_PREFIX = "used "


class OneTimeKeys:
    """Remembers used keys for `lifetime`. Only a hash of a key is stored."""

    def __init__(self, database: AsyncDatabase, lifetime: timedelta) -> None:
        self._database = database
        self._lifetime = lifetime

    async def use(self, key: str) -> bool:
        """Return whether this is the first use. Of several at once, only one is the first."""
        clock = self._database.current_time
        is_expired = leases.c.expires <= clock()
        row = {"holder": secrets.token_hex(16), "expires": clock(self._lifetime)}
        name = _PREFIX + hashlib.blake2b(key.encode(), digest_size=16).hexdigest()
        statement = upsert(self._database.dialect, leases, update=row, where=is_expired)
        async with self._database.transaction() as connection:
            await connection.execute(
                delete(leases).where(leases.c.name.startswith(_PREFIX) & is_expired)
            )
            used = await connection.execute(
                statement.values(name=name, **row).returning(leases.c.name)
            )
            return used.first() is not None
