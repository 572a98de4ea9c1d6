"""Events, their documents, their history, and deleted events."""

import secrets

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

# What a downgrade deletes: queries that count it.
LOSES = {
    "events": "SELECT count(*) FROM events",
    "deleted events": "SELECT count(*) FROM deleted_events",
}


def _id() -> sa.Column[int]:
    kind = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    return sa.Column("id", kind, autoincrement=False, nullable=False)


def upgrade() -> None:
    op.create_table(
        "events",
        _id(),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("slug", sa.String(50)),
        sa.Column("parent_event", sa.BigInteger()),
        sa.Column("visibility", sa.SmallInteger(), nullable=False),
        sa.Column("start", sa.BigInteger(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("updated", sa.BigInteger(), nullable=False),
        sa.Column("facets", sa.Text(), nullable=False),
        sa.Column("is_demo", sa.Boolean(), nullable=False),
        sa.Column("packed", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_events"),
        sa.UniqueConstraint("slug", name="uq_events_slug"),
    )
    op.create_index("ix_events_version", "events", ["version"])
    op.create_table(
        "event_documents",
        _id(),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_event_documents"),
    )
    op.create_table(
        "event_words",
        _id(),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("names", sa.Text(), nullable=False),
        sa.Column("glide", sa.String(18), nullable=False),
        sa.Column("appeal_codes", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_event_words"),
    )
    op.create_index("ix_event_words_glide", "event_words", ["glide"])
    op.create_table(
        "event_history",
        _id(),
        sa.Column("until", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.Column("names", sa.Text(), nullable=False),
        sa.Column("glide", sa.String(18), nullable=False),
        sa.Column("appeal_codes", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", "until", name="pk_event_history"),
    )
    op.create_index("ix_event_history_at", "event_history", ["at"])
    op.create_index("ix_event_history_until", "event_history", ["until"])
    op.create_table(
        "deleted_events",
        _id(),
        sa.Column("deleted_at", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("visibility", sa.SmallInteger(), nullable=False),
        sa.Column("countries", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_deleted_events"),
    )
    # Writers lock the first row; the second one identifies the database.
    changes = sa.table("changes", sa.column("topic", sa.String), sa.column("version", sa.BigInteger))
    op.bulk_insert(changes, [{"topic": "events", "version": 0}, {"topic": "identity", "version": secrets.randbits(62)}])
    op.create_index("ix_deleted_events_version", "deleted_events", ["version"])
    op.create_index("ix_deleted_events_deleted_at_id", "deleted_events", ["deleted_at", "id"])


def downgrade() -> None:
    for table in ("deleted_events", "event_history", "event_words", "event_documents", "events"):
        op.drop_table(table)
    op.execute("DELETE FROM changes WHERE topic IN ('events', 'identity')")
