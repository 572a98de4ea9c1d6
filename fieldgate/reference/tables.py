"""Tables of countries and disaster types. The ids are those of IFRC GO, so that its clients work unchanged."""

from sqlalchemy import JSON, Boolean, Column, Float, Integer, String, Table, Text

from fieldgate.db import metadata

countries = Table(
    "countries",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("iso", String(2)),
    Column("iso3", String(3)),
    Column("region", Integer),
    Column("record_type", Integer, nullable=False),
    Column("independent", Boolean),
    Column("is_deprecated", Boolean, nullable=False),
    Column("fdrs", Text),
    Column("average_household_size", Float),
    Column("names", JSON, nullable=False),
    Column("society_names", JSON, nullable=False),
    Column("original_language", String(2), nullable=False),
    Column(
        "is_listed", Boolean, nullable=False
    ),  # false for those that the server they were pulled from does not list
    Column("overviews", JSON, nullable=False),
    Column("profile", JSON, nullable=False),  # by name of PROFILE_FIELDS
)

disaster_types = Table(
    "disaster_types",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("names", JSON, nullable=False),
    Column("summaries", JSON, nullable=False),
    Column("original_language", String(2), nullable=False),
)

# Derived from the two others: `name_orders.py`.
name_orders = Table(
    "name_orders",
    metadata,
    Column("table_name", String(20), primary_key=True),
    Column("language", String(2), primary_key=True),
    Column("digest", String(64), nullable=False),
    Column("ids", JSON, nullable=False),  # in the order of their names
)
