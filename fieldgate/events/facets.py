"""Facets: the values events are filtered by, stored as words and kept as bitmaps in the index.

This table is the only place that knows how facets are stored. To add one: add it here with `since` set to the next
`EVENT_FORMAT` (`derived.py`), bump that, and bind a filter to it in `search/filters.py`. Stored events get it by a
rebuild; until that has finished the filter answers 503.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from fieldgate.events.model import SOURCES, Event


class Facet(NamedTuple):
    """A property of events with few values. A value is stored as the word `code` + value, such as `c123`."""

    name: str
    code: str  # short: a million events store several words each
    values: Callable[[Event], Iterable[int | str]]
    since: int = 0  # the EVENT_FORMAT that introduced it, or last changed its values

    def word(self, value: int | str = "") -> str:
        """The stored word of a value; of a flag, which has no value, its code."""
        return f"{self.code}{value}"


def _flag(is_set: Callable[[Event], bool]) -> Callable[[Event], Iterable[str]]:
    return lambda event: ("",) if is_set(event) else ()


FACETS: dict[str, Facet] = {}


def register_facet(facet: Facet) -> Facet:
    """Add a facet to the table; names and codes are unique."""
    if facet.name in FACETS or any(facet.code == other.code for other in FACETS.values()):
        raise ValueError(f"facet {facet.name} ({facet.code}) is defined already")
    FACETS[facet.name] = facet
    return facet


VISIBILITY = register_facet(Facet("visibility", "v", lambda event: (int(event.visibility),)))
SEVERITY = register_facet(Facet("severity", "s", lambda event: (event.ifrc_severity_level,)))
COUNTRY = register_facet(Facet("country", "c", lambda event: sorted(set(event.countries))))
APPEAL_TYPE = register_facet(
    Facet("appeal_type", "a", lambda event: sorted({appeal.atype for appeal in event.appeals}))
)
DISASTER_TYPE = register_facet(Facet("disaster_type", "d", lambda event: () if event.dtype is None else (event.dtype,)))
FEATURED = register_facet(Facet("featured", "f", _flag(lambda event: event.is_featured)))
FEATURED_IN_REGION = register_facet(Facet("featured_in_region", "g", _flag(lambda event: event.is_featured_region)))
SOURCE = register_facet(
    Facet(
        "source",
        "o",
        lambda event: () if event.auto_generated_source is None else (source_value(event.auto_generated_source),),
    )
)
STATES_NUM_AFFECTED = register_facet(
    Facet("states_num_affected", "n", _flag(lambda event: event.num_affected is not None), since=2)
)


def source_value(source: str) -> int:
    """The value of `SOURCE` for a source."""
    return SOURCES.index(source)


def event_facets(event: Event) -> str:
    """The facet words of an event, separated by spaces, as stored."""
    return " ".join([facet.word(value) for facet in FACETS.values() for value in facet.values(event)])
