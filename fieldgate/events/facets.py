"""What the index knows of an event: facets, which lists are filtered by, and figures, which summaries add up.

A facet value is stored as a word and kept as a bitmap in the index. Figures are kept as columns. To add a facet: add it
here, raise `EVENT_FORMAT`, and add a filter that uses it to `search/filters.py`.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from fieldgate.events.model import SOURCES, Event

# The format of all that is derived from stored events: facets, figures, documents and search texts. Raise it with every
# change of those: `fieldgate migrate` then writes them again.
EVENT_FORMAT = 6

MAX_APPEALS = 2**16 - 1
MAX_CENTS = 2**53  # of one event, about 90 trillion francs; more is a mistake


class Facet(NamedTuple):
    """A property of events with few values. A value is stored as the word `code` + value, such as `c123`."""

    code: str  # unique, and short: a million events store several words each
    values: Callable[[Event], Iterable[int | str]]

    def word(self, value: int | str = "") -> str:
        """The stored word of a value; of a flag, which has no value, its code."""
        return f"{self.code}{value}"


def _flag(is_set: Callable[[Event], bool]) -> Callable[[Event], Iterable[str]]:
    return lambda event: ("",) if is_set(event) else ()


VISIBILITY = Facet("v", lambda event: (int(event.visibility),))
SEVERITY = Facet("s", lambda event: (event.ifrc_severity_level,))
COUNTRY = Facet("c", lambda event: sorted(set(event.countries)))
APPEAL_TYPE = Facet("a", lambda event: sorted({appeal.atype for appeal in event.appeals}))
DISASTER_TYPE = Facet("d", lambda event: () if event.dtype is None else (event.dtype,))
FEATURED = Facet("f", _flag(lambda event: event.is_featured))
FEATURED_IN_REGION = Facet("g", _flag(lambda event: event.is_featured_region))
SOURCE = Facet(
    "o",
    lambda event: (
        () if event.auto_generated_source is None else (source_value(event.auto_generated_source),)
    ),
)
STATES_NUM_AFFECTED = Facet("n", _flag(lambda event: event.num_affected is not None))
# Stored in this order.
FACETS = (
    VISIBILITY,
    SEVERITY,
    COUNTRY,
    APPEAL_TYPE,
    DISASTER_TYPE,
    FEATURED,
    FEATURED_IN_REGION,
    SOURCE,
    STATES_NUM_AFFECTED,
)


def source_value(source: str) -> int:
    """The value of `SOURCE` for a source."""
    return SOURCES.index(source)


def event_facets(event: Event) -> str:
    """The facet words of an event, separated by spaces, as stored."""
    return " ".join([facet.word(value) for facet in FACETS for value in facet.values(event)])


class EventFigures(NamedTuple):
    """Zero where nothing is known; a facet says whether an event states how many people are affected."""

    num_affected: int = 0
    appeals: int = 0
    requested_cents: int = 0
    funded_cents: int = 0


NO_FIGURES = EventFigures()


def event_figures(event: Event) -> EventFigures:
    return EventFigures(
        event.num_affected or 0,
        min(len(event.appeals), MAX_APPEALS),
        _cents(appeal.amount_requested for appeal in event.appeals),
        _cents(appeal.amount_funded for appeal in event.appeals),
    )


def _cents(amounts: Iterable[float]) -> int:
    """The sum of amounts, each rounded to the cent: sums of integers do not depend on their order."""
    return _rounded(sum(_rounded(amount * 100) for amount in amounts))


def _rounded(cents: float) -> int:
    return round(max(-MAX_CENTS, min(cents, MAX_CENTS)))
