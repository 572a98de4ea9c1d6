"""Tables of events: what lists ask for in columns, the events as they were written, the deleted ones, and syncs."""

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
)

from fieldgate.db import Timestamp, metadata

TOPIC = "events"  # of their data version

EVENT_ID = BigInteger().with_variant(Integer, "sqlite")
# Of texts that are compared character by character. The server's own order depends on its language.
BINARY_TEXT = String(18).with_variant(String(18, collation="C"), "postgresql")

# What filters, orders and totals ask for. Rows are short, so that a search that has to read all of them is quick.
events = Table(
    "events",
    metadata,
    Column("id", EVENT_ID, primary_key=True, autoincrement=False),
    Column("version", BigInteger, nullable=False),  # higher after each write of the event
    Column("slug", String(50), unique=True),
    Column("parent_event", BigInteger),
    Column("is_demo", Boolean, nullable=False),
    Column("visibility", SmallInteger, nullable=False),
    Column("dtype", BigInteger),
    Column("ifrc_severity_level", SmallInteger, nullable=False),
    Column("is_featured", Boolean, nullable=False),
    Column("is_featured_region", Boolean, nullable=False),
    Column("auto_generated_source", String(50)),
    Column("glide", BINARY_TEXT, index=True),  # in upper case
    Column("disaster_start_date", Timestamp, nullable=False),
    Column("created_at", Timestamp, nullable=False),
    Column("updated_at", Timestamp, nullable=False, index=True),
    Column("num_affected", BigInteger),
    Column("regions", Integer, nullable=False),  # of its countries: bit 0 is set for region 0
    Column("appeal_types", Integer, nullable=False),  # bits, too
    Column("appeal_codes", Text, nullable=False),  # each between two commas
    Column("appeals", Integer, nullable=False),  # their number
    Column("requested_cents", BigInteger, nullable=False),
    Column("funded_cents", BigInteger, nullable=False),
    Column("search_text", Text, nullable=False),  # folded: names, GLIDE number, codes of appeals
)
# In the order of the list, with what most filters ask for: the list is read from the index alone.
Index(
    "ix_events_list",
    events.c.disaster_start_date.desc(),
    events.c.id,
    events.c.parent_event,
    events.c.visibility,
    events.c.regions,
    events.c.dtype,
    events.c.ifrc_severity_level,
    events.c.updated_at,
    events.c.version,
)

event_countries = Table(
    "event_countries",
    metadata,
    Column("country_id", Integer, primary_key=True, autoincrement=False),
    Column("event_id", EVENT_ID, primary_key=True, autoincrement=False, index=True),
    sqlite_with_rowid=False,
)

# The whole event, as encoded by `model.pack`: records are made from it. Read by id.
event_contents = Table(
    "event_contents",
    metadata,
    Column("id", EVENT_ID, primary_key=True, autoincrement=False),
    Column("content", LargeBinary, nullable=False),
)

# Events that are no longer in lists: deleted, merged into another, or hidden from some callers.
deleted = Table(
    "deleted_events",
    metadata,
    Column("id", EVENT_ID, primary_key=True, autoincrement=False),
    Column("deleted_at", Timestamp, nullable=False),
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
    Column("is_full", Boolean, nullable=False),  # requests all details
    Column("position", Text, nullable=False),  # in the list, with the ids before it, as JSON
    # Ids of events to fetch again, separated by spaces.
    Column("failing", Text, nullable=False),
)

# The server each event was pulled from. The source of an event without a row is unknown.
sources = Table(
    "event_sources",
    metadata,
    Column("id", EVENT_ID, primary_key=True, autoincrement=False),
    Column("source", String(500), nullable=False, index=True),
    # At least once; a run without a token cannot tell if it was deleted.
    Column("with_token", Boolean, nullable=False),
    Column("detail_at", Timestamp),  # when the detail record was requested
    Column("detail_version", String(40), nullable=False),  # `updated_at` of the record then
)
