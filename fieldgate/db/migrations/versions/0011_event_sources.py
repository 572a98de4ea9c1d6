"""Where each event was pulled from, and more of the state of syncs."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

# What a downgrade deletes: queries that count it.
LOSES = {"sources of events: the next sync reads everything": "SELECT count(*) FROM event_sources"}


def upgrade() -> None:
    op.create_table(
        "event_sources",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), nullable=False, autoincrement=False),
        sa.Column("source", sa.String(500), nullable=False),
        sa.Column("with_token", sa.Boolean(), nullable=False),
        sa.Column("listed_in", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("detail_in", sa.BigInteger(), nullable=False),
        sa.Column("detail_at", sa.BigInteger()),
        sa.PrimaryKeyConstraint("id", name="pk_event_sources"),
    )
    op.create_index("ix_event_sources_source", "event_sources", ["source"])
    op.add_column("event_syncs", sa.Column("run", sa.BigInteger(), nullable=False, server_default="0"))
    op.add_column("event_syncs", sa.Column("walk", sa.BigInteger(), nullable=False, server_default="0"))
    op.add_column("event_syncs", sa.Column("is_full", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("event_syncs", sa.Column("last_ids", sa.Text(), nullable=False, server_default="[]"))
    # The next sync pulls everything once: it records the source of each event, and what is public.
    op.execute("UPDATE event_syncs SET finished = NULL, began = NULL, reached = 0")


def downgrade() -> None:
    for column in ("last_ids", "is_full", "walk", "run"):
        op.drop_column("event_syncs", column)
    op.drop_table("event_sources")
    op.execute("UPDATE event_syncs SET finished = NULL, began = NULL, reached = 0")
