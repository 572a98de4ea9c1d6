"""The format of the content of each asset version."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"

# What a downgrade deletes: queries that count it.
LOSES = {
    "form content in a format that the older release does not know": (
        "SELECT count(*) FROM asset_versions WHERE content_format > 1"
    ),
}


def upgrade() -> None:
    op.add_column("asset_versions", sa.Column("content_format", sa.SmallInteger(), nullable=False, server_default="1"))


def downgrade() -> None:
    op.drop_column("asset_versions", "content_format")
