"""Paths of cold works: all different, in an order in which no cached response helps."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from itertools import permutations
from operator import or_
from random import Random

from benchmarks.event_data import ListedEvent
from benchmarks.import_data import IMPORT_COUNT
from benchmarks.sharing_data import SHARED_ASSETS
from fieldgate.permissions.catalogue import PERMISSIONS as CATALOGUE

Walk = Callable[[Sequence[ListedEvent]], list[str]]

EVENTS = "/api/v2/event/"
SUMMARY = f"{EVENTS}summary/"
PERMISSIONS = "/api/v2/permissions/"
IMPORTS = "/api/v2/imports/"
ASSETS = "/api/v2/assets/"
ASSIGNMENTS = f"{ASSETS}{{uid}}/permission-assignments/"
FILTERED_PAGES = 10_000
COUNTRIES_PER_FILTER = 40
GOLDEN_RATIO = 0.6180339887  # as step size, it spreads any few steps evenly


def pages(limit: int, more: str = "") -> Walk:
    """Every full page of the list, at any offset."""
    return lambda events: [
        f"{EVENTS}?{more}limit={limit}&offset={offset}" for offset in spread_order(len(events) - limit + 1)
    ]


def filtered_pages(limit: int) -> Walk:
    """Full pages of lists filtered by different regions and countries."""
    return lambda events: _filtered(events, limit)


def summaries(_events: Sequence[ListedEvent]) -> list[str]:
    """The summary of all events. The parameter does nothing, but no response is cached for it."""
    return [f"{SUMMARY}?fresh={number}" for number in range(FILTERED_PAGES)]


def filtered_summaries(events: Sequence[ListedEvent]) -> list[str]:
    """Summaries of different regions and countries."""
    return [path.replace(EVENTS, SUMMARY).partition("&limit=")[0] for path in _filtered(events, limit=1)]


def import_pages(limit: int) -> Walk:
    """Every full page of the imports of one user."""
    return lambda _: [f"{IMPORTS}?limit={limit}&offset={offset}" for offset in spread_order(IMPORT_COUNT - limit + 1)]


def asset_pages(limit: int, count: int = SHARED_ASSETS) -> Walk:
    """Every full page of the assets that are shared with one user."""
    return lambda _: [f"{ASSETS}?limit={limit}&offset={offset}" for offset in spread_order(count - limit + 1)]


def single_events(events: Sequence[ListedEvent]) -> list[str]:
    """The detail of every event."""
    return [f"{EVENTS}{events[index].id}/" for index in spread_order(len(events))]


def effects(_events: Sequence[ListedEvent]) -> list[str]:
    """Each permission of a survey, for a user who holds five others, in any order."""
    held = [each.codename for each in CATALOGUE if each.codename not in ("discover_asset", "partial_submissions")]
    paths = [
        f"{PERMISSIONS}{codename}/effects/?held={','.join(some)}&asset_type=survey"
        for codename in (*held, "partial_submissions")
        for some in permutations([each for each in held if each != codename], 5)
    ]
    return [paths[index] for index in spread_order(len(paths))]


def spread_order(count: int) -> list[int]:
    """The numbers below `count`, each once, in big steps, so that a short walk is like a long one."""
    step = max(1, round(count * GOLDEN_RATIO))
    while math.gcd(step, count) != 1:
        step += 1
    return [number * step % count for number in range(count)]


def _filtered(events: Sequence[ListedEvent], limit: int) -> list[str]:
    random = Random(0)
    by_country = _bitsets([event.countries for event in events])
    by_region = _bitsets([event.regions for event in events])
    found: dict[str, None] = {}
    while len(found) < FILTERED_PAGES:
        regions = random.sample(sorted(by_region), random.randint(1, 3))
        countries = random.sample(sorted(by_country), COUNTRIES_PER_FILTER)
        matching = (_any_of(by_region, regions) & _any_of(by_country, countries)).bit_count()
        if matching >= limit:
            offset = random.randint(0, matching - limit)
            query = f"regions__in={_joined_ids(regions)}&countries__in={_joined_ids(countries)}"
            found[f"{EVENTS}?{query}&limit={limit}&offset={offset}"] = None
    return list(found)


def _bitsets(values: Sequence[frozenset[int]]) -> dict[int, int]:
    """For each value, which events bear it: one bit of a number for each event."""
    bearers: dict[int, int] = defaultdict(int)
    for place, some in enumerate(values):
        for value in some:
            bearers[value] |= 1 << place
    return bearers


def _any_of(bitsets: Mapping[int, int], values: Iterable[int]) -> int:
    return reduce(or_, (bitsets[value] for value in values))


def _joined_ids(ids: Iterable[int]) -> str:
    return ",".join(map(str, sorted(ids)))
