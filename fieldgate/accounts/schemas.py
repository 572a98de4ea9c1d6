"""Schemas of users, tokens and logins."""

from datetime import datetime
from typing import Annotated

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


class UserFilters(msgspec.Struct, frozen=True):
    search: Annotated[str, Meta(description="Part of the username, case-insensitive.", max_length=150)] = ""


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
