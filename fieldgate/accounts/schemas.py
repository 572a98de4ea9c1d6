"""Schemas of users, tokens and logins."""

from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from fieldgate.http.response.links import Link

USERS_PATH = "/api/v2/users/"


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
    is_superuser: Annotated[bool, Meta(description="Whether the user has all permissions on everything.")]
    is_ifrc: Annotated[bool, Meta(description="Whether the user sees events for the IFRC secretariat.")]
    countries: Annotated[list[str], Meta(description="Countries of the user, as three-letter codes.")]
    last_login: Annotated[datetime | None, Meta(description="Last login in a browser; null if unknown.")]
    invitation_expires: Annotated[
        datetime | None, Meta(description="Until when a one-time link is valid; null if there is none.")
    ]


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
        InvitationRecord | None, Meta(description="One-time link to set a password; null if one was sent.")
    ]


class NewUserBody(msgspec.Struct, frozen=True):
    username: Annotated[
        str, Meta(description="Username: a letter from a to z, then a to z, digits and _; 2 to 150 characters.")
    ]
    password: Annotated[str, Meta(description="Password; without one, the response has a one-time link.")] = ""
    first_name: Annotated[str, Meta(description="First name.")] = ""
    last_name: Annotated[str, Meta(description="Last name.")] = ""
    is_superuser: Annotated[bool, Meta(description="Give all permissions on everything.")] = False
    is_ifrc: Annotated[bool, Meta(description="Let the user see events for the IFRC secretariat.")] = False
    countries: Annotated[
        list[str], Meta(description="Countries of the user, as three-letter codes.", max_length=300)
    ] = []


class UserChanges(msgspec.Struct, frozen=True):
    is_active: Annotated[bool | None, Meta(description="false disables the account, true enables it.")] = None


class TransferBody(msgspec.Struct, frozen=True):
    to: Annotated[str, Meta(description="The new owner: URL, path or username.")]


class TransferRecord(msgspec.Struct, frozen=True, kw_only=True):
    dry_run: Annotated[bool, Meta(description="True if nothing was changed.")]
    user: Annotated[Link, Meta(description="The former owner.")]
    to: Annotated[Link, Meta(description="The new owner.")]
    count: Annotated[int, Meta(description="Number of assets.")]
    asset_types: Annotated[dict[str, int], Meta(description="Number of assets of each type.")]
    assignments_removed: Annotated[
        int, Meta(description="Number of assignments of the new owner on these assets; an owner needs none.")
    ]


class UserFilters(msgspec.Struct, frozen=True):
    search: Annotated[
        str, Meta(description="Part of the username, first or last name, case-insensitive.", max_length=150)
    ] = ""
    status: Annotated[
        Literal["active", "disabled", "all"], Meta(description="Which accounts to list; by default the active ones.")
    ] = "active"


class TokenRecord(msgspec.Struct, frozen=True):
    token: Annotated[str, Meta(description="The new token. It is shown only once; only a hash is stored.")]


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
