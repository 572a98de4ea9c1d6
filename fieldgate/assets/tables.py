"""Assets, their versions, and the files those came from."""

from sqlalchemy import JSON, Column, ForeignKey, Index, Integer, LargeBinary, String, Table, Text, UniqueConstraint

from fieldgate.db import Instant, metadata

files = Table(
    "files",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(255), nullable=False),
    Column("data", LargeBinary, nullable=False),
    sqlite_autoincrement=True,
)

assets = Table(
    "assets",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("uid", String(22), nullable=False, unique=True),
    Column("owner_id", ForeignKey("users.id", ondelete="CASCADE"), nullable=False),
    Column("parent_id", ForeignKey("assets.id", ondelete="CASCADE"), index=True),
    Column("asset_type", String(20), nullable=False),
    Column("name", String(255), nullable=False),
    Column("name_key", Text, nullable=False, server_default=""),  # what is searched and sorted
    Column("settings", JSON, nullable=False),
    Column("tags", JSON, nullable=False),
    Column("summary", JSON, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("modified_at", Instant, nullable=False),
    Index(None, "owner_id", "modified_at"),
    sqlite_autoincrement=True,
)

versions = Table(
    "asset_versions",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("uid", String(22), nullable=False, unique=True),
    Column("asset_id", ForeignKey("assets.id", ondelete="CASCADE"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("content", JSON, nullable=False),
    Column("summary", JSON, nullable=False),
    Column("xform", Text),
    Column("file_id", ForeignKey("files.id"), index=True),
    Column("created_at", Instant, nullable=False),
    UniqueConstraint("asset_id", "number"),
    sqlite_autoincrement=True,
)
