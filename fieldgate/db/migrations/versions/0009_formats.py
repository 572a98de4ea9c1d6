"""Format versions of stored event documents, rebuilds of stored data, and leases."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

# What a downgrade deletes: queries that count it.
LOSES = {
    "list documents of events, in a format that the older release cannot read: load the events again": (
        "SELECT count(*) FROM event_documents WHERE format > 0"
    ),
}


def upgrade() -> None:
    # Stored documents are format 0. The service rebuilds them from the packed events, in the background.
    op.add_column("event_documents", sa.Column("format", sa.SmallInteger(), nullable=False, server_default="0"))
    op.add_column("event_history", sa.Column("format", sa.SmallInteger(), nullable=False, server_default="0"))
    op.create_table(
        "leases",
        sa.Column("name", sa.String(40), nullable=False),
        sa.Column("holder", sa.String(32), nullable=False),
        sa.Column("expires", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_leases"),
    )
    op.create_table(
        "rebuilds",
        sa.Column("name", sa.String(40), nullable=False),
        sa.Column("format", sa.Integer(), nullable=False),
        sa.Column("target", sa.Integer()),
        sa.Column("is_forced", sa.Boolean(), nullable=False),
        sa.Column("reached", sa.BigInteger(), nullable=False),
        sa.Column("done", sa.BigInteger(), nullable=False),
        sa.Column("total", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_rebuilds"),
    )
    # A new database has nothing to rebuild.
    op.execute(
        "INSERT INTO rebuilds (name, format, is_forced, reached, done, total) "
        "SELECT 'events', CASE WHEN EXISTS (SELECT 1 FROM events) THEN 0 ELSE 1 END, false, -1, 0, 0"
    )


def downgrade() -> None:
    op.drop_table("rebuilds")
    op.drop_table("leases")
    op.drop_column("event_history", "format")
    op.drop_column("event_documents", "format")
