"""Slows down password guessing. Failures are counted per address, per pair of user and address, and per user.

The counters are in the database, so they hold for all processes and machines. An attempt is counted as a failure before
the password is checked, and taken back if the password was correct: a thousand guesses sent at once are a thousand
failures.

Nobody can lock a user out by guessing: the counter per user is for clients from which the user never logged in, and one
address adds only so much to it. A browser that is known by its device cookie has a counter of its own.
"""

import hashlib
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
from sqlalchemy import Connection, Delete, Row, and_, bindparam, delete, or_, select

from fieldgate.accounts.known_clients import KnownClients
from fieldgate.accounts.login_queue import Lane
from fieldgate.accounts.store import username_key
from fieldgate.accounts.tables import login_attempts
from fieldgate.db import Database, PreparedQuery, Timestamp, insert_missing, now
from fieldgate.errors import TooManyRequests
from fieldgate.i18n.messages import PluralMessage
from fieldgate.runtime.client_networks import network_of

CLEANUP_INTERVAL = timedelta(minutes=1)


class ThrottlePolicy(msgspec.Struct, frozen=True):
    """How many failures have no consequence, and the longest wait after that. The wait doubles with each failure."""

    free_failures: int
    max_wait_seconds: int


USER_POLICY = ThrottlePolicy(free_failures=10, max_wait_seconds=60)  # of a user, from one address or device
ADDRESS_POLICY = ThrottlePolicy(free_failures=30, max_wait_seconds=300)
NAME_POLICY = ThrottlePolicy(free_failures=100, max_wait_seconds=60)  # of a user, from all unknown addresses

# How long failures are remembered after the last one. A day for those from many addresses, whose owner can be patient.
FAILURE_RETENTION = timedelta(minutes=15)
NAME_RETENTION = timedelta(days=1)


def wait_after(failures: int, policy: ThrottlePolicy) -> timedelta:
    """Return how long to wait after this number of failures in a row."""
    excess = failures - policy.free_failures
    if excess < 0:
        return timedelta(0)
    return timedelta(seconds=min(2 ** min(excess, 20), policy.max_wait_seconds))


class LoginThrottle:
    """`device` is the nonce of a device cookie that was verified for this user, or empty."""

    def __init__(self, database: Database, known_clients: KnownClients) -> None:
        self._database = database
        self._known_clients = known_clients
        self._next_cleanup = now()
        keys = [login_attempts.c.key == bindparam(name) for name in ("first", "second", "third")]
        self._find_counters = PreparedQuery(
            database,
            select(login_attempts.c.key, login_attempts.c.failures, login_attempts.c.blocked_until).where(or_(*keys)),
        )

    async def find_lane(self, username: str, address: str, device: str = "") -> Lane:
        """Return how soon the attempt is served, or raise `TooManyRequests`. Reads only: a refusal takes no lock."""
        policies = await self._policies(username, address, device)
        first, second, third = [*policies, "", ""][:3]
        rows = await self._find_counters.all(first=first, second=second, third=third)
        blocked = max((row[2] for row in rows), default=0)
        timestamp = now()
        if blocked > Timestamp.pack(timestamp):
            raise _too_many_attempts(Timestamp.unpack(blocked) - timestamp)
        if _user_key(username) not in policies:
            return Lane.KNOWN
        return Lane.FAILED if any(row[0] == _address_key(address) and row[1] for row in rows) else Lane.NEW

    async def record_attempt(self, username: str, address: str, device: str = "") -> None:
        """Count an attempt, or raise `TooManyRequests` if it comes too early."""
        policies = await self._policies(username, address, device)
        dialect = self._database.dialect
        started = now()
        is_cleanup_due = started >= self._next_cleanup
        if is_cleanup_due:
            self._next_cleanup = started + CLEANUP_INTERVAL
        # Rows are inserted before they are locked, so that concurrent first attempts wait for each other, too.
        # All transactions lock them in the order of the keys, to avoid deadlocks.
        first = {"failures": 0, "last_at": started, "blocked_until": started}
        insert = insert_missing(dialect, login_attempts).values([{"key": key, **first} for key in sorted(policies)])
        query = select(login_attempts).where(login_attempts.c.key.in_(policies)).order_by(login_attempts.c.key)

        def write(connection: Connection) -> None:
            if is_cleanup_due:
                connection.execute(_delete_expired(started))
            connection.execute(insert)
            rows = connection.execute(query.with_for_update()).all()
            timestamp = now()  # after waiting for those that were first
            blocked = max(row.blocked_until for row in rows)
            if blocked > timestamp:
                raise _too_many_attempts(blocked - timestamp)
            for key, failures in _count(rows, username, address, timestamp).items():
                values = {"last_at": timestamp, "blocked_until": timestamp + wait_after(failures, policies[key])}
                update = login_attempts.update().where(login_attempts.c.key == key)
                connection.execute(update.values(failures=failures, **values))

        await self._database.write(write)

    async def check(self, username: str, address: str, device: str = "") -> None:
        """Raise `TooManyRequests` if this address failed too often for this user.

        For passwords known to be correct: nothing is counted, and failures of other addresses do not matter.
        """
        key = _device_key(username, device) if device else _pair_key(username, address)
        rows = await self._find_counters.all(first=key, second="", third="")
        timestamp = now()
        if rows and rows[0][2] > Timestamp.pack(timestamp):
            raise _too_many_attempts(Timestamp.unpack(rows[0][2]) - timestamp)

    async def record_success(self, username: str, address: str, device: str = "") -> None:
        """Forget the failures of this address for this user, take back this attempt, and remember the address.

        The address keeps its other failures: logging in to an account of one's own buys no further guesses at others.
        So does the name: guesses of others go on.
        """
        policies = await self._policies(username, address, device)
        await self._known_clients.load()
        cleared = _device_key(username, device) if device else _pair_key(username, address)
        shared = sorted(key for key in policies if key != cleared)

        def write(connection: Connection) -> None:
            connection.execute(delete(login_attempts).where(login_attempts.c.key == cleared))
            for key in shared:
                connection.execute(
                    login_attempts.update()
                    .where(login_attempts.c.key == key, login_attempts.c.failures > 0)
                    .values(failures=login_attempts.c.failures - 1, blocked_until=now())
                )
            self._known_clients.remember_address(connection, username, address)

        await self._database.write(write)

    async def _policies(self, username: str, address: str, device: str) -> dict[str, ThrottlePolicy]:
        """The counters of an attempt."""
        if device:
            return {_device_key(username, device): USER_POLICY}
        own = {_pair_key(username, address): USER_POLICY, _address_key(address): ADDRESS_POLICY}
        if await self._known_clients.is_known_address(username, address):
            return own
        return {**own, _user_key(username): NAME_POLICY}


def _count(rows: Sequence[Row[Any]], username: str, address: str, timestamp: datetime) -> dict[str, int]:
    """Return the failures of each counter with this attempt."""
    name_key, pair_key = _user_key(username), _pair_key(username, address)
    counted: dict[str, int] = {}
    for row in rows:
        retention = NAME_RETENTION if row.key == name_key else FAILURE_RETENTION
        is_expired = row.last_at < timestamp - retention
        counted[row.key] = 1 if is_expired else row.failures + 1
    # One address alone does not make others wait.
    if name_key in counted and counted[pair_key] > USER_POLICY.free_failures:
        del counted[name_key]
    return counted


def _user_key(username: str) -> str:
    return _key("user", username_key(username))


def _address_key(address: str) -> str:
    return _key("address", network_of(address))


def _pair_key(username: str, address: str) -> str:
    return _key("pair", username_key(username), network_of(address))


def _device_key(username: str, device: str) -> str:
    return _key("device", username_key(username), device)


def _key(kind: str, *parts: str) -> str:
    """Return a key of bounded length for names of any length."""
    return f"{kind}:{hashlib.sha256(repr(parts).encode('utf-8', 'surrogatepass')).hexdigest()}"


def _delete_expired(timestamp: datetime) -> Delete:
    """Delete expired counters, except rows that another transaction has locked."""
    is_name = login_attempts.c.key.startswith("user:")
    is_expired = and_(
        login_attempts.c.last_at < timestamp - FAILURE_RETENTION,
        login_attempts.c.blocked_until < timestamp,
        or_(~is_name, login_attempts.c.last_at < timestamp - NAME_RETENTION),
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
