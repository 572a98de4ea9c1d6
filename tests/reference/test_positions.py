"""Points of countries: for all in the seed data, and only valid ones from elsewhere."""

from typing import Any

import pytest

from fieldgate.reference.positions import country_position, packaged_positions
from fieldgate.reference.reference_data import Country
from tests.data.reference import reference_data


def country(**fields: Any) -> Country:
    return Country(id=123, names={"en": "Nepal"}, iso3="NPL", **fields)


def test_all_countries_have_a_point(database_url: str) -> None:
    missing = {
        each.iso3
        for each in reference_data(database_url).countries.values()
        if each.iso3 and not country_position(each)
    }
    assert missing == {"ATA", "BVT"}, "nobody lives in Antarctica and on Bouvet Island"


def test_reference_data_wins() -> None:
    own = country(profile={"centroid": {"type": "Point", "coordinates": [84.25, 28.5, 100]}})
    assert country_position(own) == (84.25, 28.5)


@pytest.mark.parametrize(
    "centroid",
    [
        None,
        {"type": "Polygon", "coordinates": [[[1, 2]]]},
        {"type": "Point", "coordinates": [84]},
        {"type": "Point", "coordinates": ["84", "28"]},
        {"type": "Point", "coordinates": [28, 184]},
        {"type": "Point", "coordinates": [181, 0]},
        {"type": "Point", "coordinates": [True, False]},
        {"type": "Point"},
        "Point",
    ],
)
def test_invalid_point_is_not_used(centroid: Any) -> None:
    assert country_position(country(profile={"centroid": centroid})) == packaged_positions()["NPL"]
