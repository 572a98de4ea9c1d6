"""Guessing passwords is slow: per user, per address and for each pair, counted in the database, so over all processes.

An attempt is counted before the password is looked at and forgiven when it was right. So a thousand guesses sent
at once are a thousand counted guesses, not one.
"""

import hashlib
import ipaddress
from datetime import datetime, timedelta

import msgspec
from sqlalchemy import Delete, and_, delete, select
from sqlalchemy.dialects import postgresql, sqlite

from fieldgate.accounts.store import username_key
from fieldgate.accounts.tables import login_attempts
from fieldgate.db import Database, now
from fieldgate.errors import TooManyRequests
from fieldgate.i18n.messages import PluralMessage

FAILURE_RETENTION = timedelta(minutes=15)


class ThrottlePolicy(msgspec.Struct, frozen=True):
    """How many failures are free, and how long the wait can become after that (it doubles each time)."""

    free_failures: int
    max_wait_seconds: int  # seconds


USER_POLICY = ThrottlePolicy(free_failures=10, max_wait_seconds=60)
ADDRESS_POLICY = ThrottlePolicy(free_failures=30, max_wait_seconds=300)


def wait_after(failures: int, policy: ThrottlePolicy) -> timedelta:
    """How long to wait after so many failures in a row."""
    excess = failures - policy.free_failures
    if excess < 0:
        return timedelta(0)
    return timedelta(seconds=min(2 ** min(excess, 20), policy.max_wait_seconds))


class LoginThrottle:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def record_attempt(self, username: str, address: str) -> None:
        """Count an attempt, or refuse it if its turn has not come yet."""
        moment = now()
        allowances = _policies(username, address)
        async with self._database.transaction() as connection:
            await connection.execute(_delete_expired(moment))
            # The rows are there before they are locked, so that first attempts at the same moment take turns too;
            # everybody locks in the order of the keys, so that nobody waits in a circle.
            first = {"failures": 0, "last_at": moment, "blocked_until": moment}
            insert = (sqlite if self._database.is_sqlite else postgresql).insert(login_attempts)
            missing = [{"key": key, **first} for key in sorted(allowances)]
            await connection.execute(insert.values(missing).on_conflict_do_nothing())
            query = select(login_attempts).where(login_attempts.c.key.in_(allowances))
            rows = (await connection.execute(query.order_by(login_attempts.c.key).with_for_update())).all()
            blocked = max(row.blocked_until for row in rows)
            if blocked > moment:
                raise _too_many_attempts(blocked - moment)
            for row in rows:
                failures = row.failures + 1
                await connection.execute(
                    login_attempts.update()
                    .where(login_attempts.c.key == row.key)
                    .values(
                        failures=failures,
                        last_at=moment,
                        blocked_until=moment + wait_after(failures, allowances[row.key]),
                    )
                )

    async def check(self, username: str, address: str) -> None:
        """Refuse if this address has guessed too much at this user; for a password that is known to be right."""
        key = _pair_key(username, address)
        async with self._database.read_transaction() as connection:
            query = select(login_attempts.c.blocked_until).where(login_attempts.c.key == key)
            blocked = (await connection.execute(query)).scalar()
        if blocked is not None and blocked > (moment := now()):
            raise _too_many_attempts(blocked - moment)

    async def record_success(self, username: str, address: str) -> None:
        """The password was right: the user's failures are forgotten, and this attempt of the address."""
        async with self._database.transaction() as connection:
            forgiven = (_user_key(username), _pair_key(username, address))
            await connection.execute(delete(login_attempts).where(login_attempts.c.key.in_(forgiven)))
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
    """A key of bounded length, whatever somebody sends as a name."""
    return f"{kind}:{hashlib.sha256(repr(parts).encode('utf-8', 'surrogatepass')).hexdigest()}"


def _delete_expired(timestamp: datetime) -> Delete:
    """Drop what is long past; rows that somebody is busy with are left for the next time."""
    is_past = and_(login_attempts.c.last_at < timestamp - FAILURE_RETENTION, login_attempts.c.blocked_until < timestamp)
    idle = select(login_attempts.c.key).where(is_past).with_for_update(skip_locked=True)
    return delete(login_attempts).where(login_attempts.c.key.in_(idle))


def _network_key(address: str) -> str:
    """Who counts as one address: with IPv6, a whole /64, which is what one customer gets."""
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
