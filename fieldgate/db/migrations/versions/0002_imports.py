"""Assets with their versions and files, and imports."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

# What a downgrade deletes: queries that count it.
LOSES = {
    "assets": "SELECT count(*) FROM assets",
    "imports": "SELECT count(*) FROM imports",
    "files": "SELECT count(*) FROM files",
}


def upgrade() -> None:
    op.create_table(
        "files",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("digest", sa.LargeBinary(32), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_files"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "assets",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("uid", sa.String(22), nullable=False),
        sa.Column("owner_id", sa.Integer(), nullable=False),
        sa.Column("parent_id", sa.Integer()),
        sa.Column("asset_type", sa.String(20), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.Column("summary", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("modified_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_assets"),
        sa.ForeignKeyConstraint(["owner_id"], ["users.id"], name="fk_assets_owner_id_users", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["parent_id"], ["assets.id"], name="fk_assets_parent_id_assets", ondelete="CASCADE"),
        sa.UniqueConstraint("uid", name="uq_assets_uid"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_assets_owner_id_modified_at", "assets", ["owner_id", "modified_at"])
    op.create_index("ix_assets_parent_id", "assets", ["parent_id"])
    op.create_table(
        "asset_versions",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("uid", sa.String(22), nullable=False),
        sa.Column("asset_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("content", sa.JSON(), nullable=False),
        sa.Column("summary", sa.JSON(), nullable=False),
        sa.Column("xform", sa.Text()),
        sa.Column("file_id", sa.Integer()),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_asset_versions"),
        sa.ForeignKeyConstraint(
            ["asset_id"], ["assets.id"], name="fk_asset_versions_asset_id_assets", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["file_id"], ["files.id"], name="fk_asset_versions_file_id_files"),
        sa.UniqueConstraint("uid", name="uq_asset_versions_uid"),
        sa.UniqueConstraint("asset_id", "number", name="uq_asset_versions_asset_id_number"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_asset_versions_file_id", "asset_versions", ["file_id"])
    op.create_table(
        "imports",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("uid", sa.String(22), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(10), nullable=False),
        sa.Column("filename", sa.String(255), nullable=False),
        sa.Column("file_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("is_library", sa.Boolean(), nullable=False),
        sa.Column("desired_type", sa.String(20), nullable=False),
        sa.Column("destination_uid", sa.String(22)),
        sa.Column("messages", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("finished_at", sa.BigInteger()),
        sa.Column("claimed_at", sa.BigInteger()),
        sa.Column("lease", sa.String(32)),
        sa.Column("lease_until", sa.BigInteger()),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("retry_key", sa.String(255)),
        sa.Column("retry_digest", sa.LargeBinary(32)),
        sa.PrimaryKeyConstraint("id", name="pk_imports"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_imports_user_id_users", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["file_id"], ["files.id"], name="fk_imports_file_id_files"),
        sa.UniqueConstraint("uid", name="uq_imports_uid"),
        sa.UniqueConstraint("user_id", "retry_key", name="uq_imports_user_id_retry_key"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_imports_user_id_created_at_uid", "imports", ["user_id", "created_at", "uid"])
    op.create_index("ix_imports_status_lease_until", "imports", ["status", "lease_until"])
    op.create_index("ix_imports_file_id", "imports", ["file_id"])


def downgrade() -> None:
    for table in ("imports", "asset_versions", "assets", "files"):
        op.drop_table(table)
