"""Schemas of users, logins, and the caller's own account: tokens, sessions, password."""

from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from fieldgate.http.links import Link

USERS_PATH = "/api/v2/users/"
ACCOUNT_PATH = "/api/v2/account/"
TOKENS_PATH = f"{ACCOUNT_PATH}tokens/"
SESSIONS_PATH = f"{ACCOUNT_PATH}sessions/"
IDENTITIES_PATH = f"{ACCOUNT_PATH}identities/"
MAX_LIFETIME_DAYS = 3650
MAX_LIMITED_ASSETS, MAX_NETWORKS = 100, 20  # of one token
ScopeName = Literal["read", "imports", "sharing", "events:write", "account", "admin", "all"]


def user_path(username: str) -> str:
    return f"{USERS_PATH}{username}/"


class UserRecord(msgspec.Struct, frozen=True, kw_only=True):
    url: Annotated[Link, Meta(description="URL of the user.")]
    username: Annotated[str, Meta(description="Name of the user; `AnonymousUser` is the public.")]
    date_joined: Annotated[datetime, Meta(description="When the account was created.")]
    public_collection_subscribers_count: Annotated[
        int, Meta(description="Always 0: collections cannot be subscribed to.")
    ] = 0
    public_collections_count: Annotated[
        int, Meta(description="Number of the user's collections that the public can discover.")
    ] = 0


class FullUserRecord(UserRecord, frozen=True, kw_only=True):
    """What superusers see of a user."""

    first_name: Annotated[str, Meta(description="First name, may be empty.")]
    last_name: Annotated[str, Meta(description="Last name, may be empty.")]
    is_active: Annotated[bool, Meta(description="False if the account is disabled.")]
    is_superuser: Annotated[
        bool, Meta(description="Whether the user has all permissions on everything.")
    ]
    is_ifrc: Annotated[
        bool, Meta(description="Whether the user sees events for the IFRC secretariat.")
    ]
    countries: Annotated[
        list[str], Meta(description="Countries of the user, as three-letter codes.")
    ]
    last_login: Annotated[
        datetime | None, Meta(description="Last login in a browser; null if unknown.")
    ]
    invitation_expires: Annotated[
        datetime | None,
        Meta(description="Until when a one-time link is valid; null if there is none."),
    ]
    owner: Annotated[
        str | None,
        Meta(
            description="Owner of a service account, or `team:` and a name; empty if deleted. Else null."
        ),
    ]
    stored_bytes: Annotated[
        int | None,
        Meta(
            description="About how many bytes of files and forms owner and service accounts store; null in lists."
        ),
    ] = None


class InvitationRecord(msgspec.Struct, frozen=True):
    url: Annotated[
        str,
        Meta(
            description="The one-time link. It is shown only once; only a hash is stored.",
            extra_json_schema={"format": "uri"},
        ),
    ]
    expires: Annotated[datetime, Meta(description="Until when it is valid.")]


class UserCreated(FullUserRecord, frozen=True, kw_only=True):
    invitation: Annotated[
        InvitationRecord | None,
        Meta(description="One-time link to set a password; null if one was sent."),
    ]


class NewUserBody(msgspec.Struct, frozen=True):
    username: Annotated[
        str,
        Meta(
            description="Username: a letter from a to z, then a to z, digits and _; 2 to 150 characters."
        ),
    ]
    password: Annotated[
        str, Meta(description="Password; without one, the response has a one-time link.")
    ] = ""
    first_name: Annotated[str, Meta(description="First name.")] = ""
    last_name: Annotated[str, Meta(description="Last name.")] = ""
    is_superuser: Annotated[bool, Meta(description="Give all permissions on everything.")] = False
    is_ifrc: Annotated[
        bool, Meta(description="Let the user see events for the IFRC secretariat.")
    ] = False
    countries: Annotated[
        list[str], Meta(description="Countries of the user, as three-letter codes.", max_length=300)
    ] = []


class UserChanges(msgspec.Struct, frozen=True):
    """Fields that are left out, or null, stay as they are."""

    is_active: Annotated[
        bool | None, Meta(description="false disables the account, true enables it.")
    ] = None
    first_name: Annotated[str | None, Meta(description="First name.")] = None
    last_name: Annotated[str | None, Meta(description="Last name.")] = None
    is_superuser: Annotated[
        bool | None, Meta(description="Whether the user has all permissions on everything.")
    ] = None
    is_ifrc: Annotated[
        bool | None, Meta(description="Whether the user sees events for the IFRC secretariat.")
    ] = None
    countries: Annotated[
        Annotated[list[str], Meta(max_length=300)] | None,
        Meta(description="All countries of the user, as three-letter codes."),
    ] = None


class UserFilters(msgspec.Struct, frozen=True):
    search: Annotated[
        str,
        Meta(
            description="Part of the username, first or last name, ignoring case and accents.",
            max_length=150,
        ),
    ] = ""
    status: Annotated[
        Literal["active", "disabled", "all"],
        Meta(description="Which accounts to list; by default the active ones."),
    ] = "active"


class TokenRecord(msgspec.Struct, frozen=True):
    token: Annotated[
        str, Meta(description="The new token. It is shown only once; only a hash is stored.")
    ]


class Login(msgspec.Struct, frozen=True):
    username: Annotated[str, Meta(description="Username, case-insensitive.", max_length=150)]
    password: Annotated[str, Meta(description="Password.", max_length=1000)]


class LoginRecord(msgspec.Struct, frozen=True):
    token: Annotated[str, Meta(description="The new token.")]
    username: Annotated[str, Meta(description="Username, as sent.")]
    first: Annotated[str, Meta(description="First name, may be empty.")]
    last: Annotated[str, Meta(description="Last name, may be empty.")]
    expires: Annotated[datetime, Meta(description="When the token expires.")]
    id: Annotated[int, Meta(description="ID of the user.")]


class AccountRecord(msgspec.Struct, frozen=True, kw_only=True):
    url: Annotated[Link, Meta(description="URL of the account.")]
    user: Annotated[Link, Meta(description="URL of the user, as others see it.")]
    uid: Annotated[
        str, Meta(description="Identifier of the account. It never changes, and the log keeps it.")
    ]
    username: Annotated[str, Meta(description="Username.")]
    first_name: Annotated[str, Meta(description="First name, may be empty.")]
    last_name: Annotated[str, Meta(description="Last name, may be empty.")]
    is_superuser: Annotated[
        bool, Meta(description="Whether the user has all permissions on everything.")
    ]
    is_ifrc: Annotated[
        bool, Meta(description="Whether the user sees events for the IFRC secretariat.")
    ]
    countries: Annotated[
        list[str], Meta(description="Countries of the user, as three-letter codes.")
    ]
    date_joined: Annotated[datetime, Meta(description="When the account was created.")]
    last_login: Annotated[
        datetime | None, Meta(description="Last login in a browser; null if unknown.")
    ]
    tokens: Annotated[Link, Meta(description="URL of the list of tokens.")]
    sessions: Annotated[Link, Meta(description="URL of the list of browser sessions.")]


class AccountTokenRecord(msgspec.Struct, frozen=True, kw_only=True):
    url: Annotated[Link, Meta(description="URL of the token; DELETE revokes it.")]
    id: Annotated[int, Meta(description="Id of the token.")]
    name: Annotated[str, Meta(description="Name that the user gave it; empty for other tokens.")]
    prefix: Annotated[
        str,
        Meta(description="First characters of the token. The whole token is never shown again."),
    ]
    issued_by: Annotated[
        Literal["command", "http"],
        Meta(
            description="http: obtained over HTTP; command: created by the operator of the service."
        ),
    ]
    date_created: Annotated[datetime, Meta(description="When it was created.")]
    last_used: Annotated[
        datetime | None, Meta(description="Last use, to the minute; null if it was never used.")
    ]
    last_used_from: Annotated[
        str | None, Meta(description="Address of the last use; null if it is not known.")
    ]
    expires: Annotated[datetime | None, Meta(description="When it expires; null if never.")]
    is_current: Annotated[bool, Meta(description="Whether this request was made with it.")]
    scopes: Annotated[list[ScopeName], Meta(description="What it can be used for.")]
    assets: Annotated[
        list[str] | None, Meta(description="Uids of the assets it is limited to; null: all.")
    ]
    networks: Annotated[list[str] | None, Meta(description="Networks it is limited to; null: all.")]


class NewAccountToken(AccountTokenRecord, frozen=True, kw_only=True):
    token: Annotated[
        str, Meta(description="The new token. It is shown only once; only a hash is stored.")
    ]


class NewTokenBody(msgspec.Struct, frozen=True):
    name: Annotated[str, Meta(description="What the token is for, for example `Power BI`.")]
    lifetime_days: Annotated[
        Annotated[int, Meta(ge=1, le=MAX_LIFETIME_DAYS)] | None,
        Meta(
            description=f"Days until it expires, 1 to {MAX_LIFETIME_DAYS}. By default as for other tokens."
        ),
    ] = None
    scopes: Annotated[
        list[ScopeName],
        Meta(
            description="What it can be used for. `imports`: creating and changing forms. `admin`: for superusers. "
            "By default everything.",
            min_length=1,
        ),
    ] = msgspec.field(default_factory=lambda: ["all"])
    assets: Annotated[
        Annotated[list[str], Meta(min_length=1, max_length=MAX_LIMITED_ASSETS)] | None,
        Meta(
            description="Uids of the only assets that it is for. It cannot create any. Null: all."
        ),
    ] = None
    networks: Annotated[
        Annotated[list[str], Meta(min_length=1, max_length=MAX_NETWORKS)] | None,
        Meta(
            description="The only networks or addresses it can be used from, such as `192.0.2.0/24`. Null: all."
        ),
    ] = None


class IdentityRecord(msgspec.Struct, frozen=True, kw_only=True):
    url: Annotated[Link, Meta(description="URL to remove it.")]
    id: Annotated[int, Meta(description="Id of the entry.")]
    provider: Annotated[
        str | None, Meta(description="Name of the provider; null if it is not configured any more.")
    ]
    issuer: Annotated[str, Meta(description="URL of the provider.")]
    subject: Annotated[str, Meta(description="What the provider calls the user.")]
    date_created: Annotated[datetime, Meta(description="When it was linked.")]
    last_login: Annotated[
        datetime | None, Meta(description="Last login with it; null if there was none.")
    ]


class SessionRecord(msgspec.Struct, frozen=True, kw_only=True):
    id: Annotated[int, Meta(description="Id of the session.")]
    date_created: Annotated[datetime, Meta(description="When the user logged in.")]
    last_used: Annotated[
        datetime | None, Meta(description="Last use, to the minute; null if it was never used.")
    ]
    expires: Annotated[datetime | None, Meta(description="When it ends.")]
    is_current: Annotated[bool, Meta(description="Whether this request belongs to it.")]


class PasswordBody(msgspec.Struct, frozen=True):
    current_password: Annotated[str, Meta(description="The present password.", max_length=1000)]
    new_password: Annotated[
        str, Meta(description="The new password: at least 8 characters.", max_length=1000)
    ]


class PasswordChanged(msgspec.Struct, frozen=True):
    sessions_ended: Annotated[
        int, Meta(description="Number of other browser sessions that were ended.")
    ]
