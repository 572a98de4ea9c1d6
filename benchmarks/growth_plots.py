"""Plots of costs by size, and requests whose costs are plotted."""

import statistics
import time
from collections.abc import Callable
from itertools import count

import msgspec

from benchmarks.page_client import PageClient

POINT_TIMEOUT_SECONDS = 5.0  # after that, a point has fewer requests
MIN_REQUESTS = 10  # of a point, however long they take

PathFactory = Callable[[int], str]  # the path of the n-th request


class Line(msgspec.Struct, frozen=True):
    """Costs by size, as pairs of size and cost."""

    name: str
    points: list[tuple[float, float]]


class Plot(msgspec.Struct, frozen=True):
    name: str  # of the file
    title: str
    across: str
    up: str
    lines: list[Line]


def measure_interleaved(
    requested: dict[int, tuple[PageClient, PathFactory]], requests: int
) -> list[tuple[float, float]]:
    """Median milliseconds of each kind, measured in turn so that disturbances affect all of them."""
    taken: dict[int, list[float]] = {each: [] for each in requested}
    deadline = time.monotonic() + POINT_TIMEOUT_SECONDS * len(requested)
    for number in count():
        if number >= requests or (number >= MIN_REQUESTS and time.monotonic() > deadline):
            break
        for each, (client, path) in requested.items():
            client.get(path(number))
            taken[each].append(client.last_seconds * 1000)
    return [(float(each), statistics.median(seconds)) for each, seconds in taken.items()]
