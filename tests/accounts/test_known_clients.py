"""Device cookies and known addresses."""

import pytest
from sqlalchemy import func, select

from fieldgate.accounts import known_clients
from fieldgate.accounts.known_clients import ADDRESS_LIFETIME, MAX_ADDRESSES, KnownClients
from fieldgate.accounts.store import AccountStore, NewUser
from fieldgate.accounts.tables import known_addresses, users
from fieldgate.db import Database, DataVersions, now

USER, ADDRESS = "Amina", "192.0.2.1"


@pytest.fixture
async def user_id(database: Database) -> int:
    return await AccountStore(database, DataVersions(database)).create_user(NewUser(username=USER, password_hash=""))


async def remember(database: Database, clients: KnownClients, address: str) -> None:
    await clients.load()
    await database.write(lambda connection: clients.remember_address(connection, USER, address))


async def test_device_is_known_for_its_user_only(database: Database) -> None:
    clients = KnownClients(database)
    cookie = await clients.device_cookie(USER, "")
    nonce = await clients.find_device("amina", cookie)
    assert nonce, "usernames are compared without regard to case"
    assert await KnownClients(database).find_device("amina", cookie) == nonce, "all processes have the same key"
    assert await clients.find_device("zahra", cookie) == ""
    assert await clients.find_device(USER, "") == ""


async def test_changed_or_expired_cookie_is_not_accepted(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    clients = KnownClients(database)
    expiry, nonce, signature = (await clients.device_cookie(USER, "")).split(".")
    for forged in (
        f"{int(expiry) + 1}.{nonce}.{signature}", f"{expiry}.x{nonce}.{signature}",
        f"{expiry}.{nonce}.{signature[:-1]}",
        f"{expiry}.{nonce}.", f"{expiry}.{nonce}.\xe9", expiry, "..", "~~~", "x.y.z",
    ):  # fmt: skip
        assert await clients.find_device(USER, forged) == ""
    monkeypatch.setattr(known_clients, "DEVICE_COOKIE_SECONDS", -1)
    assert await clients.find_device(USER, await clients.device_cookie(USER, "")) == ""


async def test_browser_can_be_known_for_several_users(database: Database) -> None:
    clients = KnownClients(database)
    cookie = ""
    for name in ("amina", "zahra", "omar", "lea", "zahra", "noor"):
        cookie = await clients.device_cookie(name, cookie)
    found = [name for name in ("amina", "zahra", "omar", "lea", "noor") if await clients.find_device(name, cookie)]
    assert found == ["zahra", "omar", "lea", "noor"], "the one that logged in longest ago is forgotten"
    assert cookie.count("~") == 3


async def test_cookie_fits_into_a_header(database: Database) -> None:
    clients = KnownClients(database)
    cookie = "x" * 100
    for number in range(9):
        cookie = await clients.device_cookie(f"user{number}", cookie)
    assert len(cookie) < 1000


async def test_address_is_known_after_a_login(database: Database, user_id: int) -> None:
    clients = KnownClients(database)
    assert not await clients.is_known_address(USER, ADDRESS)
    await remember(database, clients, ADDRESS)
    assert await clients.is_known_address("amina", ADDRESS)
    assert not await clients.is_known_address("amina", "192.0.2.2")
    assert not await clients.is_known_address("zahra", ADDRESS)
    async with database.transaction() as connection:
        assert (await connection.execute(select(known_addresses.c.user_id))).scalars().all() == [user_id]
        await connection.execute(known_addresses.update().values(last_at=now() - ADDRESS_LIFETIME))
    assert not await clients.is_known_address("amina", ADDRESS)


async def test_number_of_addresses_is_bounded(database: Database, user_id: int) -> None:
    clients = KnownClients(database)
    for number in range(MAX_ADDRESSES + 3):
        await remember(database, clients, f"192.0.2.{number}")
    known = [number for number in range(MAX_ADDRESSES + 3) if await clients.is_known_address(USER, f"192.0.2.{number}")]
    assert known == list(range(3, MAX_ADDRESSES + 3)), f"the newest of user {user_id}"


@pytest.mark.usefixtures("user_id")
async def test_addresses_are_deleted_with_the_user(database: Database) -> None:
    clients = KnownClients(database)
    await remember(database, clients, ADDRESS)
    async with database.transaction() as connection:
        await connection.execute(users.delete().where(users.c.username == USER))
        assert (await connection.execute(select(func.count()).select_from(known_addresses))).scalar() == 0
