"""Maps: zoom, dots, colours and labels."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldgate.web.charts.atlas import world_places
from fieldgate.web.charts.world_map import (
    MAX_ASPECT,
    MIN_ASPECT,
    MIN_VIEW_WIDTH,
    MapValue,
    WorldMap,
    build_map,
)

PLACES = world_places()
codes = st.lists(st.sampled_from(sorted(PLACES)), unique=True, max_size=20)


def make_map(*countries: str, focus: tuple[str, ...] = (), has_labels: bool = False) -> WorldMap:
    values = [
        MapValue(iso3=code, name=code, value=place, text=f"{code}: {place}", href="?x")
        for place, code in enumerate(countries, start=1)
    ]
    return build_map(PLACES, values, focus, has_labels=has_labels)


@given(codes, st.data())
def test_focus_is_in_view(chosen: list[str], data: st.DataObject) -> None:
    focus = data.draw(st.lists(st.sampled_from(chosen), unique=True, min_size=1)) if chosen else []
    found = make_map(*chosen, focus=tuple(focus), has_labels=True)
    assert {mark.iso3 for mark in (*found.shapes, *found.dots)} == set(chosen)
    if focus:
        assert found.width >= MIN_VIEW_WIDTH
        assert MIN_ASPECT - 0.01 <= found.width / found.height <= MAX_ASPECT + 0.01
    for mark in found.dots:
        assert mark.dot is not None
        if mark.iso3 in focus:
            assert found.left <= mark.dot[0] <= found.left + found.width
            assert found.top <= mark.dot[1] <= found.top + found.height


@given(codes)
def test_labels_do_not_overlap_and_are_in_view(chosen: list[str]) -> None:
    found = make_map(*chosen, focus=tuple(chosen), has_labels=True)
    boxes = [
        (
            label.x - found.font_size * 0.8,
            label.y,
            label.x + found.font_size * 0.8,
            label.y + found.font_size,
        )
        for label in found.labels
    ]
    for place, one in enumerate(boxes):
        assert found.left <= one[0]
        assert one[2] <= found.left + found.width
        for other in boxes[place + 1 :]:
            assert (
                one[0] >= other[2] or other[0] >= one[2] or one[1] >= other[3] or other[1] >= one[3]
            )


def test_small_countries_are_dots_on_the_world_and_shapes_when_near() -> None:
    assert [mark.iso3 for mark in make_map("LUX").dots] == ["LUX"]
    assert [mark.iso3 for mark in make_map("LUX", focus=("LUX",)).shapes] == ["LUX"]
    assert [mark.iso3 for mark in make_map("MDV", focus=("MDV",)).dots] == ["MDV"], (
        "it has no outline"
    )


def test_islands_of_the_pacific_are_together() -> None:
    """The Cook Islands are at the left edge of the world, but east of Fiji if that is what the map shows."""
    [world] = make_map("COK").dots
    near = make_map("COK", "FJI", focus=("COK", "FJI"))
    [found] = [mark for mark in near.dots if mark.iso3 == "COK"]
    assert world.dot is not None
    assert found.dot is not None
    assert world.dot[0] < 100
    assert near.width < 200
    assert found.dot[0] > 950


@pytest.mark.parametrize("code", [None, "", "XXX", "<script>", "world", "none"])
def test_unknown_countries_are_not_on_the_map(code: str | None) -> None:
    value = MapValue(iso3=code, name="Elsewhere", value=3, text="Elsewhere: 3")
    found = build_map(PLACES, [value], (code or "",))
    assert (found.shapes, found.dots, found.missing) == ([], [], [value])
