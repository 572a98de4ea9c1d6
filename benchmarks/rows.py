"""The rows of the table: what is measured, and its target."""

import json
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import Any, Literal

from benchmarks.data import BULK_FORM, CALLER, OWNER, SHARED_FORM, Sizes, assignment, import_request
from benchmarks.measure import Figure, Load
from benchmarks.requests import (
    ASSETS,
    ASSIGNMENTS,
    EVENTS,
    IMPORTS,
    PERMISSIONS,
    Request,
    post_json,
    send,
)
from benchmarks.servers import Server

PAGE_SIZE = 50
FILTERS = 3000
COUNTRIES_PER_FILTER = 40
# In an order in which each assignment adds a permission.
GRANTED = (
    "view_asset", "add_submissions", "change_asset", "view_submissions", "validate_submissions", "delete_submissions",
    "change_submissions", "manage_asset",
)  # fmt: skip


@dataclass(frozen=True)
class Target:
    """A limit of our figure itself, or of its ratio to that of another server."""

    compared: Literal["ours", "peer", "floor", "baseline"]
    limit: float
    is_most: bool = False


@dataclass(frozen=True)
class Row:
    """A request under load, in requests per second, or something else that has a figure."""

    name: str
    target: Target
    work: Request | Figure
    has_peer: bool = True
    unit: str = "/s"

    def figure_of(self, seconds: int, core: int) -> Figure:
        if not isinstance(self.work, Request):
            return self.work
        load = Load(self.work, seconds, core)
        return lambda server: load(server).rate


def rows_of(sizes: Sizes, events: Sequence[Mapping[str, Any]]) -> list[Row]:
    """All rows that compare servers. In a cold one each request has another path."""
    event_pages = pages(f"{EVENTS}?", len(events))
    cold_events = Request(lines=event_pages, connections=8)
    filtered = Request(lines=filtered_pages(events), connections=8)
    one_event = Request(lines=[f"{EVENTS}{event['id']}/" for event in shuffled(events)])
    csv_pages = Request(
        lines=[f"{path}&format=csv" for path in event_pages], accept="text/csv", connections=8
    )
    cold_imports = Request(lines=pages(f"{IMPORTS}?", sizes.imports), caller=CALLER, connections=8)
    assets = Request(lines=pages(f"{ASSETS}?", sizes.assets), caller=CALLER, connections=8)
    grants = [
        assignment(f"member{number}", each) for each in GRANTED for number in range(sizes.members)
    ]
    post_assignment = replace(
        post_json(ASSIGNMENTS.format(SHARED_FORM), {}, OWNER),
        lines=list(map(json.dumps, grants)),
        connections=8,
    )
    bulk = partial(bulk_milliseconds, sizes.bulk)
    export = partial(export_rate, len(events))
    return [
        Row("permission list", Target("floor", 0.4), Request(path=PERMISSIONS)),
        Row(
            "permission list with a token",
            Target("floor", 0.25),
            Request(path=PERMISSIONS, caller=CALLER),
        ),
        Row("50 events, warm", Target("floor", 0.33), Request(path=EVENTS)),
        Row("50 events, cold", Target("floor", 0.12), cold_events),
        Row("50 events, filtered, cold", Target("floor", 0.09), filtered),
        Row("one event, cold", Target("floor", 0.06), one_event, has_peer=False),
        Row("50 events as CSV, cold", Target("floor", 0.08), csv_pages, has_peer=False),
        Row("imports list, warm", Target("floor", 0.2), Request(path=IMPORTS, caller=CALLER)),
        Row("imports list, cold", Target("floor", 0.05), cold_imports),
        Row(
            f"50 of {sizes.assets:,} shared assets, cold",
            Target("baseline", 1 / 5),
            assets,
            has_peer=False,
        ),
        Row("POST an import", Target("peer", 2), import_request(CALLER)),
        Row("POST an assignment", Target("peer", 2.5), post_assignment),
        Row(f"bulk of {sizes.bulk:,} users", Target("baseline", 3, is_most=True), bulk, unit="ms"),
        Row("export as CSV", Target("baseline", 1 / 3), partial(export, "csv"), unit="events/s"),
        Row("export as XLSX", Target("baseline", 1 / 4), partial(export, "xlsx"), unit="events/s"),
    ]


def pages(path: str, count: int) -> list[str]:
    """Every full page of a list, at any offset, in a random order."""
    return [
        f"{path}limit={PAGE_SIZE}&offset={offset}"
        for offset in shuffled(range(count - PAGE_SIZE + 1))
    ]


def shuffled(values: Sequence[Any]) -> list[Any]:
    """The same random order each time, so that a short walk is like a long one."""
    return Random(0).sample(values, len(values))


def filtered_pages(events: Sequence[Mapping[str, Any]]) -> list[str]:
    """Full pages of lists of different regions and countries."""
    random = Random(0)
    by_region, by_country = defaultdict(set), defaultdict(set)
    for place, event in enumerate(events):
        for country in event["countries"]:
            by_country[country["id"]].add(place)
            if country["region"] is not None:
                by_region[country["region"]].add(place)
    found: dict[str, None] = {}
    while len(found) < FILTERS:
        regions = random.sample(sorted(by_region), random.randint(1, 3))
        countries = random.sample(sorted(by_country), COUNTRIES_PER_FILTER)
        in_countries = set().union(*(by_country[each] for each in countries))
        matching = len(in_countries & set().union(*(by_region[each] for each in regions)))
        if matching >= PAGE_SIZE:
            offset = random.randint(0, matching - PAGE_SIZE)
            query = f"regions__in={','.join(map(str, regions))}&countries__in={','.join(map(str, countries))}"
            found[f"{EVENTS}?{query}&limit={PAGE_SIZE}&offset={offset}"] = None
    return list(found)


def bulk_milliseconds(users: int, server: Server) -> float:
    """The time to change the permissions of many users: mean of a request that adds one, and one that removes it."""
    started_at = time.perf_counter()
    for permission in ("change_asset", "view_asset"):
        wanted = [assignment(f"member{number}", permission) for number in range(users)]
        send(post_json(f"{ASSIGNMENTS.format(BULK_FORM)}bulk/", wanted, OWNER), server)
    return (time.perf_counter() - started_at) * 1000 / 2


def export_rate(events: int, file_format: str, server: Server) -> float:
    """Events per second of an export."""
    started_at = time.perf_counter()
    send(Request(path=f"{EVENTS}export/?format={file_format}", accept="*/*"), server)
    return events / (time.perf_counter() - started_at)
