"""Slows down password guessing. Failures are counted per user, per address and per pair of both.

The counters are in the database, so they hold for all processes. An attempt is counted as a failure before the password
is checked, and taken back if the password was correct: a thousand guesses sent at once are a thousand failures.
"""

import hashlib
import ipaddress
from datetime import datetime, timedelta

import msgspec
from sqlalchemy import Delete, and_, delete, select

from fieldgate.accounts.store import username_key
from fieldgate.accounts.tables import login_attempts
from fieldgate.db import Database, insert_missing, now
from fieldgate.errors import TooManyRequests
from fieldgate.i18n.messages import PluralMessage

FAILURE_RETENTION = timedelta(minutes=15)  # after the last attempt


class ThrottlePolicy(msgspec.Struct, frozen=True):
    """How many failures have no consequence, and the longest wait after that. The wait doubles with each failure."""

    free_failures: int
    max_wait_seconds: int


USER_POLICY = ThrottlePolicy(free_failures=10, max_wait_seconds=60)
ADDRESS_POLICY = ThrottlePolicy(free_failures=30, max_wait_seconds=300)


def wait_after(failures: int, policy: ThrottlePolicy) -> timedelta:
    """Return how long to wait after this number of failures in a row."""
    excess = failures - policy.free_failures
    if excess < 0:
        return timedelta(0)
    return timedelta(seconds=min(2 ** min(excess, 20), policy.max_wait_seconds))


class LoginThrottle:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def record_attempt(self, username: str, address: str) -> None:
        """Count an attempt, or raise `TooManyRequests` if it comes too early."""
        timestamp = now()
        policies = _policies(username, address)
        async with self._database.transaction() as connection:
            await connection.execute(_delete_expired(timestamp))
            # Rows are inserted before they are locked, so that concurrent first attempts wait for each other, too.
            # All transactions lock them in the order of the keys, to avoid deadlocks.
            first = {"failures": 0, "last_at": timestamp, "blocked_until": timestamp}
            missing = [{"key": key, **first} for key in sorted(policies)]
            await connection.execute(insert_missing(connection.dialect, login_attempts).values(missing))
            query = select(login_attempts).where(login_attempts.c.key.in_(policies))
            rows = (await connection.execute(query.order_by(login_attempts.c.key).with_for_update())).all()
            blocked = max(row.blocked_until for row in rows)
            if blocked > timestamp:
                raise _too_many_attempts(blocked - timestamp)
            for row in rows:
                failures = row.failures + 1
                await connection.execute(
                    login_attempts.update()
                    .where(login_attempts.c.key == row.key)
                    .values(
                        failures=failures,
                        last_at=timestamp,
                        blocked_until=timestamp + wait_after(failures, policies[row.key]),
                    )
                )

    async def check(self, username: str, address: str) -> None:
        """Raise `TooManyRequests` if this address failed too often for this user.

        For passwords known to be correct: nothing is counted, and failures of other addresses do not matter.
        """
        key = _pair_key(username, address)
        async with self._database.read_transaction() as connection:
            query = select(login_attempts.c.blocked_until).where(login_attempts.c.key == key)
            blocked = (await connection.execute(query)).scalar()
        if blocked is not None and blocked > (timestamp := now()):
            raise _too_many_attempts(blocked - timestamp)

    async def record_success(self, username: str, address: str) -> None:
        """Forget the user's failures, and take back this attempt of the address.

        The address keeps its other failures: logging in to an account of one's own buys no further guesses at others.
        """
        async with self._database.transaction() as connection:
            cleared = (_user_key(username), _pair_key(username, address))
            await connection.execute(delete(login_attempts).where(login_attempts.c.key.in_(cleared)))
            await connection.execute(
                login_attempts.update()
                .where(login_attempts.c.key == _address_key(address), login_attempts.c.failures > 0)
                .values(failures=login_attempts.c.failures - 1, blocked_until=now())
            )


def _policies(username: str, address: str) -> dict[str, ThrottlePolicy]:
    return {
        _user_key(username): USER_POLICY,
        _address_key(address): ADDRESS_POLICY,
        _pair_key(username, address): USER_POLICY,
    }


def _user_key(username: str) -> str:
    return _key("user", username_key(username))


def _address_key(address: str) -> str:
    return _key("address", _network_key(address))


def _pair_key(username: str, address: str) -> str:
    return _key("pair", username_key(username), _network_key(address))


def _key(kind: str, *parts: str) -> str:
    """Return a key of bounded length for names of any length."""
    return f"{kind}:{hashlib.sha256(repr(parts).encode('utf-8', 'surrogatepass')).hexdigest()}"


def _delete_expired(timestamp: datetime) -> Delete:
    """Delete expired counters, except rows that another transaction has locked."""
    is_expired = and_(
        login_attempts.c.last_at < timestamp - FAILURE_RETENTION, login_attempts.c.blocked_until < timestamp
    )
    unlocked = select(login_attempts.c.key).where(is_expired).with_for_update(skip_locked=True)
    return delete(login_attempts).where(login_attempts.c.key.in_(unlocked))


def _network_key(address: str) -> str:
    """Return what counts as one address: for IPv6 the /64 network, which is what one customer gets."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(parsed) if parsed.version == 4 else str(ipaddress.ip_network(f"{parsed}/64", strict=False))


def _too_many_attempts(wait: timedelta) -> TooManyRequests:
    seconds = int(wait.total_seconds()) + 1
    return TooManyRequests(
        PluralMessage(
            "Too many failed attempts to log in. Try again in {count} second.",
            "Too many failed attempts to log in. Try again in {count} seconds.",
            seconds,
        ),
        seconds,
    )
