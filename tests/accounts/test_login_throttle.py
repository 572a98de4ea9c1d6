"""The login throttle: waits after failures, per user and per address, across processes."""

import asyncio
from datetime import timedelta

import pytest
from sqlalchemy import select

from fieldgate.accounts.login_throttle import (
    ADDRESS_POLICY,
    FAILURE_RETENTION,
    PAIR_POLICY,
    USER_POLICY,
    USER_RETENTION,
    LoginThrottle,
    ThrottlePolicy,
    wait_after,
)
from fieldgate.accounts.tables import login_attempts
from fieldgate.db import AsyncDatabase, now
from fieldgate.errors import TooManyRequests

pytestmark = pytest.mark.usefixtures("long_throttle_waits")

USER, ADDRESS = "amina", "192.0.2.1"


# The rule


@pytest.mark.parametrize(
    ("failures", "seconds"),
    [(0, 0), (1, 0), (9, 0), (10, 1), (11, 2), (12, 4), (15, 32), (16, 60), (17, 60), (10_000, 60)],
)
def test_wait_doubles_from_the_first_counted_failure_to_the_maximum(
    failures: int, seconds: int
) -> None:
    policy = ThrottlePolicy(free_failures=10, max_wait_seconds=60)
    assert wait_after(failures, policy) == timedelta(seconds=seconds)


# Counting failures


async def count_allowed(throttle: LoginThrottle, user: str, address: str, attempts: int) -> int:
    """Make failing attempts in a row and return how many were allowed."""
    allowed = 0
    for _ in range(attempts):
        try:
            await throttle.record_attempt(user, address)
        except TooManyRequests:
            continue
        allowed += 1
    return allowed


async def guess_from_many_addresses(throttle: LoginThrottle, user: str = USER) -> None:
    """Until addresses that have failed have to wait."""
    for number in range(USER_POLICY.free_failures):
        assert await count_allowed(throttle, user, f"203.0.113.{number}", 1) == 1


async def test_user_is_protected_from_addresses_that_have_failed(database: AsyncDatabase) -> None:
    throttle = LoginThrottle(database)
    await guess_from_many_addresses(throttle, "Amina")
    with pytest.raises(TooManyRequests) as error:
        await throttle.check("amina", "203.0.113.1")
    assert int(dict(error.value.headers)[b"retry-after"]) > 0
    assert await count_allowed(throttle, "amina", "203.0.113.1", 1) == 0
    assert await count_allowed(throttle, "zahra", "203.0.113.1", 1) == 1, (
        "other users are not blocked"
    )


async def test_user_is_not_locked_out_by_others(database: AsyncDatabase) -> None:
    throttle = LoginThrottle(database)
    await guess_from_many_addresses(throttle)
    for _ in range(2):
        await throttle.check(USER, ADDRESS)
        await throttle.record_attempt(USER, ADDRESS)
        await throttle.record_success(USER, ADDRESS)
    assert await count_allowed(throttle, USER, ADDRESS, 3) == 1, (
        "the second attempt comes from an address that failed"
    )


async def test_address_cannot_try_many_users(database: AsyncDatabase) -> None:
    throttle = LoginThrottle(database)
    allowed = sum([await count_allowed(throttle, f"user{n}", ADDRESS, 1) for n in range(60)])
    assert allowed == ADDRESS_POLICY.free_failures
    assert await count_allowed(throttle, "another", "192.0.2.2", 1) == 1


async def test_ipv6_network_counts_as_one_address(database: AsyncDatabase) -> None:
    throttle = LoginThrottle(database)
    allowed = sum(
        [await count_allowed(throttle, f"user{n}", f"2001:db8::{n:x}", 1) for n in range(60)]
    )
    assert allowed == ADDRESS_POLICY.free_failures
    assert await count_allowed(throttle, "another", "2001:db8:0:1::1", 1) == 1


async def test_concurrent_attempts_in_several_processes_are_all_counted(
    database_url: str, database: AsyncDatabase
) -> None:
    throttles = [LoginThrottle(AsyncDatabase(database_url)) for _ in range(3)]
    allowed = await asyncio.gather(
        *(count_allowed(throttle, USER, ADDRESS, 1) for _ in range(10) for throttle in throttles)
    )
    assert sum(allowed) == PAIR_POLICY.free_failures
    for throttle in throttles:
        await throttle._database.close()


async def test_old_failures_expire(database: AsyncDatabase) -> None:
    throttle = LoginThrottle(database)
    await count_allowed(throttle, USER, ADDRESS, PAIR_POLICY.free_failures)
    async with database.transaction() as connection:
        past = now() - timedelta(minutes=15, seconds=1)
        await connection.execute(login_attempts.update().values(last_at=past, blocked_until=past))
    assert await count_allowed(throttle, USER, ADDRESS, 1) == 1
    assert await stored_failures(database) == [1, 1, PAIR_POLICY.free_failures + 1], (
        "the name's are kept for longer"
    )


async def test_failures_do_not_expire_during_a_wait(database: AsyncDatabase) -> None:
    throttle = LoginThrottle(database)
    await count_allowed(throttle, USER, ADDRESS, PAIR_POLICY.free_failures)
    async with database.transaction() as connection:
        past = now() - FAILURE_RETENTION - timedelta(seconds=1)
        await connection.execute(login_attempts.update().values(last_at=past))
    assert await count_allowed(throttle, USER, ADDRESS, 1) == 0


async def stored_failures(database: AsyncDatabase) -> list[int]:
    """The counters of all users, addresses and pairs, smallest first."""
    async with database.read_transaction() as connection:
        query = select(login_attempts.c.failures).order_by(login_attempts.c.failures)
        return list((await connection.execute(query)).scalars())


# Correct passwords


async def test_correct_login_clears_failures_of_the_user(database: AsyncDatabase) -> None:
    throttle = LoginThrottle(database)
    for _ in range(2):
        almost_all = PAIR_POLICY.free_failures - 1
        assert await count_allowed(throttle, USER, ADDRESS, almost_all) == almost_all
        await throttle.record_attempt(USER, ADDRESS)
        await throttle.record_success(USER, ADDRESS)


async def test_correct_login_takes_back_its_attempt_and_unblocks_the_address(
    database: AsyncDatabase,
) -> None:
    """The attempt that reaches the limit blocks the address until its password proves correct."""
    throttle = LoginThrottle(database)
    for number in range(ADDRESS_POLICY.free_failures - 1):
        await throttle.record_attempt(f"user{number}", ADDRESS)
    await throttle.record_attempt(USER, ADDRESS)
    with pytest.raises(TooManyRequests):
        await throttle.record_attempt("zahra", ADDRESS)
    await throttle.record_success(USER, ADDRESS)
    await throttle.record_attempt("zahra", ADDRESS)
    with pytest.raises(TooManyRequests):
        await throttle.record_attempt("omar", ADDRESS)


async def test_correct_login_keeps_other_failures_of_the_address(database: AsyncDatabase) -> None:
    """Logging in to an account of one's own between guesses does not allow more guesses."""
    throttle = LoginThrottle(database)
    guesses = 0
    for number in range(60):
        guesses += await count_allowed(throttle, f"victim{number}", ADDRESS, 1)
        try:
            await throttle.record_attempt("mallory", ADDRESS)
            await throttle.record_success("mallory", ADDRESS)
        except TooManyRequests:
            pass
    assert guesses <= ADDRESS_POLICY.free_failures


# Cached passwords


# Failures of a user


async def test_one_address_does_not_make_others_wait(database: AsyncDatabase) -> None:
    """However long it goes on: its waits do not become those of the user."""
    throttle = LoginThrottle(database)
    await throttle.record_attempt(
        "zahra", "198.51.100.1"
    )  # so that the counter of the user matters for this address
    for _ in range(USER_POLICY.free_failures + PAIR_POLICY.free_failures):
        await count_allowed(throttle, USER, ADDRESS, 1)
        async with database.transaction() as connection:  # it waits as long as it has to
            await connection.execute(login_attempts.update().values(blocked_until=now()))
    await throttle.check(USER, "198.51.100.1")
    await throttle.record_attempt(USER, "198.51.100.1")


async def test_failures_of_a_user_are_remembered_for_a_day(database: AsyncDatabase) -> None:
    throttle = LoginThrottle(database)
    await guess_from_many_addresses(throttle)
    for age, allowed in (
        (USER_RETENTION - timedelta(minutes=1), 1),
        (USER_RETENTION + timedelta(minutes=1), 2),
    ):
        async with database.transaction() as connection:
            past = now() - age
            await connection.execute(
                login_attempts.update().values(last_at=past, blocked_until=past)
            )
        assert await count_allowed(throttle, USER, ADDRESS, 2) == allowed


async def test_expired_counters_are_deleted(database: AsyncDatabase) -> None:
    throttle = LoginThrottle(database)
    await throttle.record_attempt(USER, ADDRESS)
    async with database.transaction() as connection:
        past = now() - USER_RETENTION - timedelta(minutes=1)
        await connection.execute(login_attempts.update().values(last_at=past, blocked_until=past))
    await LoginThrottle(database).record_attempt("zahra", "192.0.2.2")
    assert await stored_failures(database) == [1, 1, 1]
