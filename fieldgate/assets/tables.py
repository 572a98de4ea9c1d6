"""Tables of assets, their versions and uploaded files, permission assignments, and invitations to own assets."""

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    ColumnElement,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
    UniqueConstraint,
    and_,
    case,
    not_,
    or_,
)
from sqlalchemy.sql.selectable import FromClause

from fieldgate.db import ClockTime, Timestamp, metadata

files = Table(
    "files",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(255), nullable=False),
    Column("data", LargeBinary, nullable=False),
    sqlite_autoincrement=True,
)

assets = Table(
    "assets",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("uid", String(22), nullable=False, unique=True),
    Column("owner_id", ForeignKey("users.id", ondelete="RESTRICT"), nullable=False),
    Column("parent_id", ForeignKey("assets.id", ondelete="SET NULL")),
    Column("asset_type", String(20), nullable=False),
    Column("name", String(255), nullable=False),
    Column("name_key", Text, nullable=False, server_default=""),  # for comparison and sort order
    Column("search_text", Text, nullable=False, server_default=""),  # the name, folded
    Column("form_id", Text),  # of the newest version, if its settings have one
    Column("settings", JSON, nullable=False),
    Column("tags", JSON, nullable=False),
    Column("tags_key", Text, nullable=False, server_default=""),  # folded, for search
    Column("summary", JSON, nullable=False),
    Column("created_at", Timestamp, nullable=False),
    Column("modified_at", Timestamp, nullable=False),
    Column("modified_by", Integer),  # a user; null if an earlier release made the last change
    # The version that people should use; null if none was ever deployed.
    Column("deployed_version_uid", String(22)),
    Column("deployed_at", Timestamp),
    Column("deployment_active", Boolean),  # false: archived
    # In the trash. An asset outside the trash is never in a collection that is in it.
    Column("deleted_at", Timestamp),
    Column("deleted_by", Integer),  # a user
    Index(None, "owner_id", "modified_at"),
    Index(None, "parent_id"),  # of assets in a collection: most are in none
    Index(None, "deleted_at"),  # of assets in the trash
    sqlite_autoincrement=True,
)


def is_live() -> ColumnElement[bool]:
    """Whether an asset is outside the trash. Every statement that finds or counts assets has this condition."""
    return assets.c.deleted_at.is_(None)


versions = Table(
    "asset_versions",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("uid", String(22), nullable=False, unique=True),
    Column("asset_id", ForeignKey("assets.id", ondelete="CASCADE"), nullable=False),
    Column("number", Integer, nullable=False),
    # Before the content, which SQLite reads to get at what is behind it.
    Column("content_hash", String(64), nullable=False),
    Column("deployed_at", Timestamp),
    Column("content", JSON, nullable=False),
    Column("summary", JSON, nullable=False),
    Column("xform", Text),
    Column("file_id", ForeignKey("files.id"), index=True),
    Column("warnings", JSON(none_as_null=True)),  # of content without a file; an import has its own
    Column("created_at", Timestamp, nullable=False),
    UniqueConstraint("asset_id", "number"),
    sqlite_autoincrement=True,
)

# Permissions granted on an asset, and denials of inherited permissions. Owners have no rows.
assignments = Table(
    "assignments",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("uid", String(22), nullable=False, unique=True),
    Column("asset_id", ForeignKey("assets.id", ondelete="CASCADE"), nullable=False),
    Column("user_id", ForeignKey("users.id", ondelete="CASCADE"), nullable=False),
    Column("permission", String(30), nullable=False),
    Column("is_denied", Boolean, nullable=False),
    Column("filters", JSON),  # of partial_submissions, by permission
    Column("created_at", Timestamp, nullable=False),
    Column("expires_at", Timestamp),  # from then on nothing is granted
    UniqueConstraint("asset_id", "user_id", "permission"),
    Index(None, "user_id", "permission", "asset_id"),  # for lists of visible assets
    Index(None, "expires_at"),  # of those that end
    sqlite_autoincrement=True,
)


def has_not_ended(rows: FromClause = assignments) -> ColumnElement[bool]:
    """A condition of every statement that reads assignments: one that has ended is as if it did not exist."""
    return or_(rows.c.expires_at.is_(None), rows.c.expires_at > ClockTime())


def grants_now(rows: FromClause = assignments) -> ColumnElement[bool]:
    """Whether an assignment grants its permission: it is no denial and has not ended."""
    return and_(not_(rows.c.is_denied), has_not_ended(rows))


# An offer of assets to another user. One that is still open after `expires_at` has expired.
ownership_invites = Table(
    "ownership_invites",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("uid", String(22), nullable=False, unique=True),
    Column("sender_id", ForeignKey("users.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("recipient_id", ForeignKey("users.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("status", String(12), nullable=False),
    Column("created_at", Timestamp, nullable=False),
    Column("modified_at", Timestamp, nullable=False),
    Column("expires_at", Timestamp, nullable=False),
    Column("seen_at", Timestamp),  # by the recipient
    sqlite_autoincrement=True,
)

ownership_transfers = Table(
    "ownership_transfers",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("uid", String(22), nullable=False, unique=True),
    Column(
        "invite_id",
        ForeignKey("ownership_invites.id", ondelete="CASCADE"),
        nullable=False,
        index=True,
    ),
    Column("asset_id", ForeignKey("assets.id", ondelete="CASCADE"), nullable=False, index=True),
    Column(
        "asset_name", String(255), nullable=False
    ),  # when it was offered: later names may be hidden from both
    Column("status", String(12), nullable=False),
    Column("error", String(12), nullable=False),  # a code; empty if there is none
    Column("modified_at", Timestamp, nullable=False),
    sqlite_autoincrement=True,
)


def has_expired() -> ColumnElement[bool]:
    """Whether an invitation was not answered in time."""
    return and_(
        ownership_invites.c.status == "pending", ownership_invites.c.expires_at <= ClockTime()
    )


def invite_status() -> ColumnElement[str]:
    return case((has_expired(), "expired"), else_=ownership_invites.c.status)


SURVEY, TEMPLATE, BLOCK, QUESTION = "survey", "template", "block", "question"
COLLECTION, EMPTY = "collection", "empty"

FORM_TYPES = (SURVEY, TEMPLATE)  # with settings and an XForm


def effective_type(asset_type: str, row_count: int) -> str:
    """Return "question" for a block of one row and "block" for a question of several, as the live system does."""
    if asset_type not in (BLOCK, QUESTION) or not row_count:
        return asset_type
    return QUESTION if row_count == 1 else BLOCK
