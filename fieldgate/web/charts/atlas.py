"""The world map: one SVG file with the shape of every country, and where each country is on it."""

import asyncio
import hashlib
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path

import msgspec

from fieldgate.web.charts import outlines, projection
from fieldgate.web.charts.outlines import NO_CODE, Outline, Territory, read_territories
from fieldgate.web.charts.projection import MAP_HEIGHT, MAP_WIDTH, Point, project, project_ring, project_unwrapped

WORLD_ID = "world"  # in the SVG file, the group of all countries
_PLACES_PER_UNIT = 10  # coordinates have one decimal

Polygon = list[tuple[int, int]]  # in tenths of a unit


class Place(msgspec.Struct, frozen=True):
    """Where a country is on the map. One without an outline is a point."""

    left: float
    top: float
    right: float
    bottom: float
    centre: Point  # of its largest part
    wrapped_centre: Point  # on a map that continues to the east, so that the islands of the Pacific are together
    has_outline: bool

    @property
    def size(self) -> float:
        return max(self.right - self.left, self.bottom - self.top)


class WorldAtlas(msgspec.Struct, frozen=True):
    """The places of countries by ISO 3166-1 alpha-3 code."""

    places: Mapping[str, Place]


@cache
def world_svg_digest() -> str:
    """What the contents of the file depend on, without making it: the package, and the code."""
    digest = hashlib.blake2b(outlines.package_version().encode(), digest_size=6)
    for module in (__file__, outlines.__file__, projection.__file__):
        digest.update(Path(module).read_bytes())
    return digest.hexdigest()


@cache
def world_svg() -> bytes:
    """The SVG file. Shapes have no colour: they take it from the element that refers to them."""
    paths = {territory.iso3: _path_data(territory.outline) for territory in read_territories() if territory.outline}
    shapes = "".join(
        f'<path id="{code}" d="{data}" vector-effect="non-scaling-stroke"/>' for code, data in sorted(paths.items())
    )
    view_box = f"0 0 {MAP_WIDTH:g} {MAP_HEIGHT:.0f}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{view_box}"><g id="{WORLD_ID}">{shapes}</g></svg>'
    ).encode()


@cache
def world_atlas() -> WorldAtlas:
    """Read the places of all countries. The first call reads files."""
    places: dict[str, Place] = {}
    for territory in read_territories():
        place = _find_place(territory)
        known = places.get(territory.iso3)
        if place is not None and territory.iso3 != NO_CODE and (known is None or not known.has_outline):
            places[territory.iso3] = place
    return WorldAtlas(places)


async def load_atlas() -> WorldAtlas:
    """The atlas, without blocking other requests while it is read."""
    if world_atlas.cache_info().currsize:
        return world_atlas()
    return await asyncio.to_thread(world_atlas)


def _find_place(territory: Territory) -> Place | None:
    if territory.outline:
        rings = [project_ring(ring) for ring in territory.outline]
        points = [point for ring in rings for point in ring]
        centre = _centroid(max(rings, key=lambda ring: abs(_area(ring))))
        xs, ys = [x for x, _ in points], [y for _, y in points]
        return Place(min(xs), min(ys), max(xs), max(ys), centre, centre, True)
    if territory.point is None:
        return None
    longitude, latitude = territory.point
    x, y = project(longitude, latitude)
    if not 0 <= y <= MAP_HEIGHT:
        return None
    wrapped = project_unwrapped(longitude if longitude > -130 else longitude + 360, latitude)
    return Place(x, y, x, y, (x, y), wrapped, False)


def _area(ring: Iterable[Point]) -> float:
    points = list(ring)
    return sum(x0 * y1 - x1 * y0 for (x0, y0), (x1, y1) in zip(points, points[1:] + points[:1], strict=True)) / 2


def _centroid(ring: list[Point]) -> Point:
    area = _area(ring)
    if not area:
        return ring[0]
    x = y = 0.0
    for (x0, y0), (x1, y1) in zip(ring, ring[1:] + ring[:1], strict=True):
        cross = x0 * y1 - x1 * y0
        x += (x0 + x1) * cross
        y += (y0 + y1) * cross
    return x / (6 * area), y / (6 * area)


def _path_data(outline: Outline) -> str:
    """The outline as SVG path data, with relative coordinates."""
    pieces = []
    for ring in outline:
        points: Polygon = []
        for x, y in project_ring(ring):
            rounded = round(x * _PLACES_PER_UNIT), round(y * _PLACES_PER_UNIT)
            if not points or points[-1] != rounded:
                points.append(rounded)
        if len(points) > 1 and points[0] == points[-1]:
            points.pop()
        if len(points) >= 3:
            pieces.append(_ring_data(points))
    return "".join(pieces)


def _ring_data(points: Polygon) -> str:
    start_x, start_y = points[0]
    steps = [(x1 - x0, y1 - y0) for (x0, y0), (x1, y1) in pairwise(points)]
    return f"M{_number(start_x)} {_number(start_y)}l{' '.join(f'{_number(x)} {_number(y)}' for x, y in steps)}z"


def _number(tenths: int) -> str:
    text = f"{tenths / _PLACES_PER_UNIT:g}"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text
