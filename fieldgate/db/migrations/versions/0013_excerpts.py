"""The rows of a workbook that the problems and warnings of its import are about."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"

# What a downgrade deletes: queries that count it.
LOSES = {
    "rows of workbooks that problems of imports are about": (
        "SELECT count(*) FROM imports WHERE CAST(excerpts AS TEXT) <> 'null'"
    ),
}


def upgrade() -> None:
    op.add_column("imports", sa.Column("excerpts", sa.JSON(), nullable=True))
    # Responses have more fields: no client may go on using those it has.
    op.execute("UPDATE changes SET version = version + 1 WHERE topic = 'imports'")


def downgrade() -> None:
    op.drop_column("imports", "excerpts")
    op.execute("UPDATE changes SET version = version + 1 WHERE topic = 'imports'")
