"""Whether the database can be used."""

from fieldgate.db import schema
from fieldgate.db.database import Database
from fieldgate.db.errors import is_unavailable


class DatabaseReadiness:
    """Ready when the database can be reached and its schema is one that this release supports."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def is_ready(self) -> bool:
        try:
            return (await schema.read_state(self._database)).is_usable
        except Exception as error:
            if is_unavailable(error):
                return False
            raise
