"""Who changed an asset last, and the warnings about content that was sent without a file."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    op.add_column("assets", sa.Column("modified_by", sa.Integer()))
    op.add_column("asset_versions", sa.Column("warnings", sa.JSON()))
