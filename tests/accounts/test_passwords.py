"""Password hashing: queue limits and damaged hashes."""

import asyncio

import pytest
from argon2 import PasswordHasher, Type, extract_parameters
from argon2.exceptions import VerifyMismatchError

from fieldgate.accounts.passwords import (
    MAX_CONCURRENT_CHECKS,
    MAX_QUEUED_CHECKS,
    Passwords,
    random_hash,
)
from fieldgate.errors import ServiceUnavailable
from tests.data.accounts import FAST_HASHER, PASSWORD


async def test_checks_beyond_the_queue_limit_are_refused() -> None:
    passwords = Passwords(FAST_HASHER)
    stored = passwords.hash(PASSWORD)

    async def check() -> bool:
        with passwords.slot():
            return await passwords.matches(PASSWORD, stored)

    results = await asyncio.gather(
        *(check() for _ in range(MAX_QUEUED_CHECKS + 20)), return_exceptions=True
    )
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


@pytest.mark.parametrize("hasher", [FAST_HASHER, PasswordHasher(2, 64, 1, 24, 12, type=Type.I)])
def test_random_hash_takes_as_long_as_one_of_a_password(hasher: PasswordHasher) -> None:
    first, second = random_hash(hasher), random_hash(hasher)
    assert first != second
    assert extract_parameters(first) == extract_parameters(hasher.hash(PASSWORD))
    with pytest.raises(
        VerifyMismatchError
    ):  # so it was compared with the digest, not refused as malformed
        hasher.verify(first, PASSWORD)
