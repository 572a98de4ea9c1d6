"""Indexes with which the queue is asked, and names as they are searched and sorted."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.drop_index("ix_imports_status_lease_until", "imports")
    op.create_index(
        "ix_imports_user_id_id_lease_until",
        "imports",
        ["user_id", "id", "lease_until"],
        sqlite_where=sa.text("status = 'processing'"),
        postgresql_where=sa.text("status = 'processing'"),
    )
    op.create_index("ix_imports_user_id_claimed_at", "imports", ["user_id", "claimed_at"])
    op.create_index("ix_imports_finished_at", "imports", ["finished_at"])
