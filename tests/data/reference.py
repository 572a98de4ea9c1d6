"""Countries and disaster types of a test."""

from collections.abc import Iterable

import msgspec
from sqlalchemy import insert, select

from fieldgate.reference.reference_data import Country, DisasterType, ReferenceData
from fieldgate.reference.tables import countries as countries_table
from fieldgate.reference.tables import disaster_types
from tests.data.sql import UsesDatabase, all_rows, write_sql


def reference_data(database: str | UsesDatabase) -> ReferenceData:
    """All countries and disaster types of the database."""
    countries = all_rows(database, select(countries_table).order_by(countries_table.c.id))
    types = all_rows(database, select(disaster_types).order_by(disaster_types.c.id))
    return ReferenceData(
        [Country(**row._mapping) for row in countries],
        [DisasterType(**row._mapping) for row in types],
    )


def put_countries(database: str | UsesDatabase, countries: Iterable[Country]) -> None:
    """Create or replace countries."""
    rows = [msgspec.structs.asdict(country) for country in countries]
    ids = [row["id"] for row in rows]
    with write_sql(database, "reference") as connection:
        connection.execute(countries_table.delete().where(countries_table.c.id.in_(ids)))
        connection.execute(insert(countries_table), rows)
