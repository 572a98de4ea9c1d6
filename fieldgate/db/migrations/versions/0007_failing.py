"""Events that a sync retries, and the audience that still sees an event deleted for others."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

# What a downgrade deletes: queries that count it.
LOSES = {
    "events that a sync will retry": "SELECT count(*) FROM event_syncs WHERE failing <> ''",
    "events hidden from some of those who saw them": (
        "SELECT count(*) FROM deleted_events WHERE kept_visibility IS NOT NULL"
    ),
}


def upgrade() -> None:
    # Lists are now read in another order, so unfinished syncs start again.
    op.execute("UPDATE event_syncs SET began = NULL, reached = 0")
    op.drop_column("event_syncs", "failed")
    op.add_column("event_syncs", sa.Column("failing", sa.Text(), nullable=False, server_default=""))
    op.add_column("deleted_events", sa.Column("kept_visibility", sa.SmallInteger()))
    op.add_column("deleted_events", sa.Column("kept_countries", sa.Text()))


def downgrade() -> None:
    # The older release takes every row for an event that is gone for everybody.
    op.execute("DELETE FROM deleted_events WHERE kept_visibility IS NOT NULL")
    op.drop_column("deleted_events", "kept_countries")
    op.drop_column("deleted_events", "kept_visibility")
    op.drop_column("event_syncs", "failing")
    op.add_column("event_syncs", sa.Column("failed", sa.BigInteger(), nullable=False, server_default="0"))
    op.execute("UPDATE event_syncs SET began = NULL, reached = 0")
