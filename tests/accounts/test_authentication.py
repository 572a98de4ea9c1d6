"""Authentication with passwords and tokens: constant cost of failures, the password cache, and last use."""

import asyncio

import pytest
from sqlalchemy import select

from fieldgate.accounts.authentication import MAX_WAITING_PER_ADDRESS, AccountAuthenticator
from fieldgate.accounts.login_throttle import PAIR_POLICY, LoginThrottle
from fieldgate.accounts.passwords import Passwords
from fieldgate.accounts.store import AccountStore, IssuedBy, NewUser, new_token
from fieldgate.accounts.tables import login_attempts
from fieldgate.db import AsyncDatabase, DataVersions
from fieldgate.errors import Problem, TooManyRequests, Unauthorized
from tests.accounts.disabled_users import disable_user
from tests.data.accounts import FAST_HASHER, PASSWORD

pytestmark = pytest.mark.usefixtures("long_throttle_waits")

ADDRESS = "192.0.2.1"


class CountingPasswords(Passwords):
    """Counts how often the slow verification runs."""

    checks = 0

    def _verify(self, stored: str, password: str) -> bool:
        self.checks += 1
        return super()._verify(stored, password)


@pytest.fixture
def store(database: AsyncDatabase) -> AccountStore:
    return AccountStore(database, DataVersions(database))


@pytest.fixture
def passwords() -> CountingPasswords:
    return CountingPasswords(FAST_HASHER)


@pytest.fixture
def authenticator(
    database: AsyncDatabase, store: AccountStore, passwords: Passwords
) -> AccountAuthenticator:
    return new_authenticator(database, store, passwords)


def new_authenticator(
    database: AsyncDatabase, store: AccountStore, passwords: Passwords
) -> AccountAuthenticator:
    return AccountAuthenticator(store, passwords, LoginThrottle(database))


async def create_user(store: AccountStore, username: str = "amina") -> int:
    return await store.create_user(
        NewUser(username=username, password_hash=FAST_HASHER.hash(PASSWORD))
    )


async def test_every_failure_costs_one_verification(
    store: AccountStore, authenticator: AccountAuthenticator, passwords: CountingPasswords
) -> None:
    await create_user(store, "amina")
    await create_user(store, "disabled")
    await disable_user(store, "disabled")
    for username, password in (("amina", "wrong"), ("nobody", PASSWORD), ("disabled", PASSWORD)):
        before = passwords.checks
        with pytest.raises(Unauthorized, match="incorrect"):
            await authenticator.by_password(username, password, ADDRESS)
        assert passwords.checks == before + 1


async def test_a_token_as_password_costs_no_verification(
    store: AccountStore, authenticator: AccountAuthenticator, passwords: CountingPasswords
) -> None:
    user_id = await create_user(store)
    token = await store.issue_token(user_id, IssuedBy.COMMAND, None)
    assert (await authenticator.by_password("amina", token, ADDRESS)).username == "amina"
    with pytest.raises(Unauthorized):
        await authenticator.by_password("amina", new_token(), ADDRESS)
    assert passwords.checks == 0


async def test_correct_password_is_verified_once_and_the_cache_is_never_stale(
    store: AccountStore, authenticator: AccountAuthenticator, passwords: CountingPasswords
) -> None:
    await create_user(store)
    for _ in range(5):
        assert (await authenticator.by_password("amina", PASSWORD, ADDRESS)).username == "amina"
    assert passwords.checks == 1
    await store.set_password("amina", passwords.hash("another"))
    with pytest.raises(Unauthorized):
        await authenticator.by_password("amina", PASSWORD, ADDRESS)
    await disable_user(store, "amina")
    with pytest.raises(Unauthorized):
        await authenticator.by_password("amina", "another", ADDRESS)


async def test_refused_checks_are_not_counted_as_failures(
    database: AsyncDatabase, authenticator: AccountAuthenticator
) -> None:
    async with authenticator._checks.slot(ADDRESS), asyncio.TaskGroup() as tasks:
        waiting = [
            tasks.create_task(attempt(authenticator, "amina"))
            for _ in range(MAX_WAITING_PER_ADDRESS)
        ]
        await waiting_checks(authenticator, MAX_WAITING_PER_ADDRESS)
        assert await attempt(authenticator, "amina") == "ServiceUnavailable"
        assert await stored_attempts(database) == 0
        for task in waiting:
            task.cancel()


async def test_guesses_from_one_address_do_not_delay_others(
    store: AccountStore, authenticator: AccountAuthenticator
) -> None:
    await create_user(store)
    order: list[str] = []

    async def log_in(address: str, password: str) -> None:
        order.append(await attempt(authenticator, "amina", password, address))

    checks = authenticator._checks
    async with (
        checks.slot("a"),
        asyncio.TaskGroup() as tasks,
        checks.slot("b"),
    ):  # "a" goes on: one runs at a time
        for _ in range(5):
            tasks.create_task(log_in(ADDRESS, "wrong"))
        await waiting_checks(authenticator, 5)
        tasks.create_task(log_in("192.0.2.2", PASSWORD))
        await waiting_checks(authenticator, 6)
    assert order == ["amina", *["Unauthorized"] * 5]


async def waiting_checks(authenticator: AccountAuthenticator, count: int) -> None:
    while sum(map(len, authenticator._checks._waiting.values())) < count:
        await asyncio.sleep(0)


async def attempt(
    authenticator: AccountAuthenticator,
    username: str,
    password: str = PASSWORD,
    address: str = ADDRESS,
) -> str:
    try:
        return (await authenticator.by_password(username, password, address)).username
    except Problem as problem:
        return type(problem).__name__


async def stored_attempts(database: AsyncDatabase) -> int:
    async with database.read_transaction() as connection:
        return len((await connection.execute(select(login_attempts))).all())


@pytest.mark.parametrize("attacker", ["192.0.2.66", ADDRESS])
async def test_cached_password_does_not_stand_out_among_guesses(
    store: AccountStore, authenticator: AccountAuthenticator, attacker: str
) -> None:
    """While an attacker's guesses are answered with 429, so is the correct password."""
    await create_user(store)
    await authenticator.by_password("amina", PASSWORD, ADDRESS)
    for _ in range(PAIR_POLICY.free_failures):
        with pytest.raises(Unauthorized):
            await authenticator.by_password("amina", "wrong", attacker)
    for password in ("wrong", PASSWORD):
        with pytest.raises(TooManyRequests):
            await authenticator.by_password("amina", password, attacker)
    if attacker != ADDRESS:
        user = await authenticator.by_password("amina", PASSWORD, ADDRESS)
        assert user.username == "amina", "the user's own address is not blocked"
