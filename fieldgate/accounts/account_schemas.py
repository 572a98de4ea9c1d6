"""Schemas of the caller's own account: tokens, sessions, password."""

from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from fieldgate.http.response.links import Link

ACCOUNT_PATH = "/api/v2/account/"
TOKENS_PATH = f"{ACCOUNT_PATH}tokens/"
SESSIONS_PATH = f"{ACCOUNT_PATH}sessions/"
MAX_LIFETIME_DAYS = 3650


class AccountRecord(msgspec.Struct, frozen=True, kw_only=True):
    url: Annotated[Link, Meta(description="URL of the account.")]
    user: Annotated[Link, Meta(description="URL of the user, as others see it.")]
    username: Annotated[str, Meta(description="Username.")]
    first_name: Annotated[str, Meta(description="First name, may be empty.")]
    last_name: Annotated[str, Meta(description="Last name, may be empty.")]
    is_superuser: Annotated[bool, Meta(description="Whether the user has all permissions on everything.")]
    is_ifrc: Annotated[bool, Meta(description="Whether the user sees events for the IFRC secretariat.")]
    countries: Annotated[list[str], Meta(description="Countries of the user, as three-letter codes.")]
    date_joined: Annotated[datetime, Meta(description="When the account was created.")]
    last_login: Annotated[datetime | None, Meta(description="Last login in a browser; null if unknown.")]
    tokens: Annotated[Link, Meta(description="URL of the list of tokens.")]
    sessions: Annotated[Link, Meta(description="URL of the list of browser sessions.")]


class AccountTokenRecord(msgspec.Struct, frozen=True, kw_only=True):
    url: Annotated[Link, Meta(description="URL of the token; DELETE revokes it.")]
    id: Annotated[int, Meta(description="Id of the token.")]
    name: Annotated[str, Meta(description="Name that the user gave it; empty for other tokens.")]
    prefix: Annotated[str, Meta(description="First characters of the token. The whole token is never shown again.")]
    issued_by: Annotated[
        Literal["command", "http"],
        Meta(description="http: obtained over HTTP; command: created by the operator of the service."),
    ]
    date_created: Annotated[datetime, Meta(description="When it was created.")]
    last_used: Annotated[datetime | None, Meta(description="Last use, to the minute; null if it was never used.")]
    expires: Annotated[datetime | None, Meta(description="When it expires; null if never.")]
    is_current: Annotated[bool, Meta(description="Whether this request was made with it.")]


class NewAccountToken(AccountTokenRecord, frozen=True, kw_only=True):
    token: Annotated[str, Meta(description="The new token. It is shown only once; only a hash is stored.")]


class NewTokenBody(msgspec.Struct, frozen=True):
    name: Annotated[str, Meta(description="What the token is for, for example `Power BI`.")]
    lifetime_days: Annotated[
        Annotated[int, Meta(ge=1, le=MAX_LIFETIME_DAYS)] | None,
        Meta(description=f"Days until it expires, 1 to {MAX_LIFETIME_DAYS}. By default as for other tokens."),
    ] = None


class SessionRecord(msgspec.Struct, frozen=True, kw_only=True):
    id: Annotated[int, Meta(description="Id of the session.")]
    date_created: Annotated[datetime, Meta(description="When the user logged in.")]
    last_used: Annotated[datetime | None, Meta(description="Last use, to the minute; null if it was never used.")]
    expires: Annotated[datetime | None, Meta(description="When it ends.")]
    is_current: Annotated[bool, Meta(description="Whether this request belongs to it.")]


class PasswordBody(msgspec.Struct, frozen=True):
    current_password: Annotated[str, Meta(description="The present password.", max_length=1000)]
    new_password: Annotated[str, Meta(description="The new password: at least 8 characters.", max_length=1000)]


class PasswordChanged(msgspec.Struct, frozen=True):
    sessions_ended: Annotated[int, Meta(description="Number of other browser sessions that were ended.")]
