"""The world map: the file, and the places of countries."""

import csv
from importlib.resources import files
from xml.etree import ElementTree

import pytest

from fieldgate.web.charts.atlas import (
    NO_CODE,
    OWN_OUTLINES,
    read_outlines,
    world_places,
    world_svg,
    world_svg_digest,
)
from fieldgate.web.charts.projection import MAP_WIDTH, project_ring
from fieldgate.web.static_files import StaticFiles

SVG = "{http://www.w3.org/2000/svg}"
COUNTRIES = files("fieldgate.db.migrations") / "seeds" / "countries.csv"


def _paths() -> dict[str, str]:
    return {path.get("id", ""): path.get("d", "") for path in ElementTree.fromstring(world_svg()).iter(f"{SVG}path")}


def test_file_has_one_shape_for_each_country_with_an_outline() -> None:
    outlined = {code for code, place in world_places().items() if place.has_outline}
    assert set(_paths()) == outlined | {NO_CODE}
    assert len(outlined) > 170
    assert {"MMR", "HUN", "SRB", "SSD", "PSE", "COD"} <= outlined


def test_file_is_small_and_has_no_style() -> None:
    assert len(world_svg()) < 110_000
    assert b"style" not in world_svg()
    assert b"fill" not in world_svg(), "the page chooses the colours"


def test_every_independent_country_has_a_place() -> None:
    with COUNTRIES.open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["independent"] == "true" and row["record_type"] == "1"]
    known = {row["iso3"] for row in rows if row["iso3"] and row["is_deprecated"] == "false"}
    assert len(known) > 185
    assert known - set(world_places()) == set()


@pytest.mark.parametrize("code", sorted(OWN_OUTLINES))
def test_own_outlines_are_simple_closed_areas(code: str) -> None:
    for ring in OWN_OUTLINES[code]:
        assert len(set(ring)) == len(ring) >= 4
        assert all(-180 <= x <= 180 and -60 <= y <= 84 for x, y in ring)


def test_no_outline_crosses_the_edge_of_the_map() -> None:
    """A shape that is drawn across the whole map would be a line through all of it."""
    for code, outline in read_outlines():
        for ring in outline:
            xs = [x for x, _ in project_ring(ring)]
            assert max(xs) - min(xs) < MAP_WIDTH / 2, code


def test_somalia_and_cyprus_are_whole() -> None:
    """The package has only parts of them."""
    places = world_places()
    assert places["SOM"].left < places["ETH"].right - 10, "the north reaches to Djibouti"
    outline = dict(read_outlines())["CYP"]
    assert max(y for ring in outline for _, y in ring) > 35.5


def test_url_of_the_file_depends_on_its_contents() -> None:
    found = StaticFiles()
    release = found.url_path("world.svg").split("/")[2]
    content_type, body = found.read(release, "world.svg") or (b"", b"")
    assert (content_type, body) == (b"image/svg+xml", world_svg())
    assert len(world_svg_digest()) == 12
