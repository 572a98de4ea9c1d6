"""Slows down password guessing. Failures are counted per address, per pair of user and address, and per user.

The counters are in the database, so they hold for all processes and machines. An attempt is counted as a failure before
the password is checked, and taken back if the password was correct: a thousand guesses sent at once are a thousand
failures.

Nobody can lock a user out by guessing from elsewhere: the counter per user slows down only addresses that have failed
before, and one address adds only so much to it.
"""

import hashlib
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec
from sqlalchemy import Connection, Delete, and_, bindparam, delete, or_, select

from fieldgate.accounts.store import username_key
from fieldgate.accounts.tables import login_attempts
from fieldgate.db import AsyncDatabase, PreparedQuery, Timestamp, insert_missing, now
from fieldgate.errors import TooManyRequests
from fieldgate.i18n.messages import PluralMessage
from fieldgate.runtime.client_networks import network_of

CLEANUP_INTERVAL = timedelta(minutes=1)
_USER_PREFIX = "user"


class ThrottlePolicy(msgspec.Struct, frozen=True):
    """How many failures have no consequence, and the longest wait after that. The wait doubles with each failure."""

    free_failures: int
    max_wait_seconds: int


PAIR_POLICY = ThrottlePolicy(free_failures=10, max_wait_seconds=60)  # of a user, from one address
ADDRESS_POLICY = ThrottlePolicy(free_failures=30, max_wait_seconds=300)
USER_POLICY = ThrottlePolicy(
    free_failures=100, max_wait_seconds=60
)  # of a user, from all addresses

# How long failures are remembered after the last one. A day for those from many addresses, whose owner can be patient.
FAILURE_RETENTION = timedelta(minutes=15)
USER_RETENTION = timedelta(days=1)


def wait_after(failures: int, policy: ThrottlePolicy) -> timedelta:
    """Return how long to wait after this number of failures in a row."""
    excess = failures - policy.free_failures
    if excess < 0:
        return timedelta(0)
    return timedelta(seconds=min(2 ** min(excess, 20), policy.max_wait_seconds))


class LoginThrottle:
    def __init__(self, database: AsyncDatabase) -> None:
        self._database = database
        self._next_cleanup = now()
        columns = (login_attempts.c.key, login_attempts.c.failures, login_attempts.c.last_at)
        keys = [login_attempts.c.key == bindparam(name) for name in ("user", "address", "pair")]
        self._find_counters = PreparedQuery(
            database, select(*columns, login_attempts.c.blocked_until).where(or_(*keys))
        )

    async def check(self, username: str, address: str) -> None:
        """Raise `TooManyRequests` if an attempt comes too early. Reads only: a refusal takes no lock."""
        user, at, pair = _user_key(username), _address_key(address), _pair_key(username, address)
        rows = await self._find_counters.all(user=user, address=at, pair=pair)
        counters = [
            _Counter(row[0], row[1], Timestamp.unpack(row[2]), Timestamp.unpack(row[3]))
            for row in rows
        ]
        _refuse_early(counters, username, address)

    async def check_pair(self, username: str, address: str) -> None:
        """Raise `TooManyRequests` if this address failed too often for this user.

        For passwords known to be correct: nothing is counted, and failures of others do not matter.
        """
        rows = await self._find_counters.all(user="", address="", pair=_pair_key(username, address))
        timestamp = now()
        if rows and rows[0][3] > Timestamp.pack(timestamp):
            raise _too_many_attempts(Timestamp.unpack(rows[0][3]) - timestamp)

    async def record_attempt(self, username: str, address: str) -> None:
        """Count an attempt, or raise `TooManyRequests` if it comes too early."""
        policies = {
            _pair_key(username, address): PAIR_POLICY,
            _address_key(address): ADDRESS_POLICY,
            _user_key(username): USER_POLICY,
        }
        dialect = self._database.dialect
        started = now()
        is_cleanup_due = started >= self._next_cleanup
        if is_cleanup_due:
            self._next_cleanup = started + CLEANUP_INTERVAL
        # Rows are inserted before they are locked, so that concurrent first attempts wait for each other, too.
        # All transactions lock them in the order of the keys, to avoid deadlocks.
        first = {"failures": 0, "last_at": started, "blocked_until": started}
        insert = insert_missing(dialect, login_attempts).values(
            [{"key": key, **first} for key in sorted(policies)]
        )
        query = (
            select(login_attempts)
            .where(login_attempts.c.key.in_(policies))
            .order_by(login_attempts.c.key)
        )

        def write(connection: Connection) -> None:
            if is_cleanup_due:
                connection.execute(_delete_expired(started))
            connection.execute(insert)
            rows = connection.execute(query.with_for_update()).all()
            counters = [
                _Counter(row.key, row.failures, row.last_at, row.blocked_until) for row in rows
            ]
            _refuse_early(counters, username, address)
            timestamp = now()  # after waiting for those that were first
            for key, failures in _count(counters, username, address, timestamp).items():
                values = {
                    "last_at": timestamp,
                    "blocked_until": timestamp + wait_after(failures, policies[key]),
                }
                update = login_attempts.update().where(login_attempts.c.key == key)
                connection.execute(update.values(failures=failures, **values))

        await self._database.write(write)

    async def record_success(self, username: str, address: str) -> None:
        """Forget the failures of this address for this user, and take back this attempt.

        The address keeps its other failures: logging in to an account of one's own buys no further guesses at others.
        So does the user: guesses of others go on.
        """

        def write(connection: Connection) -> None:
            connection.execute(
                delete(login_attempts).where(login_attempts.c.key == _pair_key(username, address))
            )
            for key in sorted((_address_key(address), _user_key(username))):
                connection.execute(
                    login_attempts.update()
                    .where(login_attempts.c.key == key, login_attempts.c.failures > 0)
                    .values(failures=login_attempts.c.failures - 1, blocked_until=now())
                )

        await self._database.write(write)


class _Counter(NamedTuple):
    """A row of `login_attempts`."""

    key: str
    failures: int
    last_at: datetime
    blocked_until: datetime

    def count_failures(self, timestamp: datetime) -> int:
        """The failures that are still remembered."""
        retention = USER_RETENTION if self.key.startswith(_USER_PREFIX) else FAILURE_RETENTION
        return 0 if self.last_at < timestamp - retention else self.failures


def _refuse_early(counters: Sequence[_Counter], username: str, address: str) -> None:
    """Raise `TooManyRequests`. The counter of the user is for addresses that have failed before only."""
    timestamp = now()
    has_failed = any(
        each.key == _address_key(address) and each.count_failures(timestamp) for each in counters
    )
    blocked = [
        each.blocked_until for each in counters if has_failed or each.key != _user_key(username)
    ]
    if blocked and max(blocked) > timestamp:
        raise _too_many_attempts(max(blocked) - timestamp)


def _count(
    counters: Sequence[_Counter], username: str, address: str, timestamp: datetime
) -> dict[str, int]:
    """Return the failures of each counter with this attempt."""
    counted = {counter.key: counter.count_failures(timestamp) + 1 for counter in counters}
    # One address alone does not make others wait.
    if counted[_pair_key(username, address)] > PAIR_POLICY.free_failures:
        del counted[_user_key(username)]
    return counted


def _user_key(username: str) -> str:
    return _key(_USER_PREFIX, username_key(username))


def _address_key(address: str) -> str:
    return _key("address", network_of(address))


def _pair_key(username: str, address: str) -> str:
    return _key("pair", username_key(username), network_of(address))


def _key(kind: str, *parts: str) -> str:
    """Return a key of bounded length for names of any length."""
    return f"{kind}:{hashlib.sha256(repr(parts).encode('utf-8', 'surrogatepass')).hexdigest()}"


def _delete_expired(timestamp: datetime) -> Delete:
    """Delete expired counters, except rows that another transaction has locked."""
    is_user = login_attempts.c.key.startswith(_USER_PREFIX)
    is_expired = and_(
        login_attempts.c.last_at < timestamp - FAILURE_RETENTION,
        login_attempts.c.blocked_until < timestamp,
        or_(~is_user, login_attempts.c.last_at < timestamp - USER_RETENTION),
    )
    unlocked = select(login_attempts.c.key).where(is_expired).with_for_update(skip_locked=True)
    return delete(login_attempts).where(login_attempts.c.key.in_(unlocked))


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
