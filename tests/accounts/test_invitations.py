"""One-time links in the store, on SQLite and PostgreSQL."""

import asyncio
from datetime import timedelta

import pytest
from sqlalchemy import select

from fieldgate.accounts.invitations import INVITATION_LIFETIME, InvitationStore
from fieldgate.accounts.store import AccountStore, IssuedBy, NewUser, hash_token
from fieldgate.accounts.tables import invitations, users
from fieldgate.db import AsyncDatabase, DataVersions, now
from fieldgate.identity import AuthMethod, User
from tests.accounts.disabled_users import disable_user


class Accounts:
    """The two stores of one database, with a superuser and a user."""

    def __init__(self, database: AsyncDatabase) -> None:
        versions = DataVersions(database)
        self.database = database
        self.store, self.links = AccountStore(database, versions), InvitationStore(database)
        self.root_id = self.user_id = 0

    async def set_up(self) -> None:
        self.root_id = await self.store.create_user(
            NewUser(username="root", password_hash="x", is_superuser=True)
        )
        self.user_id = await self.store.create_user(NewUser(username="Amina", password_hash="old"))

    async def create(self) -> str:
        created = await self.links.create(self.user_id, User(id=self.root_id))
        assert created is not None
        return created.secret

    async def password_hash(self) -> str:
        async with self.database.read_transaction() as connection:
            query = select(users.c.password_hash).where(users.c.id == self.user_id)
            return str((await connection.execute(query)).scalar_one())


@pytest.fixture
async def accounts(database: AsyncDatabase) -> Accounts:
    created = Accounts(database)
    await created.set_up()
    return created


async def test_link_sets_the_password_once_and_ends_sessions(accounts: Accounts) -> None:
    session = await accounts.store.issue_token(accounts.user_id, IssuedBy.SESSION, None)
    token = await accounts.store.issue_token(accounts.user_id, IssuedBy.HTTP, None)
    secret = await accounts.create()
    found = await accounts.links.find_user(secret)
    assert found is not None
    assert found.username == "Amina"
    assert await accounts.links.redeem(secret, "new") == "Amina"
    assert await accounts.password_hash() == "new"
    assert await accounts.store.find_token_holder(session, AuthMethod.SESSION) is None
    assert await accounts.store.find_token_holder(token, AuthMethod.TOKEN) is not None
    assert await accounts.links.find_user(secret) is None
    assert await accounts.links.redeem(secret, "again") is None
    assert await accounts.password_hash() == "new"


async def test_only_a_hash_is_stored_for_a_day(accounts: Accounts) -> None:
    secret = await accounts.create()
    async with accounts.database.read_transaction() as connection:
        row = (await connection.execute(select(invitations))).one()
    assert row.hash == hash_token(secret)
    assert secret not in repr(row)
    assert row.expires_at - row.created_at == INVITATION_LIFETIME == timedelta(days=1)
    assert (await accounts.store.find_any("amina")).invitation_expires_at == row.expires_at  # type: ignore[union-attr]


async def test_concurrent_uses_of_a_link(accounts: Accounts) -> None:
    secret = await accounts.create()
    used = await asyncio.gather(
        *(accounts.links.redeem(secret, f"hash {number}") for number in range(5))
    )
    assert sorted(filter(None, used)) == ["Amina"]
    [winner] = [number for number, username in enumerate(used) if username]
    assert await accounts.password_hash() == f"hash {winner}"


@pytest.mark.parametrize("event", ["a newer link", "disabling", "a new password", "expiry"])
async def test_what_makes_a_link_invalid(accounts: Accounts, event: str) -> None:
    secret = await accounts.create()
    if event == "a newer link":
        assert await accounts.create() != secret
    elif event == "disabling":
        await disable_user(accounts.store, "amina")
        assert await accounts.links.create(accounts.user_id, User(id=accounts.root_id)) is None
        await accounts.store.enable_user("amina")
    elif event == "a new password":
        await accounts.store.set_password("amina", "other")
    else:
        async with accounts.database.transaction() as connection:
            await connection.execute(
                invitations.update().values(expires_at=now() - timedelta(seconds=1))
            )
    before = await accounts.password_hash()
    assert await accounts.links.find_user(secret) is None
    assert await accounts.links.redeem(secret, "new") is None
    assert await accounts.password_hash() == before


async def test_unknown_links(accounts: Accounts) -> None:
    await accounts.create()
    for secret in ("", "fgi_", "x" * 5000, "\udcff"):
        assert await accounts.links.find_user(secret) is None
        assert await accounts.links.redeem(secret, "new") is None
    assert await accounts.links.create(99_999, User(id=accounts.root_id)) is None
