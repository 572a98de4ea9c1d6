"""The figures of an event that summaries add up: people affected, and what its appeals ask for and have received.

They are stored behind the facet words of an event, after a mark, and kept as columns in the index. Events that an
earlier release stored have no mark until they are rebuilt: summaries of them answer 503.
"""

from collections.abc import Iterable
from typing import NamedTuple

from fieldgate.events.model import Event

# The EVENT_FORMAT that introduced figures, or last changed them. When they change, choose another mark too.
FIGURES_SINCE = 2
FIGURES_MARK = "#"  # no facet word contains it
MAX_APPEALS = 2**16 - 1
MAX_CENTS = 2**53  # of one event, about 90 trillion francs; more is a mistake


class EventFigures(NamedTuple):
    """Zero where nothing is known; a facet says whether an event states how many people are affected."""

    num_affected: int = 0
    appeals: int = 0
    requested_cents: int = 0
    funded_cents: int = 0

    def plus(self, other: "EventFigures") -> "EventFigures":
        return EventFigures(self[0] + other[0], self[1] + other[1], self[2] + other[2], self[3] + other[3])

    def minus(self, other: "EventFigures") -> "EventFigures":
        return EventFigures(self[0] - other[0], self[1] - other[1], self[2] - other[2], self[3] - other[3])


NO_FIGURES = EventFigures()


def event_figures(event: Event) -> EventFigures:
    return EventFigures(
        event.num_affected or 0,
        min(len(event.appeals), MAX_APPEALS),
        _cents(appeal.amount_requested for appeal in event.appeals),
        _cents(appeal.amount_funded for appeal in event.appeals),
    )


def encode_figures(figures: EventFigures) -> str:
    """The figures as stored: a mark, and numbers separated by spaces, without zeros at the end."""
    numbers = list(figures)
    while numbers and not numbers[-1]:
        numbers.pop()
    return FIGURES_MARK + " ".join(map(str, numbers))


def split_stored(stored: str) -> tuple[list[str], EventFigures]:
    """The facet words and the figures of a stored text. The mark is one of the words."""
    words, mark, numbers = stored.partition(FIGURES_MARK)
    if not mark:
        return words.split(), NO_FIGURES
    return [*words.split(), mark], EventFigures(*map(int, numbers.split())) if numbers else NO_FIGURES


def _cents(amounts: Iterable[float]) -> int:
    """The sum of amounts, each rounded to the cent: sums of integers do not depend on their order."""
    return _rounded(sum(_rounded(amount * 100) for amount in amounts))


def _rounded(cents: float) -> int:
    return round(max(-MAX_CENTS, min(cents, MAX_CENTS)))
