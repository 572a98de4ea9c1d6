"""The store of users and tokens, on SQLite and PostgreSQL."""

import asyncio
from datetime import timedelta

import pytest
from sqlalchemy import Delete, Update, select

from fieldgate.accounts.store import (
    DISPLAY_PREFIX_LENGTH,
    MAX_TOKENS,
    TOKEN_PREFIX,
    AccountStore,
    IssuedBy,
    NewUser,
    UsernameTaken,
    hash_token,
)
from fieldgate.accounts.tables import tokens, users
from fieldgate.db import AsyncDatabase, DataVersions, now
from fieldgate.errors import Unauthorized
from fieldgate.identity import AuthMethod
from tests.accounts.disabled_users import disable_user


@pytest.fixture
def store(database: AsyncDatabase) -> AccountStore:
    return AccountStore(database, DataVersions(database))


async def create_user(store: AccountStore, username: str = "amina", **details: object) -> int:
    return await store.create_user(NewUser(username=username, password_hash="x", **details))  # type: ignore[arg-type]


async def test_usernames_are_case_insensitive(store: AccountStore) -> None:
    user_id = await create_user(
        store, "Amina", first_name="Amina", countries=("KEN", "SSD"), is_ifrc=True
    )
    row = await store.find_user("aMINA")
    assert row is not None
    assert (row.id, row.username, row.first_name, row.countries, row.is_ifrc) == (
        user_id, "Amina", "Amina", ["KEN", "SSD"], True,
    )  # fmt: skip
    assert await store.find_user("somebody else") is None
    assert await store.find_user("x" * 1000) is None


@pytest.mark.parametrize("second", ["amina", "AMINA", "ａｍｉｎａ"])
async def test_username_is_unique(store: AccountStore, second: str) -> None:
    await create_user(store, "amina")
    with pytest.raises(UsernameTaken):
        await create_user(store, second)


async def test_token_holder_is_found_and_only_a_hash_is_stored(
    store: AccountStore, database: AsyncDatabase
) -> None:
    user_id = await create_user(store, is_superuser=True, countries=("KEN",))
    token = await store.issue_token(user_id, IssuedBy.COMMAND, None)
    assert token.startswith(TOKEN_PREFIX)
    found = await store.find_token_holder(token, AuthMethod.TOKEN)
    assert found is not None
    assert (found.user.id, found.user.username, found.user.is_superuser, found.user.countries) == (
        user_id, "amina", True, ("KEN",),
    )  # fmt: skip
    assert found.last_used is None
    async with database.read_transaction() as connection:
        row = (await connection.execute(select(tokens))).one()
    assert row.hash == hash_token(token)
    assert row.prefix == token[:DISPLAY_PREFIX_LENGTH]
    assert token not in repr(row)


async def test_invalid_tokens(store: AccountStore) -> None:
    user_id = await create_user(store)
    expired = await store.issue_token(user_id, IssuedBy.COMMAND, now() - timedelta(seconds=1))
    revoked = await store.issue_token(user_id, IssuedBy.COMMAND, now() + timedelta(days=1))
    assert await store.find_token_holder(revoked, AuthMethod.TOKEN) is not None
    await store.revoke_by_value(revoked)
    session = await store.issue_token(user_id, IssuedBy.SESSION, None)
    for token in (expired, revoked, session, "", "nonsense", "\x00", "é" * 100, "\ud800"):
        assert await store.find_token_holder(token, AuthMethod.TOKEN) is None
    assert await store.find_token_holder(session, AuthMethod.SESSION) is not None
    fresh = await store.issue_token(user_id, IssuedBy.COMMAND, None)
    assert await store.find_token_holder(fresh, AuthMethod.SESSION) is None


@pytest.mark.parametrize(
    "change",
    [
        tokens.update().values(revoked_at=now()),
        tokens.update().values(expires_at=now() - timedelta(seconds=1)),
        tokens.update().values(issued_by=IssuedBy.SESSION.value),
        users.update().where(users.c.username == "amina").values(disabled_at=now()),
        tokens.delete(),
    ],
    ids=["revoked", "expired", "session", "disabled", "deleted"],
)
async def test_any_commit_of_another_connection_counts_at_once(
    change: Update | Delete, store: AccountStore, database: AsyncDatabase
) -> None:
    """The change raises no data version, as if somebody had made it with the program of the database."""
    token = await store.issue_token(await create_user(store), IssuedBy.COMMAND, None)
    for _ in range(2):
        assert await store.find_token_holder(token, AuthMethod.TOKEN) is not None
    async with database.transaction() as connection:
        await connection.execute(change)
    assert await store.find_token_holder(token, AuthMethod.TOKEN) is None


async def test_changes_of_a_user_count_at_once(
    store: AccountStore, database: AsyncDatabase
) -> None:
    token = await store.issue_token(await create_user(store), IssuedBy.COMMAND, None)
    for is_superuser in (True, False, True):
        async with database.transaction() as connection:
            await connection.execute(
                users.update().values(is_superuser=is_superuser, countries=["KEN"])
            )
        for _ in range(2):
            found = await store.find_token_holder(token, AuthMethod.TOKEN)
            assert found is not None
            assert (found.user.is_superuser, found.user.countries) == (is_superuser, ("KEN",))
            assert found.user.secret == token


async def test_token_that_was_just_used_expires(
    store: AccountStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    expires = now() + timedelta(hours=1)
    token = await store.issue_token(await create_user(store), IssuedBy.COMMAND, expires)
    assert await store.find_token_holder(token, AuthMethod.TOKEN) is not None
    monkeypatch.setattr("fieldgate.accounts.store.now", lambda: expires)
    assert await store.find_token_holder(token, AuthMethod.TOKEN) is None


@pytest.mark.parametrize(
    ("kind", "method"), [(IssuedBy.HTTP, AuthMethod.TOKEN), (IssuedBy.SESSION, AuthMethod.SESSION)]
)
async def test_least_recently_used_token_beyond_50_is_revoked(
    store: AccountStore, kind: IssuedBy, method: AuthMethod
) -> None:
    user_id, other = await create_user(store), await create_user(store, "other")
    command = await store.issue_token(user_id, IssuedBy.COMMAND, None)
    others = await store.issue_token(other, IssuedBy.HTTP, None)
    issued = [await store.issue_token(user_id, kind, None) for _ in range(MAX_TOKENS)]
    oldest = await store.find_token_holder(issued[0], method)
    assert oldest is not None
    await store.touch_token(oldest.token_id, "192.0.2.1")
    issued.append(await store.issue_token(user_id, kind, None))
    alive = [token for token in issued if await store.find_token_holder(token, method)]
    assert len(alive) == MAX_TOKENS
    assert issued[1] not in alive, "the first one was used since, so the second is revoked"
    assert await store.find_token_holder(command, AuthMethod.TOKEN) is not None
    assert await store.find_token_holder(others, AuthMethod.TOKEN) is not None


async def test_old_invalid_tokens_are_deleted(store: AccountStore, database: AsyncDatabase) -> None:
    user_id, other = await create_user(store), await create_user(store, "other")
    for user, expires in (
        (user_id, None),
        (user_id, now() - timedelta(days=31)),
        (other, now() - timedelta(days=29)),
    ):
        await store.issue_token(user, IssuedBy.COMMAND, expires)
    revoked = await store.issue_token(user_id, IssuedBy.HTTP, None)
    await store.revoke_by_value(revoked)
    await store.issue_token(user_id, IssuedBy.HTTP, None)
    assert [row.username for row in await store.list_tokens()] == [
        "amina",
        "other",
        "amina",
        "amina",
    ]


async def test_new_password_ends_sessions_and_account_can_be_enabled_again(
    store: AccountStore,
) -> None:
    user_id = await create_user(store)
    session = await store.issue_token(user_id, IssuedBy.SESSION, None)
    token = await store.issue_token(user_id, IssuedBy.COMMAND, None)
    await store.set_password("amina", "y")
    assert await store.find_token_holder(session, AuthMethod.SESSION) is None
    assert await store.find_token_holder(token, AuthMethod.TOKEN) is not None
    await disable_user(store, "amina")
    await store.enable_user("amina")
    assert await store.find_token_holder(token, AuthMethod.TOKEN) is None, "revoked for good"
    token = await store.issue_token(user_id, IssuedBy.COMMAND, None)
    assert await store.find_token_holder(token, AuthMethod.TOKEN) is not None
    assert await store.revoke_all(user_id) == 1
    assert await store.find_token_holder(token, AuthMethod.TOKEN) is None


@pytest.mark.parametrize("issued_by", IssuedBy)
async def test_no_token_for_a_user_who_was_disabled_meanwhile(
    store: AccountStore, issued_by: IssuedBy
) -> None:
    """Passwords take time to check. A token that is created after the account was disabled would not be revoked."""
    user_id = await create_user(store)
    await disable_user(store, "amina")
    with pytest.raises(Unauthorized):
        await store.issue_token(user_id, issued_by, None)
    assert await store.list_tokens() == []


async def test_tokens_created_while_a_user_is_disabled_are_revoked(store: AccountStore) -> None:
    user_id = await create_user(store)
    creations = [store.issue_token(user_id, IssuedBy.HTTP, None) for _ in range(10)]
    results = await asyncio.gather(
        *creations[:5], disable_user(store, "amina"), *creations[5:], return_exceptions=True
    )
    await store.enable_user("amina")
    created = [token for token in results if isinstance(token, str)]
    assert [await store.find_token_holder(token, AuthMethod.TOKEN) for token in created] == [
        None
    ] * len(created)
