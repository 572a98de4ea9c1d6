"""Delays before a process is started again."""

from hypothesis import given
from hypothesis import strategies as st

from fieldgate.runtime.child_processes import MAX_DELAY_SECONDS, STABLE_SECONDS, RestartBackoff


def test_delays_of_a_process_that_ends_again_and_again() -> None:
    backoff = RestartBackoff()
    assert [backoff.next_delay(0.1) for _ in range(8)] == [0, 1, 2, 4, 8, 16, 30, 30]


def test_a_process_that_ran_for_long_is_started_at_once() -> None:
    backoff = RestartBackoff()
    for _ in range(4):
        backoff.next_delay(0.1)
    assert [backoff.next_delay(lived) for lived in (STABLE_SECONDS, 1, 1)] == [0, 1, 2]


@given(st.lists(st.floats(0, 1000)))
def test_delays_are_bounded(lives: list[float]) -> None:
    backoff = RestartBackoff()
    assert all(0 <= backoff.next_delay(lived) <= MAX_DELAY_SECONDS for lived in lives)
