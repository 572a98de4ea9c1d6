"""Who changed an asset last, and the warnings about content that was sent without a file."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"

# What a downgrade deletes: queries that count it.
LOSES = {
    "who changed an asset last": "SELECT count(*) FROM assets WHERE modified_by IS NOT NULL",
    "warnings about content": "SELECT count(*) FROM asset_versions WHERE CAST(warnings AS TEXT) <> 'null'",
}


def upgrade() -> None:
    op.add_column("assets", sa.Column("modified_by", sa.Integer()))
    op.add_column("asset_versions", sa.Column("warnings", sa.JSON()))


def downgrade() -> None:
    op.drop_column("asset_versions", "warnings")
    op.drop_column("assets", "modified_by")
