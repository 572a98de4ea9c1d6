"""The figures of an event, as they are stored."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldgate.events.figures import (
    MAX_APPEALS,
    MAX_CENTS,
    NO_FIGURES,
    EventFigures,
    encode_figures,
    event_figures,
    split_stored,
)
from fieldgate.events.model import Appeal, Event
from tests.events.event_service import make_event

cents = st.integers(-MAX_CENTS, MAX_CENTS)


def event_with(*amounts: float, num_affected: int | None = None) -> Event:
    appeals = [Appeal(id=1, aid="1", atype=0, status=0, amount_requested=each, amount_funded=-each) for each in amounts]
    return make_event(1, num_affected=num_affected, appeals=tuple(appeals))


@given(st.builds(EventFigures, st.integers(0, 2**53), st.integers(0, MAX_APPEALS), cents, cents))
def test_stored_figures_are_read(figures: EventFigures) -> None:
    assert split_stored(f"v3 c12 {encode_figures(figures)}") == (["v3", "c12", "#"], figures)


def test_event_of_an_earlier_release_has_no_mark() -> None:
    assert split_stored("v3 c12") == (["v3", "c12"], NO_FIGURES)
    assert encode_figures(NO_FIGURES) == "#"


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (event_with(), EventFigures()),
        (event_with(num_affected=7), EventFigures(7)),
        (event_with(0.1, 0.2, num_affected=0), EventFigures(0, 2, 30, -30)),
        (event_with(1e308, 1e308), EventFigures(0, 2, MAX_CENTS, -MAX_CENTS)),
    ],
)
def test_figures_of_an_event(event: Event, expected: EventFigures) -> None:
    assert event_figures(event) == expected


def test_figures_fit_the_columns_of_the_index() -> None:
    appeals = event_with(*[1e308] * (MAX_APPEALS + 1)).appeals
    figures = event_figures(event_with(*[appeal.amount_requested for appeal in appeals]))
    assert figures == EventFigures(0, MAX_APPEALS, MAX_CENTS, -MAX_CENTS)
