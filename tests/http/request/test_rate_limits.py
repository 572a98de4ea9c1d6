"""Rate limits: the rule with a clock of the test, keys, costs and fields."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldgate.http.request.rate_limits import MAX_KEYS, RateLimited, RateLimiter, RateMeter
from fieldgate.i18n.languages import Language
from fieldgate.settings import RateQuota, Settings

START = 1_000_000.0  # a machine that has been up for eleven days


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> float:
        return self.now


class Refusals(Counter[str]):
    def count_refusal(self, policy: str) -> None:
        self[policy] += 1


def make_meter(quota: RateQuota, clock: Clock, name: str = "reads") -> RateMeter:
    return RateMeter(name, quota, clock)


def is_admitted(meter: RateMeter, key: object = "a", cost: float = 1.0) -> bool:
    return meter.take(key, cost) <= meter.limit


quotas = st.builds(RateQuota, st.integers(1, 50), st.integers(1, 120))
pauses = st.one_of(st.just(0.0), st.floats(0, 200), st.floats(0, 2))
costs = st.sampled_from([0.1, 1.0, 1.0, 3.0])


@given(quotas, st.lists(st.tuples(pauses, costs), max_size=80))
def test_never_more_than_quota_and_rate_by_time(
    quota: RateQuota, steps: list[tuple[float, float]]
) -> None:
    clock = Clock()
    meter = make_meter(quota, clock)
    admitted: list[tuple[float, float]] = []
    for pause, cost in steps:
        clock.now += pause
        if is_admitted(meter, cost=cost):
            admitted.append((clock.now, min(cost, quota.requests)))
    for first, (begin, _) in enumerate(admitted):
        used = 0.0
        for now, cost in admitted[first:]:
            used += cost
            assert used <= quota.requests + (now - begin) * quota.requests / quota.seconds + 0.01


@given(quotas, st.lists(st.floats(0, 100), max_size=80))
def test_a_caller_below_the_rate_is_never_refused(quota: RateQuota, extra: list[float]) -> None:
    clock = Clock()
    meter = make_meter(quota, clock)
    for pause in extra:
        assert is_admitted(meter)
        assert meter.level("a") <= meter.interval * 1.001, "no debt is left over"
        clock.now += meter.interval + pause


def test_later_charges_are_paid_back() -> None:
    clock = Clock()
    meter = make_meter(RateQuota(10, 10), clock)
    assert is_admitted(meter, cost=10)
    meter.charge("a", 5)
    clock.now += 5.5
    assert not is_admitted(meter)
    clock.now += 0.5
    assert is_admitted(meter)


def test_memory_is_bounded_and_those_who_used_least_are_forgotten() -> None:
    meter = make_meter(RateQuota(2, 60), Clock())
    for _ in range(2):
        assert is_admitted(meter, "many")
    for key in range(2 * MAX_KEYS):
        is_admitted(meter, key)
    assert len(meter._times) <= MAX_KEYS
    assert not is_admitted(meter, "many")


# Who is counted


def make_limiter(clock: Clock, refusals: Refusals | None = None, **chosen: object) -> RateLimiter:
    quota = RateQuota(2, 60)
    rates = dict.fromkeys(
        ("read_rate", "write_rate", "address_read_rate", "address_write_rate"), quota
    )
    settings = Settings(**{**rates, **chosen})  # type: ignore[arg-type]
    return RateLimiter(
        settings, (refusals if refusals is not None else Refusals()).count_refusal, clock
    )


ADDRESS = "203.0.113.7"


def count_admitted(
    limiter: RateLimiter, user: int | None, address: str = ADDRESS, method: str = "GET"
) -> int:
    admitted = 0
    for _ in range(5):
        try:
            limiter.admit(user, address, method, 1.0)
            admitted += 1
        except RateLimited:
            pass
    return admitted


def test_users_addresses_reads_and_writes_are_counted_separately() -> None:
    limiter = make_limiter(Clock())
    for user, address in ((None, ADDRESS), (1, ADDRESS), (2, ADDRESS), (None, "203.0.113.8")):
        for method in ("GET", "POST"):
            assert count_admitted(limiter, user, address, method) == 2
    assert count_admitted(limiter, 1, "203.0.113.99") == 0, "a user has one quota everywhere"
    assert count_admitted(limiter, None, ADDRESS, "HEAD") == 0
    assert count_admitted(limiter, None, ADDRESS, "DELETE") == 0


def test_an_ipv6_network_is_one_client() -> None:
    limiter = make_limiter(Clock())
    assert [count_admitted(limiter, None, f"2001:db8::{number}") for number in range(3)] == [
        2,
        0,
        0,
    ]
    assert count_admitted(limiter, None, "2001:db8:0:1::1") == 2


def test_exempt_addresses_and_limits_that_are_off() -> None:
    assert count_admitted(make_limiter(Clock()), None, "127.0.0.1") == 5
    assert count_admitted(make_limiter(Clock()), 7, "::1") == 5
    assert count_admitted(make_limiter(Clock(), rate_limit_exempt=()), None, "127.0.0.1") == 2
    off = make_limiter(Clock(), read_rate=None, address_read_rate=None)
    assert (
        count_admitted(off, 1),
        count_admitted(off, None),
        count_admitted(off, 1, method="PUT"),
    ) == (5, 5, 2)


def test_invalid_credentials_are_counted_by_address_and_valid_ones_stay_usable() -> None:
    clock, refusals = Clock(), Refusals()
    limiter = make_limiter(clock, refusals)
    limiter.check_credentials(ADDRESS, b"Token good")
    limiter.record_credentials(ADDRESS, b"Token good", is_valid=True)
    for _ in range(2):
        limiter.check_credentials(ADDRESS, b"Token bad")
        limiter.record_credentials(ADDRESS, b"Token bad", is_valid=False)
    with pytest.raises(RateLimited):
        limiter.check_credentials(ADDRESS, b"Token bad")
    with pytest.raises(RateLimited):
        limiter.check_credentials(ADDRESS, b"Token new")
    limiter.check_credentials(ADDRESS, b"Token good")
    limiter.check_credentials("203.0.113.8", b"Token new")
    assert refusals == {"failed-logins": 2}
    clock.now += 31
    limiter.check_credentials(ADDRESS, b"Token new")


# What is said


def test_every_response_says_what_is_left() -> None:
    limiter = make_limiter(Clock(), address_read_rate=RateQuota(3, 60))
    sent = [dict(limiter.admit(None, ADDRESS, "GET", 1.0)) for _ in range(3)]
    assert [each[b"ratelimit"] for each in sent] == [
        b'"address-reads";r=2;t=20',
        b'"address-reads";r=1;t=40',
        b'"address-reads";r=0;t=20',
    ]
    assert {each[b"ratelimit-policy"] for each in sent} == {b'"address-reads";q=3;w=60'}


@given(quotas, costs)
def test_after_waiting_as_told_a_request_is_admitted(quota: RateQuota, cost: float) -> None:
    clock, refusals = Clock(), Refusals()
    limiter = make_limiter(clock, refusals, read_rate=quota)
    with pytest.raises(RateLimited) as raised:
        for _ in range(1000):
            limiter.admit(1, ADDRESS, "GET", cost)
    headers = dict(raised.value.headers)
    seconds = int(headers[b"retry-after"])
    assert headers[b"ratelimit"] == f'"reads";r=0;t={seconds}'.encode()
    assert str(seconds) in str(raised.value.body(Language.FRENCH)["detail"])
    clock.now += seconds
    limiter.admit(1, ADDRESS, "GET", cost)
    assert refusals == {"reads": 1}
