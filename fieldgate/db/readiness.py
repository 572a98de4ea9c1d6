"""Whether the database can be used."""

from fieldgate.db import schema
from fieldgate.db.database import Database
from fieldgate.db.outage_monitor import OutageMonitor
from fieldgate.db.outages import Outage


class DatabaseReadiness:
    """Ready when the database can be read and written, and its schema is one that this release supports."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.monitor = OutageMonitor(database, self._check_schema)

    async def unready_reason(self) -> Outage | None:
        return await self.monitor.check()

    async def _check_schema(self) -> Outage | None:
        return None if (await schema.read_state(self._database)).is_usable else Outage.SCHEMA
