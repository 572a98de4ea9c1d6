"""When connections are closed, and which ones if there are too many."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldgate.runtime.connection_guard.rules import (
    Activity,
    CloseReason,
    ConnectionLimits,
    Observation,
    Stage,
    TrackedConnection,
    choose_surplus,
)

LIMITS = ConnectionLimits(
    max_connections=20, max_per_address=5, header_timeout=10, idle_timeout=75, min_rate=1000, rate_window=30
)
NOTHING = Observation(0, 0, 0, False, Activity.NONE)


def seen(
    received: int = 0,
    sent: int = 0,
    *,
    acknowledged: int = 0,
    pending: bool = False,
    activity: Activity = Activity.NONE,
) -> Observation:
    return Observation(received, sent, acknowledged, pending, activity)


def closed_at(
    first: Observation, *later: tuple[float, Observation], limits: ConnectionLimits = LIMITS
) -> tuple[float, CloseReason] | None:
    """When and why a connection is closed: each observation lasts, second by second, until the next."""
    connection = TrackedConnection("a", first, 0, limits)
    current, position = first, 0
    for second in range(1, 400):
        while position < len(later) and later[position][0] <= second:
            current = later[position][1]
            position += 1
        reason = connection.update(current, second, limits)
        if reason:
            return second, reason
    return None


def test_silent_connection() -> None:
    assert closed_at(NOTHING) == (11, CloseReason.SILENT)


@pytest.mark.parametrize("begun", [0, 5, 9])
def test_headers_that_never_end(begun: int) -> None:
    dripped = [(begun + number, seen(received=number + 1)) for number in range(300)]
    assert closed_at(NOTHING, *dripped) == (11, CloseReason.HEADERS), "bytes do not extend the time"


def test_idle_connection() -> None:
    assert closed_at(NOTHING, (2, seen(100, 500))) == (78, CloseReason.IDLE)
    used = [(30.0 * number, seen(100 * number, 500 * number)) for number in range(1, 5)]
    assert closed_at(NOTHING, (1, seen(50, 250)), *used) == (196, CloseReason.IDLE), "each request begins a new time"


def test_headers_of_a_later_request() -> None:
    dripped = [(40.0 + number, seen(101 + number, 500)) for number in range(300)]
    assert closed_at(NOTHING, (2, seen(100, 500)), *dripped) == (51, CloseReason.HEADERS)


@pytest.mark.parametrize("activity", [Activity.HANDLING, Activity.WAITING])
def test_active_connections_are_never_idle(activity: Activity) -> None:
    assert closed_at(NOTHING, (2, seen(100, activity=activity))) is None


def test_idle_time_begins_after_the_request() -> None:
    handled = seen(100, activity=Activity.HANDLING)
    assert closed_at(NOTHING, (2, handled), (200, seen(100, 500))) == (276, CloseReason.IDLE)


def test_response_that_is_not_read() -> None:
    waiting = seen(100, 5000, acknowledged=1000, pending=True)
    assert closed_at(NOTHING, (2, waiting)) == (32, CloseReason.SLOW_READER)
    busy = seen(100, 5000, acknowledged=1000, pending=True, activity=Activity.HANDLING)
    assert closed_at(NOTHING, (2, busy)) == (32, CloseReason.SLOW_READER), "also while more of it is generated"
    without = ConnectionLimits(
        max_connections=9, max_per_address=9, header_timeout=10, idle_timeout=75, min_rate=0, rate_window=30
    )
    assert closed_at(NOTHING, (2, waiting), limits=without) is None


@pytest.mark.parametrize(("rate", "is_closed"), [(900, True), (1000, False), (2000, False)])
def test_response_that_is_read_slowly(rate: int, is_closed: bool) -> None:
    reading = [(2.0 + n, seen(100, 10**6, acknowledged=rate * n, pending=True)) for n in range(398)]
    assert (closed_at(NOTHING, *reading) is not None) == is_closed


def test_response_that_is_read_is_closed_after_silent_connections() -> None:
    reading = TrackedConnection("a", seen(100, 0, activity=Activity.HANDLING), 0, LIMITS)
    for second in range(1, 8):
        reading.update(seen(100, 10**6, acknowledged=5000 * second, pending=True), second, LIMITS)
    silent = [tracked("a", Stage.SILENT, 6) for _ in range(LIMITS.max_per_address)]
    assert reading not in [connection for connection, _ in choose_surplus([reading, *silent], LIMITS)]


def test_pause_of_a_reader_is_forgiven() -> None:
    fast = [(2.0 + n, seen(100, 10**6, acknowledged=5000 * n, pending=True)) for n in range(20)]
    again = [(45.0 + n, seen(100, 10**6, acknowledged=100_000 + 5000 * n, pending=True)) for n in range(355)]
    assert closed_at(NOTHING, *fast, *again) is None


def test_connections_without_requests_are_looked_at_less_often() -> None:
    connection = TrackedConnection("a", NOTHING, 0, LIMITS)
    assert connection.look_at == 5
    connection.update(seen(received=5), 5, LIMITS)
    assert (connection.stage, connection.look_at) == (Stage.HEADERS, 5)
    connection.update(seen(100, 500), 6, LIMITS)
    assert (connection.stage, connection.look_at) == (Stage.IDLE, 11)


observations = st.builds(
    lambda received, sent, acknowledged, pending, activity, pause: (
        (received, sent, acknowledged, pending, activity), pause,
    ),
    st.integers(0, 3000), st.integers(0, 3000), st.integers(0, 3000), st.booleans(), st.sampled_from(Activity),
    st.floats(0.1, 20),
)  # fmt: skip


@given(st.lists(observations, max_size=40))
def test_no_connection_is_closed_early_or_kept_for_ever(
    steps: list[tuple[tuple[int, int, int, bool, Activity], float]],
) -> None:
    """Whatever is observed: a reason holds, and who stops everything is closed in the end."""
    connection = TrackedConnection("a", NOTHING, 0, LIMITS)
    now, totals, last_active = 0.0, (0, 0, 0), 0.0
    for (received, sent, acknowledged, pending, activity), pause in steps:
        now += pause
        totals = (totals[0] + received, totals[1] + sent, totals[2] + acknowledged)
        reason = connection.update(Observation(*totals, pending, activity), now, LIMITS)
        if activity is not Activity.NONE:
            assert reason in (None, CloseReason.SLOW_READER)
            last_active = now
        if reason is CloseReason.IDLE:
            assert now - last_active > LIMITS.idle_timeout
        elif reason in (CloseReason.SILENT, CloseReason.HEADERS):
            assert now - last_active > LIMITS.header_timeout
        elif reason is CloseReason.SLOW_READER:
            assert pending
        if reason:
            return
    still = Observation(*totals, False, Activity.NONE)
    assert any(connection.update(still, now + second, LIMITS) for second in range(1, 80))


def tracked(network: str, stage: Stage, since: float = 0, *, is_exempt: bool = False) -> TrackedConnection:
    connection = TrackedConnection(network, NOTHING, since, LIMITS, is_exempt=is_exempt)
    connection.stage = stage
    return connection


def test_order_of_closing() -> None:
    group = [
        tracked("a", Stage.HANDLING, 0), tracked("a", Stage.WAITING, 1), tracked("a", Stage.HEADERS, 2),
        tracked("a", Stage.SILENT, 4), tracked("a", Stage.SILENT, 3), tracked("a", Stage.IDLE, 9),
        tracked("a", Stage.IDLE, 8), tracked("a", Stage.HANDLING, 5), tracked("b", Stage.IDLE, 0),
    ]  # fmt: skip
    chosen = choose_surplus(group, LIMITS)
    assert chosen == [(group[number], CloseReason.ADDRESS_SHARE) for number in (6, 5, 1)]


def test_trusted_proxies_have_no_share_but_count() -> None:
    proxied = [tracked("proxy", Stage.IDLE, number, is_exempt=True) for number in range(18)]
    others = [tracked(name, Stage.IDLE) for name in "abcdd"]
    assert choose_surplus(proxied, LIMITS) == []
    chosen = choose_surplus([*proxied, *others], LIMITS)
    assert [reason for _, reason in chosen] == [CloseReason.TOTAL] * 3
    assert chosen[0][0].network == "d", "from the address with the most"
    assert "proxy" not in {connection.network for connection, _ in chosen}
    proxied += [tracked("proxy", Stage.IDLE, 99, is_exempt=True) for _ in range(7)]
    chosen = choose_surplus([*proxied, tracked("a", Stage.HANDLING)], LIMITS)
    assert [connection for connection, _ in chosen] == proxied[:6], "from proxies last"


stages = st.sampled_from(Stage)
connections = st.lists(
    st.builds(
        lambda network, stage, since: tracked(network, stage, since, is_exempt=network == "proxy"),
        st.sampled_from(["a", "b", "c", "d", "e", "f", "proxy"]),
        stages,
        st.integers(0, 100),
    ),
    max_size=80,
)


@given(connections)
def test_surplus(group: list[TrackedConnection]) -> None:
    chosen = [connection for connection, _ in choose_surplus(group, LIMITS)]
    assert len({id(each) for each in chosen}) == len(chosen)
    assert all(each.stage is not Stage.HANDLING for each in chosen)
    left = [each for each in group if each not in chosen]
    closable = [each for each in left if each.stage is not Stage.HANDLING]
    assert len(left) <= LIMITS.max_connections or not closable
    shares = Counter(each.network for each in left if not each.is_exempt)
    for network, count in shares.items():
        assert count <= LIMITS.max_per_address or network not in {each.network for each in closable}
    surplus = sum(max(0, count - LIMITS.max_per_address) for count in Counter(
        each.network for each in group if not each.is_exempt
    ).values())  # fmt: skip
    assert len(chosen) <= max(surplus, 0) + max(0, len(group) - LIMITS.max_connections)
    for each in chosen:
        for kept in closable:
            if kept.network == each.network:
                is_later = each.stage is not Stage.IDLE, each.since
                assert is_later <= (kept.stage is not Stage.IDLE, kept.since), "a new connection has time"


def test_time_of_a_body_begins_once() -> None:
    connection = TrackedConnection("a", seen(100, activity=Activity.WAITING), 3, LIMITS)
    connection.update(seen(101, activity=Activity.WAITING), 8, LIMITS)
    assert (connection.stage, connection.since) == (Stage.WAITING, 3)


def test_closing_connections_do_not_count() -> None:
    group = [tracked("a", Stage.IDLE) for _ in range(8)]
    for connection in group[:3]:
        connection.is_closing = True
    assert choose_surplus(group, LIMITS) == []
