"""Queries about countries and disaster types, and the cached `ReferenceData`."""

import asyncio
from collections.abc import Collection, Iterable

import msgspec
from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.db import AsyncDatabase, DataVersions, upsert
from fieldgate.db.tables import topic_versions
from fieldgate.reference.name_orders import NameOrder, name_order_rows
from fieldgate.reference.reference_data import Country, DisasterType, ReferenceData
from fieldgate.reference.tables import countries, disaster_types, name_orders

TOPIC = "reference"


class ReferenceStore:
    def __init__(self, database: AsyncDatabase, data_versions: DataVersions) -> None:
        self._database = database
        self._data_versions = data_versions
        self._build_lock = asyncio.Lock()
        self._cached: tuple[int, ReferenceData] | None = None
        self._generation = 0

    async def current(self) -> ReferenceData:
        """Return the current reference data, loaded once per version of the data."""
        return (await self.current_with_version())[1]

    async def current_with_version(self) -> tuple[int, ReferenceData]:
        """Return the version of the data, and the reference data."""
        cached = self._cached
        if cached is not None and self._is_current(
            cached[0], await self._data_versions.version(TOPIC)
        ):
            return cached
        async with self._build_lock:
            version = await self._data_versions.version(TOPIC)
            if self._cached is None or not self._is_current(self._cached[0], version):
                self._generation = self._data_versions.generation
                self._cached = await self._load()
            return self._cached

    def _is_current(self, cached_version: int, version: int) -> bool:
        return cached_version >= version and self._generation == self._data_versions.generation

    async def reload(self) -> tuple[int, ReferenceData]:
        """Load the reference data again if its version in the database is another one, known here or not."""
        async with self._build_lock:
            (version,) = await self._data_versions.versions((TOPIC,), fresh=True)
            if (
                self._cached is None
                or self._cached[0] != version
                or not self._is_current(version, version)
            ):
                self._generation = self._data_versions.generation
                self._cached = await self._load()
            return self._cached

    async def _load(self) -> tuple[int, ReferenceData]:
        async with self._database.read_transaction() as connection:
            asked = select(topic_versions.c.version).where(topic_versions.c.topic == TOPIC)
            version: int = (await connection.execute(asked)).scalar() or 0
            found = (
                (await connection.execute(select(countries).order_by(countries.c.id)))
                .mappings()
                .all()
            )
            types = (
                (await connection.execute(select(disaster_types).order_by(disaster_types.c.id)))
                .mappings()
                .all()
            )
            orders = (await connection.execute(select(name_orders))).all()
        return version, ReferenceData(
            [Country(**row) for row in found],
            [DisasterType(**row) for row in types],
            {(row.table_name, row.language): NameOrder(row.digest, row.ids) for row in orders},
        )

    async def store_name_orders(self) -> None:
        """Store the orders of names of a new database, so that processes need not compute them."""
        async with self._database.transaction() as connection:
            for table in (countries, disaster_types):
                records = (await connection.execute(select(table))).mappings()
                orders = name_order_rows(table.name, records)
                await connection.execute(upsert(connection.dialect, name_orders), orders)

    # Writes, as part of a transaction of the caller.

    async def list_only(self, connection: AsyncConnection, ids: Collection[int]) -> None:
        """Take countries out of the list that have other ids. They are still found by id."""
        others = countries.c.is_listed & countries.c.id.not_in(ids)
        if (
            await connection.execute(update(countries).where(others).values(is_listed=False))
        ).rowcount:
            await self._data_versions.bump(connection, TOPIC)

    async def upsert(
        self,
        connection: AsyncConnection,
        kind: type[Country | DisasterType],
        rows: Iterable[msgspec.Struct],
    ) -> int:
        """Insert or update countries or disaster types. Return how many changed."""
        table = countries if kind is Country else disaster_types
        held = {
            row["id"]: dict(row) for row in (await connection.execute(select(table))).mappings()
        }
        given = {values["id"]: values for values in map(msgspec.structs.asdict, rows)}
        changed = [values for number, values in given.items() if held.get(number) != values]
        if changed:
            # First: writers wait for this row before they have locked any other, so they cannot wait for each other.
            await self._data_versions.bump(connection, TOPIC)
            await connection.execute(upsert(connection.dialect, table), changed)
            orders = name_order_rows(table.name, {**held, **given}.values())
            await connection.execute(upsert(connection.dialect, name_orders), orders)
        return len(changed)
