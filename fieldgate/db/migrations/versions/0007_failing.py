"""Events that a sync retries, and the audience that still sees an event deleted for others."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    # Lists are now read in another order, so unfinished syncs start again.
    op.execute("UPDATE event_syncs SET began = NULL, reached = 0")
    op.drop_column("event_syncs", "failed")
    op.add_column("event_syncs", sa.Column("failing", sa.Text(), nullable=False, server_default=""))
    op.add_column("deleted_events", sa.Column("kept_visibility", sa.SmallInteger()))
    op.add_column("deleted_events", sa.Column("kept_countries", sa.Text()))
