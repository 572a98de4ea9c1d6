"""Keys that can be used once, in whichever process: a used key is a lease that nobody releases."""

import hashlib
from datetime import timedelta

from sqlalchemy import delete

from fieldgate.db.database import Database
from fieldgate.db.lease import Lease
from fieldgate.db.tables import leases

_PREFIX = "used "


class OneTimeKeys:
    """Remembers used keys for `lifetime`. Only a hash of a key is stored."""

    def __init__(self, database: Database, lifetime: timedelta) -> None:
        self._database = database
        self._lifetime = lifetime

    async def use(self, key: str) -> bool:
        """Return whether this is the first use. Of several at once, only one is the first."""
        await self._forget_expired()
        digest = hashlib.blake2b(key.encode(), digest_size=16).hexdigest()
        return await Lease(self._database, _PREFIX + digest, self._lifetime).acquire()

    async def _forget_expired(self) -> None:
        is_expired = leases.c.name.startswith(_PREFIX) & (leases.c.expires <= self._database.current_time())
        async with self._database.transaction() as connection:
            await connection.execute(delete(leases).where(is_expired))
