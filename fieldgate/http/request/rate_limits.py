"""Rate limits: how many requests a user, or an address without credentials, can make in a time.

The algorithm is GCRA, the generic cell rate algorithm: a leaky bucket that needs one number. That is the time at which
the quota is full again. A request moves it forward by its cost, and is refused if it would come to lie more than a
window ahead. So nobody gets more than `quota + quota / window × seconds` in any time, and nobody who stays below
`quota / window` is ever refused.

Users have their own quota, wherever they are, with all their tokens. Callers without credentials share the quota of
their address; of IPv6 that is the /64 network, which one customer has. Credentials that are not valid are counted by
address, too: beyond a quota they are refused before they are looked up in the database.

Each process counts by itself: N processes admit N times the quota.
"""

import math
from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from time import monotonic

from fieldgate.cache import BoundedCache
from fieldgate.errors import Header, TooManyRequests
from fieldgate.i18n.messages import PluralMessage
from fieldgate.runtime.client_networks import is_in_networks, network_of
from fieldgate.settings import RateQuota, Settings

READ_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
# The share of its cost that a conditional request pays at first, and that a 304 pays in all.
CONDITIONAL_SHARE = 0.1
MAX_KEYS = 65_536  # per quota
MAX_KNOWN_ADDRESSES = 8192
MAX_KNOWN_CREDENTIALS = 4096

_USER_READS, _USER_WRITES = "reads", "writes"
_ADDRESS_READS, _ADDRESS_WRITES, _FAILURES = "address-reads", "address-writes", "failed-logins"

Clock = Callable[[], float]


class RateMeter:
    """Measures the use of one quota in this process, for any number of keys."""

    def __init__(self, name: str, quota: RateQuota, clock: Clock = monotonic) -> None:
        self.name = name
        self.quota = quota
        self.interval = quota.seconds / quota.requests
        # Beyond this level nothing is admitted. Sums of floats are not exact: a thousandth of a request is tolerated.
        self.limit = quota.seconds + self.interval / 1000
        self._clock = clock
        self._times: dict[Hashable, float] = {}  # when the quota is full again
        self._policy: Header = (
            b"ratelimit-policy",
            f'"{name}";q={quota.requests};w={quota.seconds}'.encode(),
        )

    def take(self, key: Hashable, cost: float) -> float:
        """Use a part of the quota and return the level: seconds until it is full again. Above `limit`: refused.

        A cost above the quota uses all of it.
        """
        now = self._clock()
        time = max(self._times.get(key, now), now)
        time += cost * self.interval if cost < self.quota.requests else self.quota.seconds
        if time - now <= self.limit:
            self._store(key, time)
        return time - now

    def charge(self, key: Hashable, cost: float) -> None:
        """Use a part of the quota after the fact, even if there is none left."""
        now = self._clock()
        self._store(key, max(self._times.get(key, now), now) + cost * self.interval)

    def level(self, key: Hashable) -> float:
        """Seconds until the quota is full again."""
        return max(0.0, self._times.get(key, 0.0) - self._clock())

    def _store(self, key: Hashable, time: float) -> None:
        if len(self._times) >= MAX_KEYS and key not in self._times:
            # Forget those whose quota is full again, and those who used least.
            for each in sorted(self._times, key=self._times.__getitem__)[: MAX_KEYS // 2]:
                del self._times[each]
        self._times[key] = time

    def seconds_to_wait(self, level: float) -> int:
        """After a refusal at this level: whole seconds until the same request is admitted."""
        return max(1, math.ceil(level - self.limit))

    def headers(self, level: float) -> tuple[Header, Header]:
        """The fields of draft-ietf-httpapi-ratelimit-headers-11.

        `t` is the time until the quota is full again; without any quota left, until the next request is admitted.
        """
        if level > self.limit:
            left, seconds = 0, self.seconds_to_wait(level)
        else:
            left, seconds = int((self.limit - level) / self.interval), math.ceil(level)
            if not left:
                seconds = self.seconds_to_wait(level + self.interval)
        return self._policy, (b"ratelimit", f'"{self.name}";r={left};t={seconds}'.encode())


class RateLimited(TooManyRequests):
    """The caller made too many requests."""

    def __init__(self, meter: RateMeter, level: float) -> None:
        seconds = meter.seconds_to_wait(level)
        super().__init__(
            PluralMessage(
                "Too many requests. Wait {count} second, then continue with fewer requests at a time.",
                "Too many requests. Wait {count} seconds, then continue with fewer requests at a time.",
                seconds,
            ),
            seconds,
        )
        self.headers = (*self.headers, *meter.headers(level))


class RateLimiter:
    """The quotas of the settings. There is one in each process."""

    def __init__(
        self, settings: Settings, count_refusal: Callable[[str], None], clock: Clock = monotonic
    ) -> None:
        """`count_refusal` gets the name of the policy that refused a request."""

        def meter(name: str, quota: RateQuota | None) -> RateMeter | None:
            return RateMeter(name, quota, clock) if quota is not None else None

        self._count_refusal = count_refusal
        self._exempt = settings.rate_limit_exempt
        # For writes and for reads.
        self._user_meters = (
            meter(_USER_WRITES, settings.write_rate),
            meter(_USER_READS, settings.read_rate),
        )
        self._address_meters = (
            meter(_ADDRESS_WRITES, settings.address_write_rate),
            meter(_ADDRESS_READS, settings.address_read_rate),
        )
        self._failures = meter(_FAILURES, settings.address_write_rate)
        # Of an address; None if it is exempt.
        self._network = lru_cache(MAX_KNOWN_ADDRESSES)(self._find_network)
        # Hashes of credentials that were valid: those who share an address with somebody who guesses are not refused.
        self._valid_credentials = BoundedCache[int, bool](MAX_KNOWN_CREDENTIALS)

    def admit(
        self, user_id: int | None, address: str, method: str, cost: float
    ) -> Sequence[Header]:
        """Count a request and return header fields about the quota. Raise `RateLimited`."""
        network = self._network(address)
        if network is None:
            return ()
        meters = self._user_meters if user_id is not None else self._address_meters
        meter = meters[method in READ_METHODS]
        if meter is None:
            return ()
        level = meter.take(network if user_id is None else user_id, cost)
        if level > meter.limit:
            self._count_refusal(meter.name)
            raise RateLimited(meter, level)
        return meter.headers(level)

    def charge(self, user_id: int | None, address: str, method: str, cost: float) -> None:
        """Count the rest of the cost of a request that was admitted."""
        meters = self._user_meters if user_id is not None else self._address_meters
        network, meter = self._network(address), meters[method in READ_METHODS]
        if network is not None and meter is not None:
            meter.charge(network if user_id is None else user_id, cost)

    def check_credentials(self, address: str, credentials: bytes) -> None:
        """Raise `RateLimited` if too many credentials from the address were not valid."""
        meter = self._failures
        network = self._network(address)
        if meter is None or network is None:
            return
        level = meter.level(network) + meter.interval
        if level > meter.limit and self._valid_credentials.get(hash(credentials)) is None:
            self._count_refusal(meter.name)
            raise RateLimited(meter, level)

    def record_credentials(self, address: str, credentials: bytes, *, is_valid: bool) -> None:
        """Remember whether credentials were valid."""
        if is_valid:
            key = hash(credentials)
            if self._valid_credentials.get(key) is None:
                self._valid_credentials.put(key, True)
            return
        self._valid_credentials.discard(hash(credentials))
        network = self._network(address)
        if self._failures is not None and network is not None:
            self._failures.charge(network, 1)

    def _find_network(self, address: str) -> str | None:
        return None if is_in_networks(address, self._exempt) else network_of(address)
