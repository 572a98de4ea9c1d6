"""The world map: the file, and the places of countries."""

import csv
from importlib.resources import files
from xml.etree import ElementTree

from fieldgate.web.charts.atlas import (
    NO_CODE,
    read_outlines,
    world_places,
    world_svg,
)
from fieldgate.web.charts.projection import MAP_WIDTH, project_ring

SVG = "{http://www.w3.org/2000/svg}"
COUNTRIES = files("fieldgate.db.migrations") / "seeds" / "countries.csv"


def _paths() -> dict[str, str]:
    return {
        path.get("id", ""): path.get("d", "")
        for path in ElementTree.fromstring(world_svg()).iter(f"{SVG}path")
    }


def test_file_has_one_shape_for_each_country_with_an_outline() -> None:
    outlined = {code for code, place in world_places().items() if place.has_outline}
    assert set(_paths()) == outlined | {NO_CODE}
    assert len(outlined) > 170
    assert {"MMR", "HUN", "SRB", "SSD", "PSE", "COD"} <= outlined


def test_every_independent_country_has_a_place() -> None:
    with COUNTRIES.open(encoding="utf-8") as file:
        rows = [
            row
            for row in csv.DictReader(file)
            if row["independent"] == "true" and row["record_type"] == "1"
        ]
    known = {row["iso3"] for row in rows if row["iso3"] and row["is_deprecated"] == "false"}
    assert len(known) > 185
    assert known - set(world_places()) == set()


def test_no_outline_crosses_the_edge_of_the_map() -> None:
    """A shape that is drawn across the whole map would be a line through all of it."""
    for code, outline in read_outlines():
        for ring in outline:
            xs = [x for x, _ in project_ring(ring)]
            assert max(xs) - min(xs) < MAP_WIDTH / 2, code
