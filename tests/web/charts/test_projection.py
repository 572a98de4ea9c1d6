"""The projection: everything is on the map, and areas keep their proportions."""

from math import cos, radians

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldgate.web.charts.projection import (
    MAP_HEIGHT,
    MAP_WIDTH,
    NORTH_EDGE,
    SOUTH_EDGE,
    WEST_EDGE,
    project,
    project_ring,
)

longitudes = st.floats(-180, 180)
latitudes = st.floats(SOUTH_EDGE, NORTH_EDGE)


@given(longitudes, latitudes)
def test_every_place_is_on_the_map(longitude: float, latitude: float) -> None:
    x, y = project(longitude, latitude)
    assert -1e-6 <= x <= MAP_WIDTH + 1e-6
    assert -1e-6 <= y <= MAP_HEIGHT + 1e-6


@given(st.floats(WEST_EDGE + 1, 179), st.floats(-50, 80), st.floats(-50, 80))
def test_equal_areas_stay_equal(longitude: float, one: float, other: float) -> None:
    """Small squares of the same area on the globe have the same area on the map."""
    areas = [_area(longitude, latitude) for latitude in (one, other)]
    assert areas[0] == pytest.approx(areas[1], rel=0.02)


def _area(longitude: float, latitude: float) -> float:
    width, height = 0.1 / cos(radians(latitude)), 0.1
    corners = [
        (longitude, latitude),
        (longitude + width, latitude),
        (longitude + width, latitude + height),
        (longitude, latitude + height),
    ]
    points = project_ring(corners)
    pairs = zip(points, points[1:] + points[:1], strict=True)
    return abs(sum(x0 * y1 - x1 * y0 for (x0, y0), (x1, y1) in pairs)) / 2


def test_outline_across_the_edge_stays_in_one_piece() -> None:
    """An island in the Bering Strait, of which a corner is beyond the edge of the map."""
    xs = [x for x, _ in project_ring([(-171.8, 63.4), (-170.5, 63.7), (-168.7, 63.3)])]
    assert max(xs) - min(xs) < 10
