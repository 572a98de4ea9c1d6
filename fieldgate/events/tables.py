"""Tables of events: the events, what is derived from them, the deleted ones, and syncs."""

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

TOPIC = "events"  # of their data version
WHOLE_TOPIC = (
    "events, as a whole"  # its version is raised when rows changed without a version of their own
)

EVENT_ID = BigInteger().with_variant(Integer, "sqlite")

events = Table(
    "events",
    metadata,
    Column("id", EVENT_ID, primary_key=True, autoincrement=False),
    Column("version", BigInteger, nullable=False),  # the data version that wrote this row
    Column("slug", String(50), unique=True),
    Column("parent_event", BigInteger),
    Column("is_demo", Boolean, nullable=False),
    # The whole event, as encoded by `model.pack`. The next three tables are derived from it, for reading.
    Column("packed", LargeBinary, nullable=False),
)

# What the index is built from (`search/index.py`): short rows, so that a start does not read all documents.
index_rows = Table(
    "event_index_rows",
    metadata,
    Column("id", EVENT_ID, primary_key=True, autoincrement=False),
    # That of the event. The index loads rows with a later version than its own.
    Column("version", BigInteger, nullable=False, index=True),
    Column("parent_event", BigInteger),
    Column("start", Timestamp, nullable=False),
    Column("created", Timestamp, nullable=False),
    Column("updated", Timestamp, nullable=False),
    Column("facets", Text, nullable=False),  # words of `facets.py`, separated by spaces
    Column(
        "num_affected", BigInteger, nullable=False
    ),  # this and the next three are the fields of `EventFigures`
    Column("appeals", Integer, nullable=False),
    Column("requested_cents", BigInteger, nullable=False),
    Column("funded_cents", BigInteger, nullable=False),
)

# Read for every page: found by id.
documents = Table(
    "event_documents",
    metadata,
    Column("id", EVENT_ID, primary_key=True, autoincrement=False),
    Column("document", LargeBinary, nullable=False),
)

# What `search`, `glide` and `appeal_code` match.
words = Table(
    "event_words",
    metadata,
    Column("id", EVENT_ID, primary_key=True, autoincrement=False),
    Column("names", Text, nullable=False),  # in all languages, folded
    Column("glide", String(18), nullable=False, index=True),
    Column("appeal_codes", Text, nullable=False),  # each between two commas
)

# The `EVENT_FORMAT` of the three tables above. It has one row, which the first event brings along.
event_format = Table(
    "event_format", metadata, Column("format", Integer, primary_key=True, autoincrement=False)
)

# Events that are no longer in lists: deleted, merged into another, or hidden from some callers.
deleted = Table(
    "deleted_events",
    metadata,
    Column("id", EVENT_ID, primary_key=True, autoincrement=False),
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
    Column(
        "last_ids", Text, nullable=False, server_default="[]"
    ),  # of the records before that offset, as JSON
    Column("is_full", Boolean, nullable=False, server_default=false()),  # requests all details
    Column(
        "run", BigInteger, nullable=False, server_default="0"
    ),  # its number, higher than that of any earlier one
    Column(
        "walk", BigInteger, nullable=False, server_default="0"
    ),  # of its last walk through the list; at least `run`
    Column(
        "failing", Text, nullable=False, server_default=""
    ),  # ids of events to fetch again, separated by spaces
)

# The server each event was pulled from. The source of an event without a row is unknown.
sources = Table(
    "event_sources",
    metadata,
    Column("id", EVENT_ID, primary_key=True, autoincrement=False),
    Column("source", String(500), nullable=False, index=True),
    Column(
        "with_token", Boolean, nullable=False
    ),  # at least once; a run without a token cannot tell if it was deleted
    Column(
        "listed_in", BigInteger, nullable=False
    ),  # the last walk through the list in which the server had it
    Column("digest", LargeBinary, nullable=False),  # of the list record
    Column(
        "detail_in", BigInteger, nullable=False
    ),  # the last run that requested the detail record, 0 for none
    Column("detail_at", Timestamp),  # when that run began
)
