"""State of syncs with other servers."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

# What a downgrade deletes: queries that count it.
LOSES = {"states of syncs": "SELECT count(*) FROM event_syncs"}


def upgrade() -> None:
    op.create_table(
        "event_syncs",
        sa.Column("source", sa.String(500), nullable=False),
        sa.Column("with_token", sa.Boolean(), nullable=False),
        sa.Column("finished", sa.BigInteger()),
        sa.Column("began", sa.BigInteger()),
        sa.Column("since", sa.BigInteger()),
        sa.Column("is_filtered", sa.Boolean(), nullable=False),
        sa.Column("reached", sa.BigInteger(), nullable=False),
        sa.Column("failed", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("source", "with_token", name="pk_event_syncs"),
    )


def downgrade() -> None:
    op.drop_table("event_syncs")
