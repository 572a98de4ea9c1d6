"""Tables of users, teams, reserved usernames, tokens, identities, invitations and login attempts."""

from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    ColumnElement,
    CompoundSelect,
    ForeignKey,
    Integer,
    LargeBinary,
    Select,
    String,
    Table,
    Text,
    UniqueConstraint,
    and_,
    func,
    literal,
    literal_column,
    or_,
    select,
    union,
)

from fieldgate.db import Timestamp, metadata

# The public can be granted permissions, so it has a row in `users`, as every team does. Nobody can log in with those.
PUBLIC_USER_ID = -1
PUBLIC_USERNAME = "AnonymousUser"
TEAM_PREFIX = (
    "team:"  # of the `username` of a team. Its `username_key` is none that a username has.
)

users = Table(
    "users",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("uid", String(22), nullable=False, unique=True),
    Column("username", String(150), nullable=False),
    # Usernames are compared in this form, without regard to case.
    Column("username_key", String(150), nullable=False, unique=True),
    Column("password_hash", String(255), nullable=False),
    Column("first_name", String(150), nullable=False),
    Column("last_name", String(150), nullable=False),
    # Of a person: username, first and last name, folded, each in a line of its own.
    Column("search_text", Text, nullable=False, server_default=""),
    Column("is_superuser", Boolean, nullable=False),
    Column("is_ifrc", Boolean, nullable=False),
    Column(
        "is_demo", Boolean, nullable=False
    ),  # whether the password, if there is one, is of `serve --demo`
    Column("countries", JSON, nullable=False),
    Column("created_at", Timestamp, nullable=False),
    Column("disabled_at", Timestamp),
    Column("last_login_at", Timestamp),  # in a browser
    # Of a service account: the person or team. No foreign key: it is still one when its owner is deleted.
    Column("owner_id", Integer, index=True),
    sqlite_autoincrement=True,
)

teams = Table(
    "teams",
    metadata,
    Column("id", ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("name", String(100), nullable=False),  # several teams can have the same
    Column("name_key", String(200), nullable=False, index=True),
    Column("description", String(1000), nullable=False),
)

team_members = Table(
    "team_members",
    metadata,
    Column("team_id", ForeignKey("teams.id", ondelete="CASCADE"), primary_key=True),
    Column("user_id", ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, index=True),
    Column("role", String(10), nullable=False),  # admin or member
    Column("joined_at", Timestamp, nullable=False),
)


def is_person() -> ColumnElement[bool]:
    """Whether a row of `users` is neither the public nor a team. For lists: no username finds a team."""
    return and_(users.c.id != PUBLIC_USER_ID, users.c.id.not_in(select(teams.c.id)))


def with_teams_of(user_id: Any, *others: int) -> CompoundSelect[Any]:
    """Select the ids of a user and of the user's teams: whose assignments give the user permissions. And other ids."""
    own = select(team_members.c.team_id).where(team_members.c.user_id == user_id)
    itself = user_id if isinstance(user_id, ColumnElement) else literal(user_id, Integer)
    return union(
        select(itself), *(select(literal_column(str(each), Integer)) for each in others), own
    )


def with_service_accounts(user_id: int) -> Select[Any]:
    """Select the ids of an owner and the owner's service accounts, of which the user is one: they share a quota."""
    user = users.alias()
    owner = (
        select(func.coalesce(user.c.owner_id, user.c.id))
        .where(user.c.id == user_id)
        .scalar_subquery()
    )
    return select(users.c.id).where(or_(users.c.id == owner, users.c.owner_id == owner))


# Names of users who left. Nobody gets them again. Only a hash is stored.
reserved_usernames = Table(
    "reserved_usernames",
    metadata,
    Column("hash", LargeBinary(32), primary_key=True),  # of the `username_key`
)

tokens = Table(
    "tokens",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("user_id", ForeignKey("users.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("hash", LargeBinary(32), nullable=False, unique=True),
    Column("prefix", String(12), nullable=False),
    Column(
        "name", String(100), nullable=False, server_default=""
    ),  # chosen by the user; may be empty
    Column("issued_by", String(10), nullable=False),
    Column("created_at", Timestamp, nullable=False),
    Column("last_used_at", Timestamp),
    Column("last_used_from", String(45)),  # address
    Column("expires_at", Timestamp),
    Column("revoked_at", Timestamp),
    # See `TokenLimits`.
    Column("scopes", String(100), nullable=False, server_default="all"),  # separated by spaces
    Column("assets", JSON(none_as_null=True)),
    Column("networks", JSON(none_as_null=True)),
    sqlite_autoincrement=True,
)

# Accounts at providers of single sign-on. The subject is unique at its issuer, and never given to somebody else.
identities = Table(
    "identities",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("user_id", ForeignKey("users.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("issuer", String(500), nullable=False),
    Column("subject", String(255), nullable=False),
    Column("created_at", Timestamp, nullable=False),
    Column("last_login_at", Timestamp),
    UniqueConstraint("issuer", "subject"),
    sqlite_autoincrement=True,
)

# One-time links to set a password; a newer one replaces the older one. Only a hash is stored.
invitations = Table(
    "invitations",
    metadata,
    Column(
        "user_id", ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    ),
    Column("hash", LargeBinary(32), nullable=False, unique=True),
    Column("created_by", Integer, nullable=False),  # id of the superuser; 0: a command
    Column("created_at", Timestamp, nullable=False),
    Column("expires_at", Timestamp, nullable=False),
)

login_attempts = Table(
    "login_attempts",
    metadata,
    Column("key", String(200), primary_key=True),
    Column("failures", Integer, nullable=False),
    Column("last_at", Timestamp, nullable=False, index=True),
    Column("blocked_until", Timestamp, nullable=False),
)
