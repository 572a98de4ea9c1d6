"""Names of tokens, the last login of users, and one-time links to set a password."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"

# What a downgrade deletes: queries that count it.
LOSES = {
    "names of tokens": "SELECT count(*) FROM tokens WHERE name <> ''",
    "times of last logins": "SELECT count(*) FROM users WHERE last_login_at IS NOT NULL",
    "one-time links that were not used": "SELECT count(*) FROM invitations",
}


def upgrade() -> None:
    op.add_column("tokens", sa.Column("name", sa.String(100), nullable=False, server_default=""))
    op.add_column("users", sa.Column("last_login_at", sa.BigInteger()))
    op.create_table(
        "invitations",
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("hash", sa.LargeBinary(32), nullable=False),
        sa.Column("created_by", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("user_id", name="pk_invitations"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_invitations_user_id_users", ondelete="CASCADE"),
        sa.UniqueConstraint("hash", name="uq_invitations_hash"),
    )


def downgrade() -> None:
    op.drop_table("invitations")
    op.drop_column("users", "last_login_at")
    op.drop_column("tokens", "name")
