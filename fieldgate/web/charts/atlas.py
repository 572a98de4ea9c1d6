"""The world map: one SVG file with the shape of every country, and where each country is on it.

Outlines come from the files of the package `countryinfo`. It has no outline of some countries, and bad ones of others.
Those are in `outlines.json`, drawn with the border points of their neighbours. An area belongs to the country that ISO
3166 counts it to. Kosovo, which ISO 3166 does not list, is land without a code: it is drawn, but never coloured.
"""

import asyncio
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from fieldgate.reference.positions import country_files, packaged_positions
from fieldgate.web.charts import projection
from fieldgate.web.charts.projection import (
    MAP_HEIGHT,
    MAP_WIDTH,
    Point,
    project,
    project_ring,
    project_unwrapped,
)

WORLD_ID = "world"  # in the SVG file, the group of all countries
NO_CODE = "none"  # land that belongs to no code
OMITTED = ("ATA",)  # Antarctica
_PLACES_PER_UNIT = 10  # coordinates have one decimal

Polygon = list[tuple[int, int]]  # in tenths of a unit
Ring = tuple[Point, ...]  # longitudes and latitudes
Outline = tuple[Ring, ...]


class _OwnOutlines(msgspec.Struct, frozen=True):
    outlines: Mapping[str, Outline]  # by ISO 3166-1 alpha-3 code
    # Between two points of the outline in the package: from the border with Ethiopia to the coast.
    north_of_somalia: Ring


_OWN_FILE = Path(__file__).parent / "outlines.json"
_own = msgspec.json.decode(_OWN_FILE.read_bytes(), type=_OwnOutlines)
OWN_OUTLINES = _own.outlines


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


@cache
def world_svg_digest() -> str:
    """What the contents of the file depend on, without making it: the package, the data and the code."""
    digest = hashlib.blake2b(version("countryinfo").encode(), digest_size=6)
    for path in (_OWN_FILE, Path(__file__), Path(projection.__file__)):
        digest.update(path.read_bytes())
    return digest.hexdigest()


@cache
def world_svg() -> bytes:
    """The SVG file. Shapes have no colour: they take it from the element that refers to them."""
    paths = {code: _path_data(outline) for code, outline in read_outlines() if outline}
    shapes = "".join(
        f'<path id="{code}" d="{data}" vector-effect="non-scaling-stroke"/>'
        for code, data in sorted(paths.items())
    )
    view_box = f"0 0 {MAP_WIDTH:g} {MAP_HEIGHT:.0f}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{view_box}"><g id="{WORLD_ID}">{shapes}</g></svg>'
    ).encode()


@cache
def world_places() -> Mapping[str, Place]:
    """The places of all countries by ISO 3166-1 alpha-3 code. The first call reads files."""
    places = {
        code: _outline_place(outline)
        for code, outline in read_outlines()
        if outline and code != NO_CODE
    }
    for code, position in packaged_positions().items():
        place = None if code in places or code in OMITTED else _point_place(*position)
        if place is not None:
            places[code] = place
    return places


async def load_places() -> Mapping[str, Place]:
    """The places, without blocking other requests while they are read."""
    if world_places.cache_info().currsize:
        return world_places()
    return await asyncio.to_thread(world_places)


def read_outlines() -> Iterator[tuple[str, Outline]]:
    """Read the code and the outline of all countries. A country can come twice: with an outline and without."""
    for path in country_files():
        country = msgspec.json.decode(path.read_bytes())
        code = country.get("ISO", {}).get("alpha3")
        if code and code not in OMITTED:
            outline = OWN_OUTLINES.get(code) or _to_outline(country.get("geoJSON") or {})
            yield code, _with_north(outline) if code == "SOM" else outline
    yield NO_CODE, OWN_OUTLINES[NO_CODE]


def _to_outline(geo: Mapping[str, Any]) -> Outline:
    rings: list[Ring] = []
    for feature in geo.get("features", ()):
        shape = feature["geometry"]
        polygons = (
            shape["coordinates"] if shape["type"] == "MultiPolygon" else [shape["coordinates"]]
        )
        rings += [tuple((x, y) for x, y, *_ in ring) for polygon in polygons for ring in polygon]
    return tuple(rings)


def _with_north(outline: Outline) -> Outline:
    """Replace the border between the two parts of Somalia by the border around its north."""

    def replace(ring: Ring) -> Ring:
        start, end = (
            _nearest(ring, point) for point in (_own.north_of_somalia[0], _own.north_of_somalia[-1])
        )
        return ring[:start] + _own.north_of_somalia + ring[end + 1 :] if start < end else ring

    return tuple(replace(ring) for ring in outline)


def _nearest(ring: Ring, point: Point) -> int:
    return min(
        range(len(ring)),
        key=lambda place: (ring[place][0] - point[0]) ** 2 + (ring[place][1] - point[1]) ** 2,
    )


def _outline_place(outline: Outline) -> Place:
    rings = [project_ring(ring) for ring in outline]
    points = [point for ring in rings for point in ring]
    centre = _centroid(max(rings, key=lambda ring: abs(_area(ring))))
    xs, ys = [x for x, _ in points], [y for _, y in points]
    return Place(min(xs), min(ys), max(xs), max(ys), centre, centre, True)


def _point_place(longitude: float, latitude: float) -> Place | None:
    x, y = project(longitude, latitude)
    if not 0 <= y <= MAP_HEIGHT:
        return None
    wrapped = project_unwrapped(longitude if longitude > -130 else longitude + 360, latitude)
    return Place(x, y, x, y, (x, y), wrapped, False)


def _area(ring: Iterable[Point]) -> float:
    points = list(ring)
    return (
        sum(
            x0 * y1 - x1 * y0
            for (x0, y0), (x1, y1) in zip(points, points[1:] + points[:1], strict=True)
        )
        / 2
    )


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
