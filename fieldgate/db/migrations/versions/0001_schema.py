"""The first schema, with countries, disaster types, and the public as a user.

Until 0.1 this revision may change; then it gets another name, which `tests/db/test_migrations.py` prints, so that
databases of before are refused. From 0.1 on it stays as it is, whatever the code does.

The files in `seeds` hold facts: the ids IFRC GO uses, codes, regions. Names of countries come from CLDR, except where a
file has our own: for what CLDR does not know, or calls as nobody in this field does.
"""

import csv
import secrets
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic import op
from babel import Locale
from sqlalchemy import Column

revision = "0001_132c1925"
down_revision = None

THE_PUBLIC = -1
SEEDS = Path(__file__).parent.parent / "seeds"
LANGUAGES = ("en", "fr", "es", "ar")
NOTHING = dict.fromkeys(LANGUAGES, "")


def upgrade() -> None:
    _create_tables_of_log()
    _create_tables_of_reference()
    _create_tables_of_accounts()
    _create_tables_of_assets()
    _create_tables_of_events()
    _create_tables_of_imports()
    _create_tables_of_move()


def _create_tables_of_log() -> None:
    topic_versions = op.create_table(
        "changes",
        Column("topic", sa.String(length=40), nullable=False),
        Column("version", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("topic", name="pk_changes"),
    )
    op.create_table(
        "leases",
        Column("name", sa.String(length=40), nullable=False),
        Column("holder", sa.String(length=32), nullable=False),
        Column("expires", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_leases"),
    )
    op.create_table(
        "log",
        Column("id", sa.Integer(), nullable=False),
        Column("made_at", sa.BigInteger(), nullable=False),
        Column("log_type", sa.String(length=20), nullable=False),
        Column("action", sa.String(length=40), nullable=False),
        Column("user_id", sa.Integer(), nullable=True),
        Column("user_uid", sa.String(length=22), nullable=False),
        Column("username", sa.String(length=150), nullable=False),
        Column("credential", sa.String(length=120), nullable=False),
        Column("ip_address", sa.String(length=45), nullable=False),
        Column("source", sa.String(length=200), nullable=False),
        Column("request_id", sa.String(length=64), nullable=False),
        Column("model_name", sa.String(length=20), nullable=False),
        Column("object_uid", sa.String(length=150), nullable=False),
        Column("object_name", sa.String(length=255), nullable=False),
        Column("subject_id", sa.Integer(), nullable=True),
        Column("subject_uid", sa.String(length=22), nullable=False),
        Column("subject_name", sa.String(length=150), nullable=False),
        Column("owner_id", sa.Integer(), nullable=True),
        Column("effect_count", sa.Integer(), nullable=False),
        Column("times", sa.Integer(), nullable=False),
        Column("details", sa.JSON(), nullable=False),
        Column("minute_key", sa.String(length=72), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_log"),
        sa.UniqueConstraint("minute_key", name="uq_log_minute_key"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_log_log_type_id", "log", ["log_type", "id"], unique=False)
    op.create_index("ix_log_object_uid_id", "log", ["object_uid", "id"], unique=False)
    op.create_index("ix_log_user_id_id", "log", ["user_id", "id"], unique=False)
    op.create_table(
        "log_counts",
        Column("id", sa.Integer(), nullable=False),
        Column("log_type", sa.String(length=20), nullable=False),
        Column("entries", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_log_counts"),
        sqlite_autoincrement=True,
    )
    # Writers of events lock the first row; the second one identifies the database.
    versions = [
        {"topic": "events", "version": 0},
        {"topic": "identity", "version": secrets.randbits(62)},
    ]
    op.bulk_insert(topic_versions, versions)


def _create_tables_of_reference() -> None:
    countries = op.create_table(
        "countries",
        Column("id", sa.Integer(), autoincrement=False, nullable=False),
        Column("iso", sa.String(length=2), nullable=True),
        Column("iso3", sa.String(length=3), nullable=True),
        Column("region", sa.Integer(), nullable=True),
        Column("record_type", sa.Integer(), nullable=False),
        Column("independent", sa.Boolean(), nullable=True),
        Column("is_deprecated", sa.Boolean(), nullable=False),
        Column("fdrs", sa.Text(), nullable=True),
        Column("average_household_size", sa.Float(), nullable=True),
        Column("names", sa.JSON(), nullable=False),
        Column("society_names", sa.JSON(), nullable=False),
        Column("original_language", sa.String(length=2), nullable=False),
        Column("is_listed", sa.Boolean(), nullable=False),
        Column("overviews", sa.JSON(), nullable=False),
        Column("profile", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_countries"),
    )
    disaster_types = op.create_table(
        "disaster_types",
        Column("id", sa.Integer(), autoincrement=False, nullable=False),
        Column("names", sa.JSON(), nullable=False),
        Column("summaries", sa.JSON(), nullable=False),
        Column("original_language", sa.String(length=2), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_disaster_types"),
    )
    op.create_table(
        "name_orders",
        Column("table_name", sa.String(length=20), nullable=False),
        Column("language", sa.String(length=2), nullable=False),
        Column("digest", sa.String(length=64), nullable=False),
        Column("ids", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("table_name", "language", name="pk_name_orders"),
    )
    op.bulk_insert(countries, _countries())
    op.bulk_insert(disaster_types, _disaster_types())


def _create_tables_of_accounts() -> None:
    op.create_table(
        "login_attempts",
        Column("key", sa.String(length=200), nullable=False),
        Column("failures", sa.Integer(), nullable=False),
        Column("last_at", sa.BigInteger(), nullable=False),
        Column("blocked_until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_login_attempts"),
    )
    op.create_index("ix_login_attempts_last_at", "login_attempts", ["last_at"], unique=False)
    op.create_table(
        "reserved_usernames",
        Column("hash", sa.LargeBinary(length=32), nullable=False),
        sa.PrimaryKeyConstraint("hash", name="pk_reserved_usernames"),
    )
    op.create_table(
        "users",
        Column("id", sa.Integer(), nullable=False),
        Column("uid", sa.String(length=22), nullable=False),
        Column("username", sa.String(length=150), nullable=False),
        Column("username_key", sa.String(length=150), nullable=False),
        Column("password_hash", sa.String(length=255), nullable=False),
        Column("first_name", sa.String(length=150), nullable=False),
        Column("last_name", sa.String(length=150), nullable=False),
        Column("search_text", sa.Text(), server_default="", nullable=False),
        Column("is_superuser", sa.Boolean(), nullable=False),
        Column("is_ifrc", sa.Boolean(), nullable=False),
        Column("is_demo", sa.Boolean(), nullable=False),
        Column("countries", sa.JSON(), nullable=False),
        Column("created_at", sa.BigInteger(), nullable=False),
        Column("disabled_at", sa.BigInteger(), nullable=True),
        Column("last_login_at", sa.BigInteger(), nullable=True),
        Column("owner_id", sa.Integer(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_users"),
        sa.UniqueConstraint("uid", name="uq_users_uid"),
        sa.UniqueConstraint("username_key", name="uq_users_username_key"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_users_owner_id", "users", ["owner_id"], unique=False)
    op.create_table(
        "identities",
        Column("id", sa.Integer(), nullable=False),
        Column("user_id", sa.Integer(), nullable=False),
        Column("issuer", sa.String(length=500), nullable=False),
        Column("subject", sa.String(length=255), nullable=False),
        Column("created_at", sa.BigInteger(), nullable=False),
        Column("last_login_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name="fk_identities_user_id_users", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_identities"),
        sa.UniqueConstraint("issuer", "subject", name="uq_identities_issuer_subject"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_identities_user_id", "identities", ["user_id"], unique=False)
    op.create_table(
        "invitations",
        Column("user_id", sa.Integer(), autoincrement=False, nullable=False),
        Column("hash", sa.LargeBinary(length=32), nullable=False),
        Column("created_by", sa.Integer(), nullable=False),
        Column("created_at", sa.BigInteger(), nullable=False),
        Column("expires_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name="fk_invitations_user_id_users", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user_id", name="pk_invitations"),
        sa.UniqueConstraint("hash", name="uq_invitations_hash"),
    )
    op.create_table(
        "teams",
        Column("id", sa.Integer(), autoincrement=False, nullable=False),
        Column("name", sa.String(length=100), nullable=False),
        Column("name_key", sa.String(length=200), nullable=False),
        Column("description", sa.String(length=1000), nullable=False),
        sa.ForeignKeyConstraint(["id"], ["users.id"], name="fk_teams_id_users", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_teams"),
    )
    op.create_index("ix_teams_name_key", "teams", ["name_key"], unique=False)
    op.create_table(
        "tokens",
        Column("id", sa.Integer(), nullable=False),
        Column("user_id", sa.Integer(), nullable=False),
        Column("hash", sa.LargeBinary(length=32), nullable=False),
        Column("prefix", sa.String(length=12), nullable=False),
        Column("name", sa.String(length=100), server_default="", nullable=False),
        Column("issued_by", sa.String(length=10), nullable=False),
        Column("created_at", sa.BigInteger(), nullable=False),
        Column("last_used_at", sa.BigInteger(), nullable=True),
        Column("last_used_from", sa.String(length=45), nullable=True),
        Column("expires_at", sa.BigInteger(), nullable=True),
        Column("revoked_at", sa.BigInteger(), nullable=True),
        Column("scopes", sa.String(length=100), server_default="all", nullable=False),
        Column("assets", sa.JSON(none_as_null=True), nullable=True),
        Column("networks", sa.JSON(none_as_null=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name="fk_tokens_user_id_users", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_tokens"),
        sa.UniqueConstraint("hash", name="uq_tokens_hash"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_tokens_user_id", "tokens", ["user_id"], unique=False)
    op.create_table(
        "team_members",
        Column("team_id", sa.Integer(), nullable=False),
        Column("user_id", sa.Integer(), nullable=False),
        Column("role", sa.String(length=10), nullable=False),
        Column("joined_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["team_id"], ["teams.id"], name="fk_team_members_team_id_teams", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name="fk_team_members_user_id_users", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("team_id", "user_id", name="pk_team_members"),
    )
    op.create_index("ix_team_members_user_id", "team_members", ["user_id"], unique=False)
    op.execute(
        sa.text(
            "INSERT INTO users (id, uid, username, username_key, password_hash, first_name, last_name, is_superuser, "
            "is_ifrc, is_demo, countries, created_at) VALUES (:id, 'uAnonymousUser', "
            "'AnonymousUser', 'anonymoususer', '', '', '', false, false, false, '[]', 0)"
        ).bindparams(id=THE_PUBLIC)
    )


def _create_tables_of_assets() -> None:
    op.create_table(
        "files",
        Column("id", sa.Integer(), nullable=False),
        Column("name", sa.String(length=255), nullable=False),
        Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_files"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "assets",
        Column("id", sa.Integer(), nullable=False),
        Column("uid", sa.String(length=22), nullable=False),
        Column("owner_id", sa.Integer(), nullable=False),
        Column("parent_id", sa.Integer(), nullable=True),
        Column("asset_type", sa.String(length=20), nullable=False),
        Column("name", sa.String(length=255), nullable=False),
        Column("name_key", sa.Text(), server_default="", nullable=False),
        Column("search_text", sa.Text(), server_default="", nullable=False),
        Column("form_id", sa.Text(), nullable=True),
        Column("settings", sa.JSON(), nullable=False),
        Column("tags", sa.JSON(), nullable=False),
        Column("tags_key", sa.Text(), server_default="", nullable=False),
        Column("summary", sa.JSON(), nullable=False),
        Column("created_at", sa.BigInteger(), nullable=False),
        Column("modified_at", sa.BigInteger(), nullable=False),
        Column("modified_by", sa.Integer(), nullable=True),
        Column("deployed_version_uid", sa.String(length=22), nullable=True),
        Column("deployed_at", sa.BigInteger(), nullable=True),
        Column("deployment_active", sa.Boolean(), nullable=True),
        Column("deleted_at", sa.BigInteger(), nullable=True),
        Column("deleted_by", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(
            ["owner_id"], ["users.id"], name="fk_assets_owner_id_users", ondelete="RESTRICT"
        ),
        sa.ForeignKeyConstraint(
            ["parent_id"], ["assets.id"], name="fk_assets_parent_id_assets", ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_assets"),
        sa.UniqueConstraint("uid", name="uq_assets_uid"),
        sqlite_autoincrement=True,
    )
    _create_partial_index(
        "ix_assets_deleted_at", "assets", ["deleted_at"], "deleted_at IS NOT NULL"
    )
    op.create_index(
        "ix_assets_owner_id_modified_at", "assets", ["owner_id", "modified_at"], unique=False
    )
    _create_partial_index("ix_assets_parent_id", "assets", ["parent_id"], "parent_id IS NOT NULL")
    op.create_table(
        "ownership_invites",
        Column("id", sa.Integer(), nullable=False),
        Column("uid", sa.String(length=22), nullable=False),
        Column("sender_id", sa.Integer(), nullable=False),
        Column("recipient_id", sa.Integer(), nullable=False),
        Column("status", sa.String(length=12), nullable=False),
        Column("created_at", sa.BigInteger(), nullable=False),
        Column("modified_at", sa.BigInteger(), nullable=False),
        Column("expires_at", sa.BigInteger(), nullable=False),
        Column("seen_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["recipient_id"],
            ["users.id"],
            name="fk_ownership_invites_recipient_id_users",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["sender_id"],
            ["users.id"],
            name="fk_ownership_invites_sender_id_users",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name="pk_ownership_invites"),
        sa.UniqueConstraint("uid", name="uq_ownership_invites_uid"),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ix_ownership_invites_recipient_id", "ownership_invites", ["recipient_id"], unique=False
    )
    op.create_index(
        "ix_ownership_invites_sender_id", "ownership_invites", ["sender_id"], unique=False
    )
    op.create_table(
        "asset_versions",
        Column("id", sa.Integer(), nullable=False),
        Column("uid", sa.String(length=22), nullable=False),
        Column("asset_id", sa.Integer(), nullable=False),
        Column("number", sa.Integer(), nullable=False),
        Column("content_hash", sa.String(length=64), nullable=False),
        Column("deployed_at", sa.BigInteger(), nullable=True),
        Column("content", sa.JSON(), nullable=False),
        Column("summary", sa.JSON(), nullable=False),
        Column("xform", sa.Text(), nullable=True),
        Column("file_id", sa.Integer(), nullable=True),
        Column("warnings", sa.JSON(none_as_null=True), nullable=True),
        Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["asset_id"],
            ["assets.id"],
            name="fk_asset_versions_asset_id_assets",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["file_id"], ["files.id"], name="fk_asset_versions_file_id_files"),
        sa.PrimaryKeyConstraint("id", name="pk_asset_versions"),
        sa.UniqueConstraint("asset_id", "number", name="uq_asset_versions_asset_id_number"),
        sa.UniqueConstraint("uid", name="uq_asset_versions_uid"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_asset_versions_file_id", "asset_versions", ["file_id"], unique=False)
    op.create_table(
        "assignments",
        Column("id", sa.Integer(), nullable=False),
        Column("uid", sa.String(length=22), nullable=False),
        Column("asset_id", sa.Integer(), nullable=False),
        Column("user_id", sa.Integer(), nullable=False),
        Column("permission", sa.String(length=30), nullable=False),
        Column("is_denied", sa.Boolean(), nullable=False),
        Column("filters", sa.JSON(), nullable=True),
        Column("created_at", sa.BigInteger(), nullable=False),
        Column("expires_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["asset_id"], ["assets.id"], name="fk_assignments_asset_id_assets", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name="fk_assignments_user_id_users", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_assignments"),
        sa.UniqueConstraint(
            "asset_id", "user_id", "permission", name="uq_assignments_asset_id_user_id_permission"
        ),
        sa.UniqueConstraint("uid", name="uq_assignments_uid"),
        sqlite_autoincrement=True,
    )
    _create_partial_index(
        "ix_assignments_expires_at", "assignments", ["expires_at"], "expires_at IS NOT NULL"
    )
    op.create_index(
        "ix_assignments_user_id_permission_asset_id",
        "assignments",
        ["user_id", "permission", "asset_id"],
        unique=False,
    )
    op.create_table(
        "ownership_transfers",
        Column("id", sa.Integer(), nullable=False),
        Column("uid", sa.String(length=22), nullable=False),
        Column("invite_id", sa.Integer(), nullable=False),
        Column("asset_id", sa.Integer(), nullable=False),
        Column("asset_name", sa.String(length=255), nullable=False),
        Column("status", sa.String(length=12), nullable=False),
        Column("error", sa.String(length=12), nullable=False),
        Column("modified_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["asset_id"],
            ["assets.id"],
            name="fk_ownership_transfers_asset_id_assets",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["invite_id"],
            ["ownership_invites.id"],
            name="fk_ownership_transfers_invite_id_ownership_invites",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name="pk_ownership_transfers"),
        sa.UniqueConstraint("uid", name="uq_ownership_transfers_uid"),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ix_ownership_transfers_asset_id", "ownership_transfers", ["asset_id"], unique=False
    )
    op.create_index(
        "ix_ownership_transfers_invite_id", "ownership_transfers", ["invite_id"], unique=False
    )


def _create_tables_of_events() -> None:
    event_id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    # Compared character by character on both databases.
    glide = sa.String(length=18).with_variant(sa.String(length=18, collation="C"), "postgresql")
    op.create_table(
        "events",
        Column("id", event_id, autoincrement=False, nullable=False),
        Column("version", sa.BigInteger(), nullable=False),
        Column("slug", sa.String(length=50), nullable=True),
        Column("parent_event", sa.BigInteger(), nullable=True),
        Column("is_demo", sa.Boolean(), nullable=False),
        Column("visibility", sa.SmallInteger(), nullable=False),
        Column("dtype", sa.BigInteger(), nullable=True),
        Column("ifrc_severity_level", sa.SmallInteger(), nullable=False),
        Column("is_featured", sa.Boolean(), nullable=False),
        Column("is_featured_region", sa.Boolean(), nullable=False),
        Column("auto_generated_source", sa.String(length=50), nullable=True),
        Column("glide", glide, nullable=True),
        Column("disaster_start_date", sa.BigInteger(), nullable=False),
        Column("created_at", sa.BigInteger(), nullable=False),
        Column("updated_at", sa.BigInteger(), nullable=False),
        Column("num_affected", sa.BigInteger(), nullable=True),
        Column("regions", sa.Integer(), nullable=False),
        Column("appeal_types", sa.Integer(), nullable=False),
        Column("appeal_codes", sa.Text(), nullable=False),
        Column("appeals", sa.Integer(), nullable=False),
        Column("requested_cents", sa.BigInteger(), nullable=False),
        Column("funded_cents", sa.BigInteger(), nullable=False),
        Column("search_text", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_events"),
        sa.UniqueConstraint("slug", name="uq_events_slug"),
    )
    op.create_index("ix_events_glide", "events", ["glide"], unique=False)
    op.create_index("ix_events_updated_at", "events", ["updated_at"], unique=False)
    of_list = [
        "id",
        "parent_event",
        "visibility",
        "regions",
        "dtype",
        "ifrc_severity_level",
        "updated_at",
        "version",
    ]
    op.create_index(
        "ix_events_list", "events", [sa.text("disaster_start_date DESC"), *of_list], unique=False
    )
    op.create_table(
        "event_countries",
        Column("country_id", sa.Integer(), autoincrement=False, nullable=False),
        Column("event_id", event_id, autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("country_id", "event_id", name="pk_event_countries"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_event_countries_event_id", "event_countries", ["event_id"], unique=False)
    op.create_table(
        "event_contents",
        Column("id", event_id, autoincrement=False, nullable=False),
        Column("content", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_event_contents"),
    )
    op.create_table(
        "deleted_events",
        Column("id", event_id, autoincrement=False, nullable=False),
        Column("deleted_at", sa.BigInteger(), nullable=False),
        Column("visibility", sa.SmallInteger(), nullable=False),
        Column("countries", sa.Text(), nullable=False),
        Column("kept_visibility", sa.SmallInteger(), nullable=True),
        Column("kept_countries", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_deleted_events"),
    )
    op.create_index(
        "ix_deleted_events_deleted_at_id", "deleted_events", ["deleted_at", "id"], unique=False
    )
    op.create_table(
        "event_sources",
        Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=False,
            nullable=False,
        ),
        Column("source", sa.String(length=500), nullable=False),
        Column("with_token", sa.Boolean(), nullable=False),
        Column("detail_at", sa.BigInteger(), nullable=True),
        Column("detail_version", sa.String(length=40), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_event_sources"),
    )
    op.create_index("ix_event_sources_source", "event_sources", ["source"], unique=False)
    op.create_table(
        "event_syncs",
        Column("source", sa.String(length=500), nullable=False),
        Column("with_token", sa.Boolean(), nullable=False),
        Column("finished", sa.BigInteger(), nullable=True),
        Column("began", sa.BigInteger(), nullable=True),
        Column("since", sa.BigInteger(), nullable=True),
        Column("is_full", sa.Boolean(), nullable=False),
        Column("position", sa.Text(), nullable=False),
        Column("failing", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("source", "with_token", name="pk_event_syncs"),
    )


def _create_tables_of_imports() -> None:
    op.create_table(
        "imports",
        Column("id", sa.Integer(), nullable=False),
        Column("uid", sa.String(length=22), nullable=False),
        Column("user_id", sa.Integer(), nullable=False),
        Column("status", sa.String(length=10), nullable=False),
        Column("filename", sa.String(length=255), nullable=False),
        Column("file_id", sa.Integer(), nullable=False),
        Column("name", sa.String(length=255), nullable=False),
        Column("is_library", sa.Boolean(), nullable=False),
        Column("desired_type", sa.String(length=20), nullable=False),
        Column("destination_uid", sa.String(length=22), nullable=True),
        Column("asks_if_exists", sa.Boolean(), nullable=False),
        Column("messages", sa.JSON(), nullable=False),
        Column("excerpts", sa.JSON(none_as_null=True), nullable=True),
        Column("created_at", sa.BigInteger(), nullable=False),
        Column("finished_at", sa.BigInteger(), nullable=True),
        Column("claimed_at", sa.BigInteger(), nullable=True),
        Column("lease", sa.String(length=32), nullable=True),
        Column("lease_until", sa.BigInteger(), nullable=True),
        Column("attempts", sa.Integer(), nullable=False),
        Column("busy_tries", sa.Integer(), nullable=False),
        Column("retry_key", sa.String(length=255), nullable=True),
        Column("retry_digest", sa.LargeBinary(length=32), nullable=True),
        sa.ForeignKeyConstraint(["file_id"], ["files.id"], name="fk_imports_file_id_files"),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name="fk_imports_user_id_users", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_imports"),
        sa.UniqueConstraint("uid", name="uq_imports_uid"),
        sa.UniqueConstraint("user_id", "retry_key", name="uq_imports_user_id_retry_key"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_imports_file_id", "imports", ["file_id"], unique=False)
    op.create_index("ix_imports_finished_at", "imports", ["finished_at"], unique=False)
    op.create_index(
        "ix_imports_user_id_claimed_at_finished_at",
        "imports",
        ["user_id", "claimed_at", "finished_at"],
        unique=False,
    )
    op.create_index(
        "ix_imports_user_id_created_at_uid",
        "imports",
        ["user_id", "created_at", "uid"],
        unique=False,
    )
    _create_partial_index(
        "ix_imports_user_id_id_lease_until",
        "imports",
        ["user_id", "id", "lease_until"],
        "status = 'processing'",
    )


def _create_tables_of_move() -> None:
    op.create_table(
        "moved_assets",
        Column("source", sa.String(length=500), nullable=False),
        Column("source_uid", sa.String(length=50), nullable=False),
        Column("uid", sa.String(length=22), nullable=False),
        Column("found", sa.JSON(), nullable=False),
        Column("local", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("source", "source_uid", name="pk_moved_assets"),
    )


def _create_partial_index(name: str, table: str, columns: list[str], condition: str) -> None:
    """An index of some rows only: those of the queue and the trash must not grow with what is done or in use."""
    where = sa.text(condition)
    op.create_index(name, table, columns, sqlite_where=where, postgresql_where=where)


def _countries() -> list[dict[str, Any]]:
    territories = {language: Locale(language).territories for language in LANGUAGES}
    return [
        {
            "id": int(row["id"]),
            "iso": row["iso"] or None,
            "iso3": row["iso3"] or None,
            "region": int(row["region"]) if row["region"] else None,
            "record_type": int(row["record_type"]),
            "independent": row["independent"] == "true" if row["independent"] else None,
            "is_deprecated": row["is_deprecated"] == "true",
            "fdrs": row["fdrs"] or None,
            "average_household_size": None,
            "names": {
                language: row[language] or territories[language][row["iso"]]
                for language in LANGUAGES
            },
            "society_names": NOTHING,
            "original_language": "en",
            "is_listed": True,
            "overviews": {},
            "profile": {},
        }
        for row in _rows("countries.csv")
    ]


def _disaster_types() -> list[dict[str, Any]]:
    return [
        {
            "id": int(row["id"]),
            "names": {language: row[language] for language in LANGUAGES},
            "summaries": NOTHING,
            "original_language": "en",
        }
        for row in _rows("disaster_types.csv")
    ]


def _rows(name: str) -> list[dict[str, str]]:
    with (SEEDS / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
