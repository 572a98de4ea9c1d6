"""Events: what is known of each, the ready documents of lists, what they were before, and which are gone."""

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, LargeBinary, SmallInteger, String, Table, Text

from fieldgate.db import Timestamp, metadata

events = Table(
    "events",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    # The version of the data that brought this state: the index asks for what came after the one it knows.
    Column("version", BigInteger, nullable=False, index=True),
    Column("slug", String(50), unique=True),
    Column("parent_event", BigInteger),
    Column("visibility", SmallInteger, nullable=False),
    Column("start", Timestamp, nullable=False),
    Column("created", Timestamp, nullable=False),
    Column("updated", Timestamp, nullable=False),
    Column("facets", Text, nullable=False),
    Column("is_demo", Boolean, nullable=False),
    # All of it, as `model.pack` writes it.
    Column("packed", LargeBinary, nullable=False),
)

# Read for every page, and so kept apart from the rest: short rows, found by id.
documents = Table(
    "event_documents",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("version", BigInteger, nullable=False),
    Column("document", LargeBinary, nullable=False),
)

# What `search`, `glide` and `appeal_code` look through.
words = Table(
    "event_words",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("version", BigInteger, nullable=False),
    Column("names", Text, nullable=False),  # in all languages, folded
    Column("glide", String(18), nullable=False, index=True),
    Column("appeal_codes", Text, nullable=False),  # each between two commas
)

# What an event was until a version, for readers who still answer from the version before.
history = Table(
    "event_history",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("until", BigInteger, primary_key=True, autoincrement=False, index=True),
    Column("at", Timestamp, nullable=False, index=True),
    Column("document", LargeBinary, nullable=False),
    Column("names", Text, nullable=False),
    Column("glide", String(18), nullable=False),
    Column("appeal_codes", Text, nullable=False),
)

# Events that left the lists: deleted, merged into another, or hidden from some.
deleted = Table(
    "deleted_events",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("deleted_at", Timestamp, nullable=False),
    Column("version", BigInteger, nullable=False, index=True),
    # A hidden event leaves no trace for those who could not see it.
    Column("visibility", SmallInteger, nullable=False),
    Column("countries", Text, nullable=False),
    # Who still sees it in lists, where it is gone for others only.
    Column("kept_visibility", SmallInteger),
    Column("kept_countries", Text),
    Index("ix_deleted_events_deleted_at_id", "deleted_at", "id"),
)

# How far a sync with another server has come, so that the next run goes on from there.
syncs = Table(
    "event_syncs",
    metadata,
    Column("source", String(500), primary_key=True),
    Column("with_token", Boolean, primary_key=True),  # who sees more has another list
    Column("finished", Timestamp),  # when the last whole sync began
    # Of the one under way; `began` is null where there is none:
    Column("began", Timestamp),
    Column("since", Timestamp),
    Column("is_filtered", Boolean, nullable=False),
    Column("reached", BigInteger, nullable=False),  # the offset up to which all is written
    Column("failing", Text, nullable=False, server_default=""),  # ids of events to ask for again, between blanks
)
