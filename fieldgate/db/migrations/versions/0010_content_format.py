"""The format of the content of each asset version."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.add_column("asset_versions", sa.Column("content_format", sa.SmallInteger(), nullable=False, server_default="1"))
