"""Tables of events: the events, what is derived from them, their history, the deleted ones, and syncs."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Index,
    Integer,
    LargeBinary,
    SmallInteger,
    String,
    Table,
    Text,
    false,
)

from fieldgate.db import Timestamp, metadata

events = Table(
    "events",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    # The data version that wrote this row: the index loads rows with a later version than its own.
    Column("version", BigInteger, nullable=False, index=True),
    Column("slug", String(50), unique=True),
    Column("parent_event", BigInteger),
    Column("visibility", SmallInteger, nullable=False),
    Column("start", Timestamp, nullable=False),
    Column("created", Timestamp, nullable=False),
    Column("updated", Timestamp, nullable=False),
    Column("facets", Text, nullable=False),
    Column("is_demo", Boolean, nullable=False),
    # The whole event, as encoded by `model.pack`. Everything else about it is derived from this.
    Column("packed", LargeBinary, nullable=False),
)

# Read for every page, so apart from the rest: short rows, found by id.
documents = Table(
    "event_documents",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("version", BigInteger, nullable=False),
    Column("document", LargeBinary, nullable=False),
    # The `EVENT_FORMAT` of everything that was derived from the packed event: document, facets and search text.
    Column("format", SmallInteger, nullable=False, server_default="0"),
)

# What `search`, `glide` and `appeal_code` match.
words = Table(
    "event_words",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("version", BigInteger, nullable=False),
    Column("names", Text, nullable=False),  # in all languages, folded
    Column("glide", String(18), nullable=False, index=True),
    Column("appeal_codes", Text, nullable=False),  # each between two commas
)

# The state of an event until a version, for readers that still answer from the version before.
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
    Column("format", SmallInteger, nullable=False, server_default="0"),
)

# Events that are no longer in lists: deleted, merged into another, or hidden from some callers.
deleted = Table(
    "deleted_events",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("deleted_at", Timestamp, nullable=False),
    Column("version", BigInteger, nullable=False, index=True),
    # Who saw it: the deletion is listed for them only.
    Column("visibility", SmallInteger, nullable=False),
    Column("countries", Text, nullable=False),
    # Who still sees it in lists, where it is hidden from others only.
    Column("kept_visibility", SmallInteger),
    Column("kept_countries", Text),
    Index("ix_deleted_events_deleted_at_id", "deleted_at", "id"),
)

# The index of all events at a version, so that a process need not build it when it starts; see `stored_index.py`.
stored_indexes = Table(
    "event_indexes",
    metadata,
    Column("id", String(32), primary_key=True),  # random
    Column("version", BigInteger, nullable=False),
    Column("rebuild_version", BigInteger, nullable=False),
    Column("format", SmallInteger, nullable=False),  # the `EVENT_FORMAT` of all events
    Column("layout", Integer, nullable=False),  # the `LAYOUT` of `search/index_codec.py`
    Column("part_count", Integer, nullable=False),
    Column("digest", LargeBinary(32), nullable=False),
    Column("stored_at", Timestamp, nullable=False),
)

# They are written before the row of their index, and deleted after it. Number -1 marks the state that was read.
index_parts = Table(
    "event_index_parts",
    metadata,
    Column("index_id", String(32), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("content", LargeBinary, nullable=False),
)

# The state of a sync with another server, so that the next run continues there.
syncs = Table(
    "event_syncs",
    metadata,
    Column("source", String(500), primary_key=True),
    Column("with_token", Boolean, primary_key=True),  # a token can see more events
    Column("finished", Timestamp),  # when the last complete sync began
    # Of the sync that is running; `began` is null if there is none:
    Column("began", Timestamp),
    Column("since", Timestamp),
    Column("is_filtered", Boolean, nullable=False),
    Column("reached", BigInteger, nullable=False),  # the offset up to which everything is written
    Column("last_ids", Text, nullable=False, server_default="[]"),  # of the records before that offset, as JSON
    Column("is_full", Boolean, nullable=False, server_default=false()),  # requests all details
    Column("run", BigInteger, nullable=False, server_default="0"),  # its number, higher than that of any earlier one
    Column("walk", BigInteger, nullable=False, server_default="0"),  # of its last walk through the list; at least `run`
    Column("failing", Text, nullable=False, server_default=""),  # ids of events to fetch again, separated by spaces
)

# The server each event was pulled from. The source of an event without a row is unknown.
sources = Table(
    "event_sources",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("source", String(500), nullable=False, index=True),
    Column("with_token", Boolean, nullable=False),  # at least once; a run without a token cannot tell if it was deleted
    Column("listed_in", BigInteger, nullable=False),  # the last walk through the list in which the server had it
    Column("digest", LargeBinary, nullable=False),  # of the list record
    Column("detail_in", BigInteger, nullable=False),  # the last run that requested the detail record, 0 for none
    Column("detail_at", Timestamp),  # when that run began
)
