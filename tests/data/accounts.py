"""Users, tokens, sessions, teams and links to set a password, as they are stored, and changes of users by HTTP."""

import secrets
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any, Protocol

import httpx
from argon2 import PasswordHasher
from sqlalchemy import Row, select

from fieldgate.accounts.store import hash_token, new_token, user_search_text, username_key
from fieldgate.accounts.tables import identities, invitations, tokens, users
from fieldgate.db import new_uid, now
from tests.data.sql import UsesDatabase, all_rows, first_row, first_value, write_sql

PASSWORD = "correct horse"

# The real parameters take 64 MB and a tenth of a second for each hash.
FAST_HASHER = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
PASSWORD_HASH = FAST_HASHER.hash(PASSWORD)

USERS_PATH = "/api/v2/users/"
TEAMS_PATH = "/api/v2/teams/"


class AnswersRequests(UsesDatabase, Protocol):
    """A running service, see `Service` in `tests/conftest.py`."""

    async def request(self, method: str, path: str, **options: Any) -> httpx.Response: ...


# Users


def create_user(
    database: str | UsesDatabase,
    username: str,
    *,
    password_hash: str = PASSWORD_HASH,
    first_name: str = "",
    last_name: str = "",
    is_superuser: bool = False,
    is_ifrc: bool = False,
    is_demo: bool = False,
    countries: Sequence[str] = (),
    owner_id: int | None = None,
) -> int:
    """Create a user and return the id. With an owner it is a service account."""
    new = users.insert().values(
        uid=new_uid("u"),
        username=username,
        username_key=username_key(username),
        password_hash=password_hash,
        first_name=first_name,
        last_name=last_name,
        search_text=user_search_text(username, first_name, last_name),
        is_superuser=is_superuser,
        is_ifrc=is_ifrc,
        is_demo=is_demo,
        countries=list(countries),
        owner_id=owner_id,
        created_at=now(),
    )
    with write_sql(database, "accounts") as connection:
        return int(connection.execute(new.returning(users.c.id)).scalar_one())


def find_user(database: str | UsesDatabase, username: str) -> Row[Any] | None:
    """Return the row of a user, also of one who is disabled."""
    return first_row(database, select(users).where(users.c.username_key == username_key(username)))


def set_password(database: str | UsesDatabase, username: str, password: str) -> None:
    is_user = users.c.username_key == username_key(username)
    changed = users.update().where(is_user).values(password_hash=FAST_HASHER.hash(password))
    with write_sql(database, "accounts") as connection:
        connection.execute(changed)


@asynccontextmanager
async def another_superuser(database: str | UsesDatabase) -> AsyncIterator[httpx.BasicAuth]:
    """A superuser who exists for a moment, to make what only superusers can make. The log keeps the name."""
    username = f"superuser-{secrets.token_hex(4)}"
    user_id = create_user(database, username, is_superuser=True)
    yield httpx.BasicAuth(username, PASSWORD)
    with write_sql(database, "accounts") as connection:
        connection.execute(users.delete().where(users.c.id == user_id))


async def change_user(service: AnswersRequests, username: str, **changes: Any) -> None:
    """Change a user, as a superuser does."""
    async with another_superuser(service) as superuser:
        answer = await service.request(
            "PATCH", f"{USERS_PATH}{username}/", json=changes, auth=superuser
        )
    assert answer.status_code == 200, answer.text


async def disable_user(service: AnswersRequests, username: str) -> None:
    await change_user(service, username, is_active=False)


async def enable_user(service: AnswersRequests, username: str) -> None:
    await change_user(service, username, is_active=True)


# Tokens and sessions


def create_token(
    database: str | UsesDatabase,
    user_id: int,
    *,
    name: str = "",
    issued_by: str = "command",
    created_at: datetime | None = None,
    expires_at: datetime | None = None,
    scopes: Collection[str] = ("all",),
    assets: Collection[str] | None = None,
    networks: Sequence[str] | None = None,
) -> str:
    """Create a token and return it. It is issued by a command, unless it is by "http" or of a "session"."""
    token = new_token()
    new = tokens.insert().values(
        user_id=user_id,
        hash=hash_token(token),
        prefix=token[:10],
        name=name,
        issued_by=issued_by,
        created_at=created_at or now(),
        expires_at=expires_at,
        scopes=" ".join(sorted(scopes)),
        assets=None if assets is None else sorted(assets),
        networks=networks,
    )
    with write_sql(database) as connection:
        connection.execute(new)
        if issued_by == "session":
            logged_in = users.update().where(users.c.id == user_id).values(last_login_at=now())
            connection.execute(logged_in)
    return token


def create_session(database: str | UsesDatabase, user_id: int, provider: str = "") -> str:
    """Log a user in, with a password or through a provider of single sign-on. Return the value of the cookie."""
    return create_token(database, user_id, name=provider, issued_by="session")


def token_id(database: str | UsesDatabase, token: str) -> int:
    return int(first_value(database, select(tokens.c.id).where(tokens.c.hash == hash_token(token))))


def is_revoked(database: str | UsesDatabase, token: str) -> bool:
    """Whether a token was revoked, or a session was ended."""
    query = select(tokens.c.revoked_at).where(tokens.c.hash == hash_token(token))
    return first_value(database, query) is not None


def revoke_token(database: str | UsesDatabase, token: str) -> None:
    is_same = tokens.c.hash == hash_token(token)
    with write_sql(database) as connection:
        connection.execute(tokens.update().where(is_same).values(revoked_at=now()))


def tokens_of(database: str | UsesDatabase, user_id: int) -> Sequence[Row[Any]]:
    """Return the tokens and sessions of a user that are not revoked, oldest first."""
    is_usable = tokens.c.revoked_at.is_(None)
    return all_rows(
        database,
        select(tokens).where(tokens.c.user_id == user_id, is_usable).order_by(tokens.c.id),
    )


# Accounts at providers, links


def link_identity(database: str | UsesDatabase, user_id: int, issuer: str, subject: str) -> int:
    """Let a user log in with an account at a provider of single sign-on. Return the id of the link."""
    new = identities.insert().values(
        user_id=user_id, issuer=issuer, subject=subject, created_at=now()
    )
    with write_sql(database) as connection:
        return int(connection.execute(new.returning(identities.c.id)).scalar_one())


def identity_of(database: str | UsesDatabase, issuer: str, subject: str) -> Row[Any] | None:
    """Return the row of the user who has an account at a provider."""
    is_same = (identities.c.issuer == issuer) & (identities.c.subject == subject)
    query = select(users).join_from(identities, users, users.c.id == identities.c.user_id)
    return first_row(database, query.where(is_same))


def create_invitation(
    database: str | UsesDatabase, user_id: int, lifetime: timedelta = timedelta(days=1)
) -> str:
    """Create a one-time link to set a password. Return its path."""
    secret = new_token("fgi_")
    new = invitations.insert().values(
        user_id=user_id,
        hash=hash_token(secret),
        created_by=0,
        created_at=now(),
        expires_at=now() + lifetime,
    )
    with write_sql(database) as connection:
        connection.execute(invitations.delete().where(invitations.c.user_id == user_id))
        connection.execute(new)
    return f"/invitation/{secret}/"


# Teams


async def create_team(
    service: AnswersRequests, admin: dict[str, str], name: str, members: Sequence[str] = ()
) -> str:
    """Create a team of an admin, whose headers are given, and of members by name. Return its uid."""
    answer = await service.request("POST", TEAMS_PATH, json={"name": name}, headers=admin)
    assert answer.status_code == 201, answer.text
    uid = str(answer.json()["uid"])
    for member in members:
        answer = await service.request(
            "POST", f"{TEAMS_PATH}{uid}/members/", json={"user": member}, headers=admin
        )
        assert answer.status_code == 201, answer.text
    return uid
