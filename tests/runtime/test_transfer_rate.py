"""A minimum rate that forgives pauses."""

from hypothesis import given
from hypothesis import strategies as st

from fieldgate.runtime.transfer_rate import TransferCredit

waits = st.lists(st.tuples(st.floats(0.001, 5), st.floats(1, 50)))


@given(waits)
def test_who_reaches_the_rate_is_never_too_slow(waits: list[tuple[float, float]]) -> None:
    credit = TransferCredit(1024, 30)
    assert not any(credit.spend(seconds, int(1024 * factor * seconds) + 1) for seconds, factor in waits)


def test_who_stalls_is_too_slow_in_time() -> None:
    credit = TransferCredit(1024, 30)
    credit.spend(1, 10**9)
    assert [credit.spend(5, 1) for _ in range(7)].index(True) == 6, "earlier bytes do not count for more than the time"


def test_no_limit() -> None:
    credit = TransferCredit(0, 30)
    assert not credit.spend(10**9, 0)
    assert not credit.is_limited
