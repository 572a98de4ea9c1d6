"""Guessing passwords is slowed down, per user and per address, however many processes are asked."""

import asyncio
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select

from fieldgate.accounts.authentication import AccountAuthenticator
from fieldgate.accounts.login_throttle import (
    ADDRESS_POLICY,
    FAILURE_RETENTION,
    USER_POLICY,
    LoginThrottle,
    ThrottlePolicy,
    wait_after,
)
from fieldgate.accounts.passwords import MAX_CONCURRENT_CHECKS, MAX_QUEUED_CHECKS, Passwords
from fieldgate.accounts.store import AccountStore, IssuedBy, NewUser
from fieldgate.accounts.tables import login_attempts
from fieldgate.db import Database, DataVersions, now
from fieldgate.errors import ServiceUnavailable, TooManyRequests, Unauthorized
from tests.conftest import FAST_HASHER, PASSWORD

pytestmark = pytest.mark.usefixtures("long_throttle_waits")


async def fail(guessing: LoginThrottle, user: str, address: str, times: int) -> int:
    """How many of so many attempts in a row were let through."""
    allowed = 0
    for _ in range(times):
        try:
            await guessing.record_attempt(user, address)
        except TooManyRequests:
            continue
        allowed += 1
    return allowed


async def test_a_user_cannot_be_guessed_from_many_addresses(database: Database) -> None:
    guessing = LoginThrottle(database)
    allowed = sum([await fail(guessing, "Amina", f"192.0.2.{n}", 1) for n in range(30)])
    assert allowed == USER_POLICY.free_failures
    with pytest.raises(TooManyRequests) as refused:
        await guessing.record_attempt("amina", "198.51.100.1")
    assert int(dict(refused.value.headers)[b"retry-after"]) > 0
    assert await fail(guessing, "zahra", "198.51.100.1", 1) == 1, "others are not held up"


async def test_an_address_cannot_guess_many_users(database: Database) -> None:
    guessing = LoginThrottle(database)
    allowed = sum([await fail(guessing, f"user{n}", "192.0.2.1", 1) for n in range(60)])
    assert allowed == ADDRESS_POLICY.free_failures
    assert await fail(guessing, "another", "192.0.2.2", 1) == 1


async def test_a_whole_ipv6_network_counts_as_one_address(database: Database) -> None:
    guessing = LoginThrottle(database)
    allowed = sum([await fail(guessing, f"user{n}", f"2001:db8::{n:x}", 1) for n in range(60)])
    assert allowed == ADDRESS_POLICY.free_failures
    assert await fail(guessing, "another", "2001:db8:0:1::1", 1) == 1


async def test_guesses_sent_at_once_are_all_counted_by_all_processes(database_url: str, database: Database) -> None:
    processes = [LoginThrottle(Database(database_url)) for _ in range(3)]
    allowed = await asyncio.gather(
        *(fail(process, "amina", f"192.0.2.{n}", 1) for n in range(10) for process in processes)
    )
    assert sum(allowed) <= USER_POLICY.free_failures
    for process in processes:
        await process._database.close()


async def test_a_right_password_is_forgiven(database: Database) -> None:
    guessing = LoginThrottle(database)
    for _ in range(100):
        await guessing.record_attempt("amina", "192.0.2.1")
        await guessing.record_success("amina", "192.0.2.1")


async def test_a_right_password_does_not_wash_an_address_clean(database: Database) -> None:
    """Logging in to an account of one's own between guesses buys no further guesses."""
    guessing = LoginThrottle(database)
    guessed = 0
    for number in range(60):
        guessed += await fail(guessing, f"victim{number}", "192.0.2.1", 1)
        try:
            await guessing.record_attempt("mallory", "192.0.2.1")
            await guessing.record_success("mallory", "192.0.2.1")
        except TooManyRequests:
            pass
    assert guessed <= ADDRESS_POLICY.free_failures


@given(st.integers(0, 10_000), st.integers(1, 100), st.integers(1, 1000))
def test_waits_grow_and_are_bounded(failures: int, free: int, longest: int) -> None:
    allowance = ThrottlePolicy(free, longest)
    wait = wait_after(failures, allowance).total_seconds()
    assert 0 <= wait <= longest
    assert wait <= wait_after(failures + 1, allowance).total_seconds()
    assert (wait == 0) == (failures < free)


async def accounts_over(database: Database, passwords: Passwords) -> AccountAuthenticator:
    store = AccountStore(database, DataVersions(database))
    return AccountAuthenticator(store, passwords, LoginThrottle(database))


class CountingPasswords(Passwords):
    """The real thing, counting how often the slow part runs."""

    checks = 0

    def _verify(self, stored: str, password: str) -> bool:
        self.checks += 1
        return super()._verify(stored, password)


async def test_wrong_passwords_and_unknown_users_cost_the_same_check(database: Database) -> None:
    passwords = CountingPasswords(FAST_HASHER)
    accounts = await accounts_over(database, passwords)
    store = AccountStore(database, DataVersions(database))
    await store.create_user(NewUser(username="amina", password_hash=passwords.hash(PASSWORD)))
    await store.create_user(NewUser(username="gone", password_hash=passwords.hash(PASSWORD)))
    await store.disable_user("gone")
    for username, password in (("amina", "wrong"), ("nobody", PASSWORD), ("gone", PASSWORD)):
        before = passwords.checks
        with pytest.raises(Unauthorized, match="do not fit"):
            await accounts.by_password(username, password, "192.0.2.1")
        assert passwords.checks == before + 1


async def test_a_right_password_is_checked_slowly_once_and_never_stale(database: Database) -> None:
    passwords = CountingPasswords(FAST_HASHER)
    accounts = await accounts_over(database, passwords)
    store = AccountStore(database, DataVersions(database))
    await store.create_user(NewUser(username="amina", password_hash=passwords.hash(PASSWORD)))
    for _ in range(5):
        assert (await accounts.by_password("amina", PASSWORD, "192.0.2.1")).username == "amina"
    assert passwords.checks == 1
    await store.set_password("amina", passwords.hash("another"))
    with pytest.raises(Unauthorized):
        await accounts.by_password("amina", PASSWORD, "192.0.2.1")
    await store.disable_user("amina")
    with pytest.raises(Unauthorized):
        await accounts.by_password("amina", "another", "192.0.2.1")


async def test_a_flood_of_checks_is_turned_away_not_piled_up() -> None:
    passwords = Passwords(FAST_HASHER)
    stored = passwords.hash(PASSWORD)

    async def check() -> bool:
        with passwords.slot():
            return await passwords.matches(PASSWORD, stored)

    results = await asyncio.gather(*(check() for _ in range(MAX_QUEUED_CHECKS + 20)), return_exceptions=True)
    refused = [result for result in results if isinstance(result, ServiceUnavailable)]
    assert len(refused) == 20
    assert results.count(True) == MAX_QUEUED_CHECKS
    assert len(passwords._threads._threads) <= MAX_CONCURRENT_CHECKS
    passwords.close()


async def test_a_damaged_hash_fits_nothing() -> None:
    passwords = Passwords(FAST_HASHER)
    assert not await passwords.matches(PASSWORD, "damaged")
    passwords.close()


async def test_old_failures_are_forgotten(database: Database) -> None:
    guessing = LoginThrottle(database)
    await fail(guessing, "amina", "192.0.2.1", USER_POLICY.free_failures)
    async with database.transaction() as connection:
        past = now() - FAILURE_RETENTION - timedelta(seconds=1)
        await connection.execute(login_attempts.update().values(last_at=past, blocked_until=past))
    assert await fail(guessing, "amina", "192.0.2.1", 1) == 1
    async with database.read_transaction() as connection:
        assert set((await connection.execute(select(login_attempts.c.failures))).scalars()) == {1}


async def test_an_address_need_not_be_an_ip_address(database: Database) -> None:
    guessing = LoginThrottle(database)
    allowed = sum([await fail(guessing, f"user{n}", "unix socket", 1) for n in range(60)])
    assert allowed == ADDRESS_POLICY.free_failures


async def test_right_passwords_are_remembered_within_a_bound(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fieldgate.accounts.authentication.MAX_CACHED_PASSWORDS", 2)
    accounts = await accounts_over(database, Passwords(FAST_HASHER))
    store = AccountStore(database, DataVersions(database))
    for number in range(5):
        await store.create_user(NewUser(username=f"user{number}", password_hash=FAST_HASHER.hash(PASSWORD)))
        await accounts.by_password(f"user{number}", PASSWORD, "192.0.2.1")
        assert len(accounts._verified) <= 2


async def test_a_use_that_cannot_be_noted_harms_nobody(
    database: Database, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    accounts = await accounts_over(database, Passwords(FAST_HASHER))
    store = AccountStore(database, DataVersions(database))
    number = await store.create_user(NewUser(username="amina", password_hash="x"))
    token = await store.issue_token(number, IssuedBy.COMMAND, None)

    async def fails(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(AccountStore, "touch_token", fails)
    assert await accounts.by_token(token) is not None
    await accounts.close()
    assert "last use of a token was not noted" in caplog.text


async def test_a_flood_is_not_charged_to_those_who_were_turned_away(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fieldgate.accounts.passwords.MAX_QUEUED_CHECKS", 0)
    accounts = await accounts_over(database, Passwords(FAST_HASHER))
    for _ in range(USER_POLICY.free_failures + 5):
        with pytest.raises(ServiceUnavailable):
            await accounts.by_password("amina", PASSWORD, "192.0.2.1")
    async with database.read_transaction() as connection:
        assert (await connection.execute(select(login_attempts))).all() == []


@pytest.mark.parametrize("attacker", ["192.0.2.66", "192.0.2.1"])
async def test_a_remembered_password_does_not_stand_out_among_guesses(database: Database, attacker: str) -> None:
    """While an attacker is told to wait, the right password is told to wait as well, wherever it comes from."""
    accounts = await accounts_over(database, Passwords(FAST_HASHER))
    store = AccountStore(database, DataVersions(database))
    await store.create_user(NewUser(username="amina", password_hash=FAST_HASHER.hash(PASSWORD)))
    await accounts.by_password("amina", PASSWORD, "192.0.2.1")
    for _ in range(USER_POLICY.free_failures):
        with pytest.raises(Unauthorized):
            await accounts.by_password("amina", "wrong", attacker)
    for password in ("wrong", PASSWORD):
        with pytest.raises(TooManyRequests):
            await accounts.by_password("amina", password, attacker)
    if attacker != "192.0.2.1":
        assert (await accounts.by_password("amina", PASSWORD, "192.0.2.1")).username == "amina", "she is not held up"
