"""Requests that are each another one: what cold work asks for, in an order that leaves no kept answer to help."""

import math
from collections.abc import Callable, Sequence
from random import Random

from benchmarks.event_data import Listed

Walk = Callable[[Sequence[Listed]], list[str]]

EVENTS = "/api/v2/event/"
FILTERED = 6000  # pages of a filtered walk
GOLDEN = 0.6180339887  # of the way round, as one step: any few steps in a row are spread evenly


def pages(limit: int, more: str = "") -> Walk:
    """Every full page of the list, beginning at any of its events."""
    return lambda events: [
        f"{EVENTS}?{more}limit={limit}&offset={offset}" for offset in spread(len(events) - limit + 1)
    ]


def filtered_pages(limit: int) -> Walk:
    """Full pages of lists narrowed by regions and countries, each by another choice of them."""
    return lambda events: _filtered(events, limit)


def single_events(events: Sequence[Listed]) -> list[str]:
    """Every event alone."""
    return [f"{EVENTS}{events[place].id}/" for place in spread(len(events))]


def spread(count: int) -> list[int]:
    """The numbers below `count`, each once, in big steps: a short walk is like a long one."""
    step = max(1, round(count * GOLDEN))
    while math.gcd(step, count) != 1:
        step += 1
    return [number * step % count for number in range(count)]


def _filtered(events: Sequence[Listed], limit: int) -> list[str]:
    random = Random(0)
    countries = sorted(frozenset().union(*(event.countries for event in events)))
    regions = sorted(frozenset().union(*(event.regions for event in events)))
    found: dict[str, None] = {}
    while len(found) < FILTERED:
        some_regions = set(random.sample(regions, random.randint(1, 3)))
        some_countries = set(random.sample(countries, 40))
        matching = sum(
            not (event.regions.isdisjoint(some_regions) or event.countries.isdisjoint(some_countries))
            for event in events
        )
        if matching >= limit:
            offset = random.randint(0, matching - limit)
            query = f"regions__in={_listed(some_regions)}&countries__in={_listed(some_countries)}"
            found[f"{EVENTS}?{query}&limit={limit}&offset={offset}"] = None
    return list(found)


def _listed(numbers: set[int]) -> str:
    return ",".join(map(str, sorted(numbers)))
