"""Password hashing with Argon2."""

import asyncio
import secrets
from base64 import b64encode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from argon2.low_level import ARGON2_VERSION

from fieldgate.errors import ServiceUnavailable
from fieldgate.runtime.process_limits import lower_thread_priority

MAX_CONCURRENT_CHECKS = 2  # a check takes 64 MB
MAX_QUEUED_CHECKS = 32


class Passwords:
    """Hashes and verifies passwords. The number of concurrent and of queued checks is limited, to bound memory."""

    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        self._hasher = hasher or PasswordHasher()
        self._threads = ThreadPoolExecutor(
            MAX_CONCURRENT_CHECKS, thread_name_prefix="argon2", initializer=lower_thread_priority
        )
        self._queued = 0
        # Verified when the user does not exist, so that the response time does not reveal it.
        self._dummy_hash = random_hash(self._hasher)

    def hash(self, password: str) -> str:
        return self._hasher.hash(password)

    async def hash_in_thread(self, password: str) -> str:
        """Hash a password without blocking other requests, or raise `ServiceUnavailable`."""
        with self.slot():
            return await asyncio.get_running_loop().run_in_executor(
                self._threads, self.hash, password
            )

    @contextmanager
    def slot(self) -> Iterator[None]:
        """Take a place in the queue, or raise `ServiceUnavailable`."""
        if self._queued >= MAX_QUEUED_CHECKS:
            raise ServiceUnavailable
        self._queued += 1
        try:
            yield
        finally:
            self._queued -= 1

    async def matches(self, password: str, stored: str | None) -> bool:
        """Whether the password has this hash. Takes the same time if there is no hash."""
        loop = asyncio.get_running_loop()
        is_correct = await loop.run_in_executor(
            self._threads, self._verify, stored or self._dummy_hash, password
        )
        return is_correct and stored is not None

    def _verify(self, stored: str, password: str) -> bool:
        try:
            return self._hasher.verify(stored, password)
        except (VerificationError, InvalidHashError):
            return False

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def random_hash(hasher: PasswordHasher) -> str:
    """Return a hash that no known password has, but that takes as long to verify as others.

    Hashing a random password would have the same result, and makes each start a fifth of a second longer.
    """
    costs = f"m={hasher.memory_cost},t={hasher.time_cost},p={hasher.parallelism}"
    parts = (
        b64encode(secrets.token_bytes(length)).decode()
        for length in (hasher.salt_len, hasher.hash_len)
    )
    salt, digest = (part.rstrip("=") for part in parts)  # unpadded
    return f"$argon2{hasher.type.name.lower()}$v={ARGON2_VERSION}${costs}${salt}${digest}"
