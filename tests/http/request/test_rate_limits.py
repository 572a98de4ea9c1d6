"""Rate limits: the rule with a clock of the test, keys, costs, fields, and several processes."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldgate.http.request.arrival_table import PROBES, ArrivalTable
from fieldgate.http.request.rate_limits import MAX_KNOWN_KEYS, RateLimited, RateLimiter, RateMeter
from fieldgate.i18n.languages import Language
from fieldgate.metrics.stale_folders import RATE_LIMITS_FILE
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


def make_meter(quota: RateQuota, clock: Clock, slots: int = 64, name: str = "reads") -> RateMeter:
    return RateMeter(name, quota, ArrivalTable(None, slots), clock)


def is_admitted(meter: RateMeter, key: object = "a", cost: float = 1.0) -> bool:
    return meter.take(key, cost) <= meter.limit


quotas = st.builds(RateQuota, st.integers(1, 50), st.integers(1, 120))
pauses = st.one_of(st.just(0.0), st.floats(0, 200), st.floats(0, 2))
costs = st.sampled_from([0.1, 1.0, 1.0, 3.0])


@given(quotas, st.lists(st.tuples(pauses, costs), max_size=80))
def test_never_more_than_quota_and_rate_by_time(quota: RateQuota, steps: list[tuple[float, float]]) -> None:
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


@given(quotas, st.lists(st.tuples(pauses, st.integers(0, 2)), max_size=60))
def test_keys_are_independent(quota: RateQuota, steps: list[tuple[float, int]]) -> None:
    """Each key gets what it would get alone."""
    clock = Clock()
    shared, alone = make_meter(quota, clock), [make_meter(quota, clock) for _ in range(3)]
    for pause, key in steps:
        clock.now += pause
        assert is_admitted(shared, key) == is_admitted(alone[key], key)


@given(quotas, st.lists(st.integers(0, 5), max_size=100))
def test_an_over_full_table_never_refuses_more(quota: RateQuota, keys: list[int]) -> None:
    """With more keys than slots, a key may be forgotten by other processes, but nobody pays for others."""
    clock = Clock()
    shared, alone = make_meter(quota, clock, slots=1), [make_meter(quota, clock) for _ in range(6)]
    for key in keys:
        assert is_admitted(shared, key) >= is_admitted(alone[key], key)


def test_the_whole_quota_is_there_at_once_and_again_after_the_window() -> None:
    clock = Clock()
    meter = make_meter(RateQuota(6000, 60), clock)
    for _ in range(2):
        assert [is_admitted(meter) for _ in range(6001)] == [True] * 6000 + [False]
        clock.now += 60


def test_cost_above_the_quota_uses_all_of_it() -> None:
    meter = make_meter(RateQuota(5, 60), Clock())
    assert is_admitted(meter, cost=20)
    assert not is_admitted(meter)


def test_later_charges_are_paid_back() -> None:
    clock = Clock()
    meter = make_meter(RateQuota(10, 10), clock)
    assert is_admitted(meter, cost=10)
    meter.charge("a", 5)
    clock.now += 5.5
    assert not is_admitted(meter)
    clock.now += 0.5
    assert is_admitted(meter)


def test_a_process_never_forgets_what_it_counted() -> None:
    """Another process can overwrite a later time with an earlier one; the own memory bounds what that costs."""
    clock = Clock()
    table = ArrivalTable(None, 64)
    meter = RateMeter("reads", RateQuota(3, 60), table, clock)
    admitted = 0
    for _ in range(20):
        admitted += is_admitted(meter)
        table.times[table.find(table.hash(b"reads 'a'"))] = 0.0
    assert admitted == 3


def test_memory_is_bounded() -> None:
    meter = make_meter(RateQuota(10, 60), Clock())
    for key in range(MAX_KNOWN_KEYS + 5):
        is_admitted(meter, key)
    assert len(meter._known) <= MAX_KNOWN_KEYS


# The table


def test_table_finds_what_was_stored_and_forgets_the_earliest() -> None:
    table = ArrivalTable(None, 16)
    for number in range(PROBES):
        table.times[table.claim(number * 16 + 3, START)] = START + number
    assert all(table.find(number * 16 + 3) >= 0 for number in range(PROBES))
    assert table.claim(1000 * 16 + 3, START) == 3
    assert table.find(3) < 0, "it had the earliest time"
    assert table.find(16 + 3) >= 0


def test_tables_of_a_folder_are_one(tmp_path: Path) -> None:
    first, second = ArrivalTable(tmp_path), ArrivalTable(tmp_path)
    assert first.hash(b"a") == second.hash(b"a")
    first.times[first.claim(7, START)] = START + 5
    assert second.times[second.find(7)] == START + 5
    assert [file.name for file in tmp_path.iterdir()] == [RATE_LIMITS_FILE]


def test_hashes_differ_between_servers() -> None:
    assert ArrivalTable(None, 16).hash(b"a") != ArrivalTable(None, 16).hash(b"a")


CONTENDER = """
import sys
from pathlib import Path
from fieldgate.http.request.arrival_table import ArrivalTable
from fieldgate.http.request.rate_limits import RateMeter
from fieldgate.metrics.stale_folders import RATE_LIMITS_FILE
from fieldgate.settings import RateQuota

meter = RateMeter("reads", RateQuota(int(sys.argv[2]), 60), ArrivalTable(Path(sys.argv[1])), lambda: 1000.0)
meter.take("other", 1.0)
print("ready", flush=True)
sys.stdin.readline()
print(sum(meter.take("same", 1.0) <= meter.limit for _ in range(2 * int(sys.argv[2]))))
"""


def admitted_by_processes(folder: Path, processes: int, quota: int) -> list[int]:
    """What each process admits for one key, while time stands still and all send as fast as they can."""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", CONTENDER, str(folder), str(quota)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(processes)
    ]
    for process in running:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in running:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    return [int(process.communicate()[0]) for process in running]


@pytest.mark.parametrize("processes", [2, 4])
def test_processes_share_a_quota(tmp_path: Path, processes: int) -> None:
    """However their steps interleave, N processes admit at least the quota and at most N times as much."""
    quota = 20_000
    admitted = admitted_by_processes(tmp_path, processes, quota)
    assert quota <= sum(admitted) <= processes * quota
    assert max(admitted) <= quota


def test_a_quota_that_one_process_used_is_used_in_another(tmp_path: Path) -> None:
    clock = Clock()
    first, second = (RateMeter("reads", RateQuota(100, 60), ArrivalTable(tmp_path), clock) for _ in range(2))
    admitted = [is_admitted(first if number % 2 else second) for number in range(150)]
    assert admitted == [True] * 100 + [False] * 50


# Who is counted


def make_limiter(clock: Clock, refusals: Refusals | None = None, **chosen: object) -> RateLimiter:
    quota = RateQuota(2, 60)
    rates = dict.fromkeys(("read_rate", "write_rate", "address_read_rate", "address_write_rate"), quota)
    settings = Settings(**{**rates, **chosen})  # type: ignore[arg-type]
    return RateLimiter(settings, ArrivalTable(None, 256), refusals if refusals is not None else Refusals(), clock)


ADDRESS = "203.0.113.7"


def count_admitted(limiter: RateLimiter, user: int | None, address: str = ADDRESS, method: str = "GET") -> int:
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
    assert [count_admitted(limiter, None, f"2001:db8::{number}") for number in range(3)] == [2, 0, 0]
    assert count_admitted(limiter, None, "2001:db8:0:1::1") == 2


def test_exempt_addresses_and_limits_that_are_off() -> None:
    assert count_admitted(make_limiter(Clock()), None, "127.0.0.1") == 5
    assert count_admitted(make_limiter(Clock()), 7, "::1") == 5
    assert count_admitted(make_limiter(Clock(), rate_limit_exempt=()), None, "127.0.0.1") == 2
    off = make_limiter(Clock(), read_rate=None, address_read_rate=None)
    assert (count_admitted(off, 1), count_admitted(off, None), count_admitted(off, 1, method="PUT")) == (5, 5, 2)


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


def test_fields_are_sent_when_less_than_half_is_left() -> None:
    clock = Clock()
    limiter = make_limiter(clock, address_read_rate=RateQuota(10, 60))
    sent = [limiter.admit(None, ADDRESS, "GET", 1.0) for _ in range(10)]
    assert sent[:5] == [()] * 5
    assert [dict(each)[b"ratelimit"] for each in sent[5:]] == [
        b'"address-reads";r=4;t=36',
        b'"address-reads";r=3;t=42',
        b'"address-reads";r=2;t=48',
        b'"address-reads";r=1;t=54',
        b'"address-reads";r=0;t=6',
    ]
    assert {dict(each)[b"ratelimit-policy"] for each in sent[5:]} == {b'"address-reads";q=10;w=60'}


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
