"""The whole schema, with countries, disaster types, and the public as a user.

Until 0.1 this file is edited when the schema changes. The revision has a digest of the file, so that a database with
another schema is noticed.

The files in `seeds` hold facts: the ids IFRC GO uses, codes, regions. Names of countries come from CLDR, except where a
file has our own: for what CLDR does not know, or calls as nobody in this field does.
"""

import csv
import hashlib
import secrets
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic import op
from babel import Locale

revision = f"0001_{hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:12]}"
down_revision = None

EVENT_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
THE_PUBLIC = -1
SEEDS = Path(__file__).parent.parent / "seeds"
LANGUAGES = ("en", "fr", "es", "ar")
NOTHING = dict.fromkeys(LANGUAGES, "")


def upgrade() -> None:
    _create_data_versions()
    _create_log()
    _create_accounts()
    _create_assets()
    _create_imports()
    _create_reference()
    _create_events()


def _create_partial_index(name: str, table: str, columns: list[str], condition: str) -> None:
    where = sa.text(condition)
    op.create_index(name, table, columns, sqlite_where=where, postgresql_where=where)


def _create_data_versions() -> None:
    changes = op.create_table(
        "changes",
        sa.Column("topic", sa.String(40), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("topic", name="pk_changes"),
    )
    op.create_table(
        "leases",
        sa.Column("name", sa.String(40), nullable=False),
        sa.Column("holder", sa.String(32), nullable=False),
        sa.Column("expires", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_leases"),
    )
    # Writers of events lock the first row; the second one identifies the database.
    op.bulk_insert(changes, [{"topic": "events", "version": 0}, {"topic": "identity", "version": secrets.randbits(62)}])


def _create_log() -> None:
    op.create_table(
        "log",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("made_at", sa.BigInteger(), nullable=False),
        sa.Column("log_type", sa.String(20), nullable=False),
        sa.Column("action", sa.String(40), nullable=False),
        sa.Column("user_id", sa.Integer()),
        sa.Column("user_uid", sa.String(22), nullable=False),
        sa.Column("username", sa.String(150), nullable=False),
        sa.Column("credential", sa.String(120), nullable=False),
        sa.Column("ip_address", sa.String(45), nullable=False),
        sa.Column("source", sa.String(200), nullable=False),
        sa.Column("request_id", sa.String(64), nullable=False),
        sa.Column("model_name", sa.String(20), nullable=False),
        sa.Column("object_uid", sa.String(150), nullable=False),
        sa.Column("object_name", sa.String(255), nullable=False),
        sa.Column("subject_id", sa.Integer()),
        sa.Column("subject_uid", sa.String(22), nullable=False),
        sa.Column("subject_name", sa.String(150), nullable=False),
        sa.Column("owner_id", sa.Integer()),
        sa.Column("effect_count", sa.Integer(), nullable=False),
        sa.Column("times", sa.Integer(), nullable=False),
        sa.Column("details", sa.JSON(), nullable=False),
        sa.Column("minute_key", sa.String(300)),
        sa.PrimaryKeyConstraint("id", name="pk_log"),
        sa.UniqueConstraint("minute_key", name="uq_log_minute_key"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_log_log_type_id", "log", ["log_type", "id"])
    op.create_index("ix_log_object_uid_id", "log", ["object_uid", "id"])
    op.create_index("ix_log_user_id_id", "log", ["user_id", "id"])
    op.create_table(
        "log_counts",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("log_type", sa.String(20), nullable=False),
        sa.Column("entries", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_log_counts"),
        sqlite_autoincrement=True,
    )


def _create_accounts() -> None:
    op.create_table(
        "users",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("uid", sa.String(22), nullable=False),
        sa.Column("username", sa.String(150), nullable=False),
        sa.Column("username_key", sa.String(150), nullable=False),
        sa.Column("password_hash", sa.String(255), nullable=False),
        sa.Column("first_name", sa.String(150), nullable=False),
        sa.Column("last_name", sa.String(150), nullable=False),
        sa.Column("is_superuser", sa.Boolean(), nullable=False),
        sa.Column("is_ifrc", sa.Boolean(), nullable=False),
        sa.Column("is_demo", sa.Boolean(), nullable=False),
        sa.Column("countries", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("disabled_at", sa.BigInteger()),
        sa.Column("last_login_at", sa.BigInteger()),
        sa.PrimaryKeyConstraint("id", name="pk_users"),
        sa.UniqueConstraint("uid", name="uq_users_uid"),
        sa.UniqueConstraint("username_key", name="uq_users_username_key"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "reserved_usernames",
        sa.Column("hash", sa.LargeBinary(32), nullable=False),
        sa.PrimaryKeyConstraint("hash", name="pk_reserved_usernames"),
    )
    op.create_table(
        "tokens",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("hash", sa.LargeBinary(32), nullable=False),
        sa.Column("prefix", sa.String(12), nullable=False),
        sa.Column("name", sa.String(100), server_default="", nullable=False),
        sa.Column("issued_by", sa.String(10), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("last_used_at", sa.BigInteger()),
        sa.Column("expires_at", sa.BigInteger()),
        sa.Column("revoked_at", sa.BigInteger()),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_tokens_user_id_users", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_tokens"),
        sa.UniqueConstraint("hash", name="uq_tokens_hash"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_tokens_user_id", "tokens", ["user_id"])
    op.create_table(
        "login_attempts",
        sa.Column("key", sa.String(200), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("last_at", sa.BigInteger(), nullable=False),
        sa.Column("blocked_until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_login_attempts"),
    )
    op.create_index("ix_login_attempts_last_at", "login_attempts", ["last_at"])
    op.create_table(
        "invitations",
        sa.Column("user_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("hash", sa.LargeBinary(32), nullable=False),
        sa.Column("created_by", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_invitations_user_id_users", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", name="pk_invitations"),
        sa.UniqueConstraint("hash", name="uq_invitations_hash"),
    )
    op.execute(
        sa.text(
            "INSERT INTO users (id, uid, username, username_key, password_hash, first_name, last_name, is_superuser, "
            "is_ifrc, is_demo, countries, created_at) VALUES (:id, 'uAnonymousUser', "
            "'AnonymousUser', 'anonymoususer', '', '', '', false, false, false, '[]', 0)"
        ).bindparams(id=THE_PUBLIC)
    )


def _create_assets() -> None:
    op.create_table(
        "files",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
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
        sa.Column("name_key", sa.Text(), server_default="", nullable=False),
        sa.Column("form_id", sa.Text()),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.Column("summary", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("modified_at", sa.BigInteger(), nullable=False),
        sa.Column("modified_by", sa.Integer()),
        sa.Column("deployed_version_uid", sa.String(22)),
        sa.Column("deployed_at", sa.BigInteger()),
        sa.Column("deployment_active", sa.Boolean()),
        sa.Column("deleted_at", sa.BigInteger()),
        sa.Column("deleted_by", sa.Integer()),
        sa.ForeignKeyConstraint(["owner_id"], ["users.id"], name="fk_assets_owner_id_users", ondelete="RESTRICT"),
        sa.ForeignKeyConstraint(["parent_id"], ["assets.id"], name="fk_assets_parent_id_assets", ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("id", name="pk_assets"),
        sa.UniqueConstraint("uid", name="uq_assets_uid"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_assets_owner_id_modified_at", "assets", ["owner_id", "modified_at"])
    # Most assets are in no collection. If the index had them, SQLite would expect half of all assets in each.
    _create_partial_index("ix_assets_parent_id", "assets", ["parent_id"], "parent_id IS NOT NULL")
    _create_partial_index("ix_assets_deleted_at", "assets", ["deleted_at"], "deleted_at IS NOT NULL")
    op.create_table(
        "asset_versions",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("uid", sa.String(22), nullable=False),
        sa.Column("asset_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("content_hash", sa.String(64), nullable=False),
        sa.Column("deployed_at", sa.BigInteger()),
        sa.Column("content", sa.JSON(), nullable=False),
        sa.Column("summary", sa.JSON(), nullable=False),
        sa.Column("xform", sa.Text()),
        sa.Column("file_id", sa.Integer()),
        sa.Column("warnings", sa.JSON(none_as_null=True)),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["asset_id"], ["assets.id"], name="fk_asset_versions_asset_id_assets", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["file_id"], ["files.id"], name="fk_asset_versions_file_id_files"),
        sa.PrimaryKeyConstraint("id", name="pk_asset_versions"),
        sa.UniqueConstraint("asset_id", "number", name="uq_asset_versions_asset_id_number"),
        sa.UniqueConstraint("uid", name="uq_asset_versions_uid"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_asset_versions_file_id", "asset_versions", ["file_id"])
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
        sa.Column("expires_at", sa.BigInteger()),
        sa.ForeignKeyConstraint(["asset_id"], ["assets.id"], name="fk_assignments_asset_id_assets", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_assignments_user_id_users", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_assignments"),
        sa.UniqueConstraint("asset_id", "user_id", "permission", name="uq_assignments_asset_id_user_id_permission"),
        sa.UniqueConstraint("uid", name="uq_assignments_uid"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_assignments_user_id_permission_asset_id", "assignments", ["user_id", "permission", "asset_id"])
    _create_partial_index("ix_assignments_expires_at", "assignments", ["expires_at"], "expires_at IS NOT NULL")

    op.create_table(
        "ownership_invites",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("uid", sa.String(22), nullable=False),
        sa.Column("sender_id", sa.Integer(), nullable=False),
        sa.Column("recipient_id", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(12), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("modified_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["sender_id"], ["users.id"], name="fk_ownership_invites_sender_id_users", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["recipient_id"], ["users.id"], name="fk_ownership_invites_recipient_id_users", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_ownership_invites"),
        sa.UniqueConstraint("uid", name="uq_ownership_invites_uid"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_ownership_invites_recipient_id", "ownership_invites", ["recipient_id"])
    op.create_index("ix_ownership_invites_sender_id", "ownership_invites", ["sender_id"])
    op.create_table(
        "ownership_transfers",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("uid", sa.String(22), nullable=False),
        sa.Column("invite_id", sa.Integer(), nullable=False),
        sa.Column("asset_id", sa.Integer(), nullable=False),
        sa.Column("asset_name", sa.String(255), nullable=False),
        sa.Column("status", sa.String(12), nullable=False),
        sa.Column("error", sa.String(12), nullable=False),
        sa.Column("modified_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["invite_id"],
            ["ownership_invites.id"],
            name="fk_ownership_transfers_invite_id_ownership_invites",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["asset_id"], ["assets.id"], name="fk_ownership_transfers_asset_id_assets", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_ownership_transfers"),
        sa.UniqueConstraint("uid", name="uq_ownership_transfers_uid"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_ownership_transfers_asset_id", "ownership_transfers", ["asset_id"])
    op.create_index("ix_ownership_transfers_invite_id", "ownership_transfers", ["invite_id"])


def _create_imports() -> None:
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
        sa.Column("asks_if_exists", sa.Boolean(), nullable=False),
        sa.Column("messages", sa.JSON(), nullable=False),
        sa.Column("excerpts", sa.JSON(none_as_null=True)),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("finished_at", sa.BigInteger()),
        sa.Column("claimed_at", sa.BigInteger()),
        sa.Column("lease", sa.String(32)),
        sa.Column("lease_until", sa.BigInteger()),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("retry_key", sa.String(255)),
        sa.Column("retry_digest", sa.LargeBinary(32)),
        sa.ForeignKeyConstraint(["file_id"], ["files.id"], name="fk_imports_file_id_files"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_imports_user_id_users", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_imports"),
        sa.UniqueConstraint("uid", name="uq_imports_uid"),
        sa.UniqueConstraint("user_id", "retry_key", name="uq_imports_user_id_retry_key"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_imports_file_id", "imports", ["file_id"])
    op.create_index("ix_imports_finished_at", "imports", ["finished_at"])
    op.create_index("ix_imports_user_id_claimed_at_finished_at", "imports", ["user_id", "claimed_at", "finished_at"])
    op.create_index("ix_imports_user_id_created_at_uid", "imports", ["user_id", "created_at", "uid"])
    _create_partial_index(
        "ix_imports_user_id_id_lease_until", "imports", ["user_id", "id", "lease_until"], "status = 'processing'"
    )


def _create_reference() -> None:
    countries = op.create_table(
        "countries",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("iso", sa.String(2)),
        sa.Column("iso3", sa.String(3)),
        sa.Column("region", sa.Integer()),
        sa.Column("record_type", sa.Integer(), nullable=False),
        sa.Column("independent", sa.Boolean()),
        sa.Column("is_deprecated", sa.Boolean(), nullable=False),
        sa.Column("fdrs", sa.Text()),
        sa.Column("average_household_size", sa.Float()),
        sa.Column("names", sa.JSON(), nullable=False),
        sa.Column("society_names", sa.JSON(), nullable=False),
        sa.Column("original_language", sa.String(2), nullable=False),
        sa.Column("is_listed", sa.Boolean(), nullable=False),
        sa.Column("overviews", sa.JSON(), nullable=False),
        sa.Column("profile", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_countries"),
    )
    disaster_types = op.create_table(
        "disaster_types",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("names", sa.JSON(), nullable=False),
        sa.Column("summaries", sa.JSON(), nullable=False),
        sa.Column("original_language", sa.String(2), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_disaster_types"),
    )
    op.create_table(
        "name_orders",
        sa.Column("table_name", sa.String(20), nullable=False),
        sa.Column("language", sa.String(2), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("ids", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("table_name", "language", name="pk_name_orders"),
    )
    op.bulk_insert(countries, _countries())
    op.bulk_insert(disaster_types, _disaster_types())


def _create_events() -> None:
    op.create_table(
        "events",
        sa.Column("id", EVENT_ID, autoincrement=False, nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("slug", sa.String(50)),
        sa.Column("parent_event", sa.BigInteger()),
        sa.Column("is_demo", sa.Boolean(), nullable=False),
        sa.Column("packed", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_events"),
        sa.UniqueConstraint("slug", name="uq_events_slug"),
    )
    op.create_table(
        "event_index_rows",
        sa.Column("id", EVENT_ID, autoincrement=False, nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("parent_event", sa.BigInteger()),
        sa.Column("start", sa.BigInteger(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("updated", sa.BigInteger(), nullable=False),
        sa.Column("facets", sa.Text(), nullable=False),
        sa.Column("num_affected", sa.BigInteger(), nullable=False),
        sa.Column("appeals", sa.Integer(), nullable=False),
        sa.Column("requested_cents", sa.BigInteger(), nullable=False),
        sa.Column("funded_cents", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_event_index_rows"),
    )
    op.create_index("ix_event_index_rows_version", "event_index_rows", ["version"])
    op.create_table(
        "event_documents",
        sa.Column("id", EVENT_ID, autoincrement=False, nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_event_documents"),
    )
    op.create_table(
        "event_words",
        sa.Column("id", EVENT_ID, autoincrement=False, nullable=False),
        sa.Column("names", sa.Text(), nullable=False),
        sa.Column("glide", sa.String(18), nullable=False),
        sa.Column("appeal_codes", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_event_words"),
    )
    op.create_index("ix_event_words_glide", "event_words", ["glide"])
    op.create_table(
        "event_format",
        sa.Column("format", sa.Integer(), autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("format", name="pk_event_format"),
    )
    op.create_table(
        "deleted_events",
        sa.Column("id", EVENT_ID, autoincrement=False, nullable=False),
        sa.Column("deleted_at", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("visibility", sa.SmallInteger(), nullable=False),
        sa.Column("countries", sa.Text(), nullable=False),
        sa.Column("kept_visibility", sa.SmallInteger()),
        sa.Column("kept_countries", sa.Text()),
        sa.PrimaryKeyConstraint("id", name="pk_deleted_events"),
    )
    op.create_index("ix_deleted_events_deleted_at_id", "deleted_events", ["deleted_at", "id"])
    op.create_index("ix_deleted_events_version", "deleted_events", ["version"])
    op.create_table(
        "event_syncs",
        sa.Column("source", sa.String(500), nullable=False),
        sa.Column("with_token", sa.Boolean(), nullable=False),
        sa.Column("finished", sa.BigInteger()),
        sa.Column("began", sa.BigInteger()),
        sa.Column("since", sa.BigInteger()),
        sa.Column("is_filtered", sa.Boolean(), nullable=False),
        sa.Column("reached", sa.BigInteger(), nullable=False),
        sa.Column("last_ids", sa.Text(), server_default="[]", nullable=False),
        sa.Column("is_full", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("run", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("walk", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("failing", sa.Text(), server_default="", nullable=False),
        sa.PrimaryKeyConstraint("source", "with_token", name="pk_event_syncs"),
    )
    op.create_table(
        "event_sources",
        sa.Column("id", EVENT_ID, autoincrement=False, nullable=False),
        sa.Column("source", sa.String(500), nullable=False),
        sa.Column("with_token", sa.Boolean(), nullable=False),
        sa.Column("listed_in", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("detail_in", sa.BigInteger(), nullable=False),
        sa.Column("detail_at", sa.BigInteger()),
        sa.PrimaryKeyConstraint("id", name="pk_event_sources"),
    )
    op.create_index("ix_event_sources_source", "event_sources", ["source"])


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
            "names": {language: row[language] or territories[language][row["iso"]] for language in LANGUAGES},
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
