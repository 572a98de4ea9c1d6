"""Addresses from which users logged in, and the key that hashes them and signs device cookies."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.create_table(
        "known_addresses",
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("hash", sa.LargeBinary(32), nullable=False),
        sa.Column("last_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("user_id", "hash", name="pk_known_addresses"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_known_addresses_user_id_users", ondelete="CASCADE"),
    )
    op.create_table(
        "server_keys",
        sa.Column("name", sa.String(40), nullable=False),
        sa.Column("value", sa.LargeBinary(32), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_server_keys"),
    )


def downgrade() -> None:
    op.drop_table("server_keys")
    op.drop_table("known_addresses")
