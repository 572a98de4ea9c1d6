"""Which events a sync asks for again, and who still sees an event that is gone for others."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    # Lists are read in another order from now on: what was under way is begun anew.
    op.execute("UPDATE event_syncs SET began = NULL, reached = 0")
    op.drop_column("event_syncs", "failed")
    op.add_column("event_syncs", sa.Column("failing", sa.Text(), nullable=False, server_default=""))
    op.add_column("deleted_events", sa.Column("kept_visibility", sa.SmallInteger()))
    op.add_column("deleted_events", sa.Column("kept_countries", sa.Text()))
