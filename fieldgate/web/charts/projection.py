"""The Equal Earth projection: areas keep their proportions, and the shape of continents is familiar.

Bojan Šavrič, Tom Patterson and Bernhard Jenny: The Equal Earth map projection (2018).
"""

from collections.abc import Sequence
from math import asin, cos, radians, sin, sqrt

MAP_WIDTH = 1000.0
# The map is cut in the Bering Strait, not at 180°: that would split Russia and Fiji.
CENTRAL_MERIDIAN = 11.0
WEST_EDGE = CENTRAL_MERIDIAN - 180
NORTH_EDGE, SOUTH_EDGE = (
    84.0,
    -57.0,
)  # Antarctica is left out: it has no emergencies and takes a fifth of the height

_A1, _A2, _A3, _A4 = 1.340264, -0.081106, 0.000893, 0.003796
_M = sqrt(3) / 2

Point = tuple[float, float]


def _equal_earth(longitude: float, latitude: float) -> Point:
    """Project degrees to the plane. The centre is 0, 0; y grows to the north."""
    theta = asin(_M * sin(radians(latitude)))
    square = theta * theta
    sixth = square**3
    x = (
        radians(longitude)
        * cos(theta)
        / (_M * (_A1 + 3 * _A2 * square + sixth * (7 * _A3 + 9 * _A4 * square)))
    )
    y = theta * (_A1 + _A2 * square + sixth * (_A3 + _A4 * square))
    return x, y


_SCALE = MAP_WIDTH / (2 * _equal_earth(180, 0)[0])
_TOP = _equal_earth(0, NORTH_EDGE)[1]
MAP_HEIGHT = (_TOP - _equal_earth(0, SOUTH_EDGE)[1]) * _SCALE


def project(longitude: float, latitude: float) -> Point:
    """Return x and y on the map: from the upper left corner, 0, 0, to `MAP_WIDTH`, `MAP_HEIGHT`."""
    if longitude < WEST_EDGE:
        longitude += 360
    return project_unwrapped(longitude, latitude)


def project_ring(ring: Sequence[Point]) -> list[Point]:
    """Project the points of an outline. It stays in one piece: the side of the edge that most of it is on."""
    mean = sum(longitude for longitude, _ in ring) / len(ring)
    shift = 360 if mean < WEST_EDGE else 0
    return [project_unwrapped(longitude + shift, latitude) for longitude, latitude in ring]


def project_unwrapped(longitude: float, latitude: float) -> Point:
    """The same, but places east of the edge lie to the right of the map."""
    x, y = _equal_earth(longitude - CENTRAL_MERIDIAN, latitude)
    return x * _SCALE + MAP_WIDTH / 2, (_TOP - y) * _SCALE
