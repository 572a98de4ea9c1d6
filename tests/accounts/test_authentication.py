"""Authentication with passwords and tokens: constant cost of failures, the password cache, and last use."""

import asyncio
from collections import Counter

import pytest
from sqlalchemy import select

from fieldgate.accounts import login_queue
from fieldgate.accounts.authentication import AccountAuthenticator
from fieldgate.accounts.known_clients import KnownClients
from fieldgate.accounts.login_queue import MAX_ATTEMPTS_PER_CLIENT, Lane
from fieldgate.accounts.login_throttle import USER_POLICY, LoginThrottle
from fieldgate.accounts.passwords import Passwords
from fieldgate.accounts.store import AccountStore, IssuedBy, NewUser
from fieldgate.accounts.tables import login_attempts
from fieldgate.db import Database, DataVersions
from fieldgate.errors import Problem, ServiceUnavailable, TooManyRequests, Unauthorized
from tests.conftest import FAST_HASHER, PASSWORD

pytestmark = pytest.mark.usefixtures("long_throttle_waits")

ADDRESS = "192.0.2.1"


class CountingPasswords(Passwords):
    """Counts how often the slow verification runs."""

    checks = 0

    def _verify(self, stored: str, password: str) -> bool:
        self.checks += 1
        return super()._verify(stored, password)


@pytest.fixture
def store(database: Database) -> AccountStore:
    return AccountStore(database, DataVersions(database))


@pytest.fixture
def passwords() -> CountingPasswords:
    return CountingPasswords(FAST_HASHER)


@pytest.fixture
def authenticator(database: Database, store: AccountStore, passwords: Passwords) -> AccountAuthenticator:
    return new_authenticator(database, store, passwords)


def new_authenticator(database: Database, store: AccountStore, passwords: Passwords) -> AccountAuthenticator:
    known_clients = KnownClients(database)
    return AccountAuthenticator(store, passwords, LoginThrottle(database, known_clients), known_clients)


async def create_user(store: AccountStore, username: str = "amina") -> int:
    return await store.create_user(NewUser(username=username, password_hash=FAST_HASHER.hash(PASSWORD)))


async def test_every_failure_costs_one_verification(
    store: AccountStore, authenticator: AccountAuthenticator, passwords: CountingPasswords
) -> None:
    await create_user(store, "amina")
    await create_user(store, "disabled")
    await store.disable_user("disabled")
    for username, password in (("amina", "wrong"), ("nobody", PASSWORD), ("disabled", PASSWORD)):
        before = passwords.checks
        with pytest.raises(Unauthorized, match="incorrect"):
            await authenticator.by_password(username, password, ADDRESS)
        assert passwords.checks == before + 1


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
    await store.disable_user("amina")
    with pytest.raises(Unauthorized):
        await authenticator.by_password("amina", "another", ADDRESS)


async def test_password_cache_is_bounded(
    database: Database, store: AccountStore, passwords: Passwords, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fieldgate.accounts.authentication.MAX_CACHED_PASSWORDS", 2)
    authenticator = new_authenticator(database, store, passwords)
    for number in range(5):
        await create_user(store, f"user{number}")
        await authenticator.by_password(f"user{number}", PASSWORD, ADDRESS)
        assert len(authenticator._verified) <= 2


async def test_correct_password_clears_the_failures(
    database: Database, store: AccountStore, authenticator: AccountAuthenticator
) -> None:
    await create_user(store)
    for _ in range(USER_POLICY.free_failures - 1):
        with pytest.raises(Unauthorized):
            await authenticator.by_password("amina", "wrong", ADDRESS)
    await authenticator.by_password("amina", PASSWORD, ADDRESS)
    async with database.read_transaction() as connection:
        failures = list((await connection.execute(select(login_attempts.c.failures))).scalars())
    assert failures == [USER_POLICY.free_failures - 1] * 2, "those of the address and the name, without this attempt"


async def test_refused_checks_are_not_counted_as_failures(
    database: Database, authenticator: AccountAuthenticator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(login_queue, "MAX_WAITING", 0)
    queue = authenticator._queue
    async with queue.turn("a", Lane.NEW), queue.turn("b", Lane.NEW):
        for _ in range(USER_POLICY.free_failures + 5):
            with pytest.raises(ServiceUnavailable):
                await authenticator.by_password("amina", PASSWORD, ADDRESS)
    async with database.read_transaction() as connection:
        assert (await connection.execute(select(login_attempts))).all() == []


async def attempt(authenticator: AccountAuthenticator, username: str, password: str, cookie: str = "") -> str:
    try:
        return (await authenticator.by_password(username, password, ADDRESS, cookie)).username
    except Problem as problem:
        return type(problem).__name__


async def test_all_devices_of_an_account_share_its_places(
    store: AccountStore, authenticator: AccountAuthenticator
) -> None:
    """Every login without a cookie gives another one, so their number is no limit."""
    for username in ("guesser", "amina", "zahra"):
        await create_user(store, username)
    cookies = [await authenticator.device_cookie("guesser", "") for _ in range(3 * MAX_ATTEMPTS_PER_CLIENT)]
    own_cookie = await authenticator.device_cookie("amina", "")
    async with asyncio.TaskGroup() as tasks:
        guesses = [tasks.create_task(attempt(authenticator, "guesser", "wrong", cookie)) for cookie in cookies]
        known = tasks.create_task(attempt(authenticator, "amina", PASSWORD, own_cookie))
        new = tasks.create_task(attempt(authenticator, "zahra", PASSWORD))
    outcomes = Counter(guess.result() for guess in guesses)
    assert outcomes == {"Unauthorized": MAX_ATTEMPTS_PER_CLIENT, "TooManyRequests": 2 * MAX_ATTEMPTS_PER_CLIENT}
    assert (known.result(), new.result()) == ("amina", "zahra")


async def test_known_addresses_of_an_account_take_turns_as_one_client(
    store: AccountStore, authenticator: AccountAuthenticator
) -> None:
    queue = authenticator._queue
    for username in ("guesser", "amina"):
        await create_user(store, username)
    for number in range(5):
        await authenticator.by_password("guesser", PASSWORD, f"192.0.2.{number}")
    await authenticator.by_password("amina", PASSWORD, "198.51.100.1")
    async with asyncio.TaskGroup() as tasks, queue.turn("a", Lane.NEW), queue.turn("b", Lane.NEW):
        for number in range(5):
            tasks.create_task(expect_failure(authenticator, "guesser", f"192.0.2.{number}"))
        tasks.create_task(expect_failure(authenticator, "amina", "198.51.100.1"))
        while queue._count_waiting(Lane.KNOWN) < 6:
            await asyncio.sleep(0)
        waiting = sorted(len(turns) for turns in queue._lanes[Lane.KNOWN].values())
    assert waiting == [1, 5]


async def expect_failure(authenticator: AccountAuthenticator, username: str, address: str) -> None:
    with pytest.raises(Unauthorized):
        await authenticator.by_password(username, "wrong", address)


async def test_guesses_at_a_known_address_do_not_take_the_places_of_a_device(
    database: Database, store: AccountStore, passwords: Passwords, authenticator: AccountAuthenticator
) -> None:
    await create_user(store)
    await authenticator.by_password("amina", PASSWORD, ADDRESS)
    cookie = await authenticator.device_cookie("amina", "")
    authenticator = new_authenticator(database, store, passwords)  # which has not verified the password yet
    async with asyncio.TaskGroup() as tasks:
        for number in range(2 * MAX_ATTEMPTS_PER_CLIENT):
            tasks.create_task(attempt(authenticator, "amina", f"wrong {number}"))
        own = tasks.create_task(attempt(authenticator, "amina", PASSWORD, cookie))
    assert own.result() == "amina"


@pytest.mark.parametrize("attacker", ["192.0.2.66", ADDRESS])
async def test_cached_password_does_not_stand_out_among_guesses(
    store: AccountStore, authenticator: AccountAuthenticator, attacker: str
) -> None:
    """While an attacker's guesses are answered with 429, so is the correct password."""
    await create_user(store)
    await authenticator.by_password("amina", PASSWORD, ADDRESS)
    for _ in range(USER_POLICY.free_failures):
        with pytest.raises(Unauthorized):
            await authenticator.by_password("amina", "wrong", attacker)
    for password in ("wrong", PASSWORD):
        with pytest.raises(TooManyRequests):
            await authenticator.by_password("amina", password, attacker)
    if attacker != ADDRESS:
        user = await authenticator.by_password("amina", PASSWORD, ADDRESS)
        assert user.username == "amina", "the user's own address is not blocked"


async def test_failure_to_store_last_use_is_only_logged(
    store: AccountStore,
    authenticator: AccountAuthenticator,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    token = await store.issue_token(await create_user(store), IssuedBy.COMMAND, None)

    async def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(AccountStore, "touch_token", fail)
    assert await authenticator.by_token(token) is not None
    await authenticator.close()
    assert "could not store the last use of a token" in caplog.text
