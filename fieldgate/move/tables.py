"""What was moved in from where, so that a second run changes it and does not create it again."""

from sqlalchemy import JSON, Column, String, Table

from fieldgate.db import metadata

# Of assets, and of teams. The row stays when what was moved is deleted here.
moved_assets = Table(
    "moved_assets",
    metadata,
    Column(
        "source", String(500), primary_key=True
    ),  # address of the server, or the database that a folder is from
    Column("source_uid", String(50), primary_key=True),
    Column("uid", String(22), nullable=False),  # here
    Column("found", JSON, nullable=False),  # hashes of the parts that were moved
    Column("local", JSON, nullable=False),  # hashes of these parts here afterwards
)
