"""Password hashing: queue limits and damaged hashes."""

import asyncio

from fieldgate.accounts.passwords import MAX_CONCURRENT_CHECKS, MAX_QUEUED_CHECKS, Passwords
from fieldgate.errors import ServiceUnavailable
from tests.conftest import FAST_HASHER, PASSWORD


async def test_checks_beyond_the_queue_limit_are_refused() -> None:
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
    assert await check(), "places are free again"
    passwords.close()


async def test_only_the_right_password_matches() -> None:
    passwords = Passwords(FAST_HASHER)
    stored = passwords.hash(PASSWORD)
    assert await passwords.matches(PASSWORD, stored)
    assert not await passwords.matches(PASSWORD + " ", stored)
    assert not await passwords.matches(PASSWORD, None)
    passwords.close()


async def test_damaged_hash_matches_nothing() -> None:
    passwords = Passwords(FAST_HASHER)
    assert not await passwords.matches(PASSWORD, "damaged")
    passwords.close()
