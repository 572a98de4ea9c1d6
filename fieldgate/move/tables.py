"""What was moved in from where, so that a second run changes it and does not create it again."""

from sqlalchemy import Column, String, Table

from fieldgate.db import metadata

# Of assets, and of teams, which have no hashes. The row stays when what was moved is deleted here.
moved_assets = Table(
    "moved_assets",
    metadata,
    Column("source", String(500), primary_key=True),  # address of the server, or the database that a folder is from
    Column("source_uid", String(50), primary_key=True),
    Column("uid", String(22), nullable=False),  # here
    Column("content_hash", String(64), nullable=False),  # of the content that was moved
    Column("details_hash", String(64), nullable=False),  # of all else that was moved
    Column("local_hash", String(64), nullable=False),  # of the asset here afterwards
)
