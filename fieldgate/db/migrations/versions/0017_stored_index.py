"""The index of all events as a process builds it, so that the next one need not."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    op.create_table(
        "event_indexes",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("rebuild_version", sa.BigInteger(), nullable=False),
        sa.Column("format", sa.SmallInteger(), nullable=False),
        sa.Column("layout", sa.Integer(), nullable=False),
        sa.Column("part_count", sa.Integer(), nullable=False),
        sa.Column("digest", sa.LargeBinary(32), nullable=False),
        sa.Column("stored_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_event_indexes"),
    )
    op.create_table(
        "event_index_parts",
        sa.Column("index_id", sa.String(32), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("index_id", "number", name="pk_event_index_parts"),
    )


def downgrade() -> None:
    op.drop_table("event_index_parts")
    op.drop_table("event_indexes")
