"""All SQL about countries and disaster types, and the directory made of them."""

import asyncio
from collections.abc import Iterable

import msgspec
from sqlalchemy import Table, select
from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.db import Database, DataVersions, upsert
from fieldgate.db.tables import topic_versions
from fieldgate.reference.reference_data import Country, DisasterType, ReferenceData
from fieldgate.reference.tables import countries, disaster_types

TOPIC = "reference"


class ReferenceStore:
    def __init__(self, database: Database, data_versions: DataVersions) -> None:
        self._database = database
        self._data_versions = data_versions
        self._build_lock = asyncio.Lock()
        self._cached: tuple[int, ReferenceData] | None = None

    async def current(self) -> ReferenceData:
        """The directory as of the data's version: built once for each, however many ask at once."""
        return (await self.current_with_version())[1]

    async def current_with_version(self) -> tuple[int, ReferenceData]:
        """The directory, and the version of the data it is of."""
        kept = self._cached
        if kept is not None and kept[0] >= await self._data_versions.version(TOPIC):
            return kept
        async with self._build_lock:
            if self._cached is None or self._cached[0] < await self._data_versions.version(TOPIC):
                self._cached = await self._load()
            return self._cached

    async def reload(self) -> tuple[int, ReferenceData]:
        """The directory as it is in the database at this moment, whatever is known of its version."""
        async with self._build_lock:
            self._cached = await self._load()
            return self._cached

    async def _load(self) -> tuple[int, ReferenceData]:
        async with self._database.read_transaction() as connection:
            asked = select(topic_versions.c.version).where(topic_versions.c.topic == TOPIC)
            version: int = (await connection.execute(asked)).scalar() or 0
            found = (await connection.execute(select(countries).order_by(countries.c.id))).mappings().all()
            types = (await connection.execute(select(disaster_types).order_by(disaster_types.c.id))).mappings().all()
        return version, ReferenceData([Country(**row) for row in found], [DisasterType(**row) for row in types])

    # Written as part of somebody's transaction, such as a sync's.

    async def upsert_countries(self, connection: AsyncConnection, rows: Iterable[Country]) -> int:
        """Make the countries be as given, new ones too; others stay. How many changed."""
        return await self._upsert(connection, countries, rows)

    async def upsert_disaster_types(self, connection: AsyncConnection, rows: Iterable[DisasterType]) -> int:
        """Make the disaster types be as given, new ones too; others stay. How many changed."""
        return await self._upsert(connection, disaster_types, rows)

    async def _upsert(self, connection: AsyncConnection, table: Table, rows: Iterable[msgspec.Struct]) -> int:
        held = {row["id"]: dict(row) for row in (await connection.execute(select(table))).mappings()}
        given = {values["id"]: values for values in map(msgspec.structs.asdict, rows)}
        changed = [values for number, values in given.items() if held.get(number) != values]
        if changed:
            await connection.execute(upsert(connection.dialect, table), changed)
            await self._data_versions.bump(connection, TOPIC)
        return len(changed)
