"""Permission assignments, their history, and the public as a grantee."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

# What a downgrade deletes: queries that count it.
LOSES = {
    "permission assignments": "SELECT count(*) FROM assignments",
    "history of permission assignments": "SELECT count(*) FROM assignment_history",
}

THE_PUBLIC = -1


def upgrade() -> None:
    op.create_table(
        "assignments",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("uid", sa.String(22), nullable=False),
        sa.Column("asset_id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("permission", sa.String(30), nullable=False),
        sa.Column("is_denied", sa.Boolean(), nullable=False),
        sa.Column("filters", sa.JSON()),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_assignments"),
        sa.ForeignKeyConstraint(["asset_id"], ["assets.id"], name="fk_assignments_asset_id_assets", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_assignments_user_id_users", ondelete="CASCADE"),
        sa.UniqueConstraint("uid", name="uq_assignments_uid"),
        sa.UniqueConstraint("asset_id", "user_id", "permission", name="uq_assignments_asset_id_user_id_permission"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_assignments_user_id_permission_asset_id", "assignments", ["user_id", "permission", "asset_id"])
    op.create_table(
        "assignment_history",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("asset_id", sa.Integer(), nullable=False),
        sa.Column("made_at", sa.BigInteger(), nullable=False),
        sa.Column("made_by", sa.Integer(), nullable=False),
        sa.Column("act", sa.String(20), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("permission", sa.String(30), nullable=False),
        sa.Column("what", sa.String(20), nullable=False),
        sa.Column("why", sa.String(20), nullable=False),
        sa.Column("because", sa.String(30), nullable=False),
        sa.Column("filters", sa.JSON()),
        sa.Column("source", sa.String(22)),
        sa.PrimaryKeyConstraint("id", name="pk_assignment_history"),
        sa.ForeignKeyConstraint(
            ["asset_id"], ["assets.id"], name="fk_assignment_history_asset_id_assets", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["made_by"], ["users.id"], name="fk_assignment_history_made_by_users", ondelete="RESTRICT"
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name="fk_assignment_history_user_id_users", ondelete="CASCADE"
        ),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_assignment_history_asset_id_id", "assignment_history", ["asset_id", "id"])
    # Most assets are in no collection. If the index had them, SQLite would expect half of all assets in each.
    op.drop_index("ix_assets_parent_id", table_name="assets")
    is_inside = sa.text("parent_id IS NOT NULL")
    op.create_index("ix_assets_parent_id", "assets", ["parent_id"], sqlite_where=is_inside, postgresql_where=is_inside)
    # A user who already has this name is renamed, as it is now reserved for the public.
    op.execute(
        "UPDATE users SET username = username || CAST(id AS VARCHAR(20)), "
        "username_key = username_key || CAST(id AS VARCHAR(20)) WHERE username_key = 'anonymoususer'"
    )
    op.execute(
        sa.text(
            "INSERT INTO users (id, username, username_key, password_hash, first_name, last_name, is_superuser, "
            "is_ifrc, is_demo, countries, created_at) VALUES (:id, 'AnonymousUser', 'anonymoususer', '', '', '', "
            "false, false, false, '[]', 0)"
        ).bindparams(id=THE_PUBLIC)
    )


def downgrade() -> None:
    op.drop_index("ix_assets_parent_id", table_name="assets")
    op.create_index("ix_assets_parent_id", "assets", ["parent_id"])
    op.drop_table("assignment_history")
    op.drop_table("assignments")
    op.execute(sa.text("DELETE FROM users WHERE id = :id").bindparams(id=THE_PUBLIC))
