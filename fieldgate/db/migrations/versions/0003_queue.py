"""Indexes for the import queue, and normalized names for search and sorting."""

import unicodedata

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
    op.drop_column("files", "digest")  # a digest of the request, never read
    # SQLite cannot add a NOT NULL column without a default.
    op.add_column("assets", sa.Column("name_key", sa.Text(), nullable=False, server_default=""))
    _fill_keys()


def downgrade() -> None:
    op.drop_column("assets", "name_key")
    # Nothing reads the digest, so any value will do.
    op.add_column("files", sa.Column("digest", sa.LargeBinary(32), nullable=False, server_default=""))
    op.drop_index("ix_imports_finished_at", "imports")
    op.drop_index("ix_imports_user_id_claimed_at", "imports")
    op.drop_index("ix_imports_user_id_id_lease_until", "imports")
    op.create_index("ix_imports_status_lease_until", "imports", ["status", "lease_until"])


def _fill_keys() -> None:
    assets = sa.table("assets", sa.column("id"), sa.column("name"), sa.column("name_key"))
    connection = op.get_bind()
    keys = [
        {"number": row.id, "key": _key(row.name)} for row in connection.execute(sa.select(assets.c.id, assets.c.name))
    ]
    if keys:
        filled = assets.update().where(assets.c.id == sa.bindparam("number")).values(name_key=sa.bindparam("key"))
        connection.execute(filled, keys)


def _key(name: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
