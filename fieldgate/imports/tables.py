"""The table of imports. It is also the job queue: a row holds the request, the lease of a worker and the result."""

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
    UniqueConstraint,
    text,
)

from fieldgate.db import Timestamp, metadata

IS_PROCESSING = text(
    "status = 'processing'"
)  # a literal: a partial index cannot use a bound parameter

imports = Table(
    "imports",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("uid", String(22), nullable=False, unique=True),
    Column("user_id", ForeignKey("users.id", ondelete="CASCADE"), nullable=False),
    Column("status", String(10), nullable=False),
    Column("filename", String(255), nullable=False),
    Column("file_id", ForeignKey("files.id"), nullable=False, index=True),
    Column("name", String(255), nullable=False),
    Column("is_library", Boolean, nullable=False),
    Column("desired_type", String(20), nullable=False),
    Column("destination_uid", String(22)),
    Column(
        "asks_if_exists", Boolean, nullable=False
    ),  # whether a form that exists already is a question
    Column("messages", JSON, nullable=False),
    # The rows that problems and warnings are about. NULL in imports of earlier releases.
    Column("excerpts", JSON(none_as_null=True)),
    Column("created_at", Timestamp, nullable=False),
    Column(
        "finished_at", Timestamp
    ),  # while it is processing: when the last try ended on a busy machine
    Column("claimed_at", Timestamp),
    Column("lease", String(32)),
    Column("lease_until", Timestamp),
    Column("attempts", Integer, nullable=False),  # that may have ended the worker
    Column("busy_tries", Integer, nullable=False),  # ended by the clock, not by the file
    # The Idempotency-Key of the request, and a digest of what was sent with it.
    Column("retry_key", String(255)),
    Column("retry_digest", LargeBinary(32)),
    UniqueConstraint("user_id", "retry_key"),
    Index(None, "user_id", "created_at", "uid"),
    # Claiming must not get slower with the number of finished imports.
    Index(None, "user_id", "id", "lease_until"),  # of those that are `IS_PROCESSING`
    Index(None, "user_id", "claimed_at", "finished_at"),
    Index(None, "finished_at"),
    sqlite_autoincrement=True,
)
